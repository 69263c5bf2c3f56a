"""The emulated instruments that are installed."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points

from edgejoule.errors import MeterError, UsageError
from edgejoule.testing.instrument import GROUP, Instrument


def names(plugins: Iterable[EntryPoint] | None = None) -> list[str]:
    """Meters with an emulated instrument. plugins: instead of the installed ones."""
    return sorted(plugin.name for plugin in _installed(plugins))


def instrument(name: str, plugins: Iterable[EntryPoint] | None = None) -> Instrument:
    """The meter's. Raises UsageError for an unknown one, MeterError when its plug-in cannot be loaded."""
    result = {plugin.name: plugin for plugin in _installed(plugins)}
    if name not in result:
        raise UsageError(f"no emulated instrument for {name}; there are: {', '.join(sorted(result))}")
    try:
        loaded = result[name].load()
        emulated: Instrument = loaded() if isinstance(loaded, type) else loaded
    except Exception as error:  # foreign code
        raise MeterError(
            f"the emulated instrument of {name} cannot be loaded: {type(error).__name__}: {error}"
        ) from error
    return emulated


def _installed(plugins: Iterable[EntryPoint] | None) -> list[EntryPoint]:
    return list(entry_points(group=GROUP) if plugins is None else plugins)
