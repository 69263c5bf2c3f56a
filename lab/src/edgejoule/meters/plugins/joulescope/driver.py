"""The part of pyjoulescope_driver that is used, as a seam."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, cast

from edgejoule.errors import MeterError
from edgejoule.extras import install_command

Message = Mapping[str, Any]
Hear = Callable[[str, Message], None]


class JoulescopeDriver(Protocol):
    """pyjoulescope_driver.Driver. Every call may raise RuntimeError, TimeoutError or another error of the library."""

    def device_paths(self) -> Sequence[str]:
        """Of the instruments that are plugged in."""
        ...

    def open(self, device_prefix: str, mode: str | None = None) -> Any:
        """Open an instrument."""
        ...

    def close(self, device_prefix: str) -> Any:
        """Close it."""
        ...

    def publish(self, topic: str, value: object) -> Any:
        """Set something."""
        ...

    def subscribe(self, topic: str, flags: str, fn: Hear) -> Any:
        """Have fn called, from a thread of the driver, for every message."""
        ...

    def unsubscribe(self, topic: str, fn: Hear) -> Any:
        """No more of them."""
        ...

    def finalize(self) -> Any:
        """End the driver."""
        ...


def make_driver() -> JoulescopeDriver:
    """A driver. Raises MeterError where the library is missing or does not start."""
    try:
        module = importlib.import_module("pyjoulescope_driver")
    except ImportError:
        raise MeterError(f"pyjoulescope_driver is missing: {install_command('joulescope')}") from None
    try:
        return cast(JoulescopeDriver, module.Driver())
    except Exception as error:
        raise MeterError(f"pyjoulescope_driver does not start: {error}") from error
