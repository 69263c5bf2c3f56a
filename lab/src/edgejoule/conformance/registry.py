"""The emulated instruments that are installed."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points

from edgejoule.conformance.instrument import GROUP, Instrument


def instruments(plugins: Iterable[EntryPoint] | None = None) -> dict[str, Instrument]:
    """By name of the meter. plugins: instead of the installed ones."""
    found = entry_points(group=GROUP) if plugins is None else plugins
    return {plugin.name: plugin.load()() for plugin in found}
