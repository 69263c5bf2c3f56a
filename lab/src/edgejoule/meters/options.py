"""Options of meters from an experiment's file, checked, with a message for every mistake."""

from __future__ import annotations

from typing import Any

from edgejoule.errors import UsageError


def checked_number(meter: str, key: str, value: Any, least: float, most: float) -> float:
    """A number from least to most. Raises UsageError."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise UsageError(f"{meter}: {key}: expected a number from {least:g} to {most:g}, got {value!r}")
    return float(value)


def comma_separated(value: str) -> tuple[str, ...]:
    """The parts of a text between commas, without the spaces around them."""
    return tuple(part.strip() for part in value.split(",") if part.strip())
