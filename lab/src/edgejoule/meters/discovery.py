"""Which meters there are, which can be used here, and which one a study takes.

Plug-ins are entry points of the group `edgejoule.meters`. The order is wall or board measured, then rail, then
counted, then modelled. A plug-in that fails to load or to probe is listed with its error; it never stops the others.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from edgejoule.dictionary.responses import nearest
from edgejoule.errors import MeterError, UsageError
from edgejoule.meters.base import Availability, Domain, Meter, Method

GROUP = "edgejoule.meters"
LINE_MAX = 100
_RANK = {Method.MEASURED: 0, Method.COUNTED: 2, Method.MODELLED: 3}
_RANK_RAIL = 1
_RANK_BROKEN = 4

Options = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Candidate:
    """A plug-in and whether it can be used here. meter is None when it could not even be loaded."""

    name: str
    meter: Meter | None
    availability: Availability

    @property
    def rank(self) -> int:
        """Place in the order of trust, 0 first."""
        if self.meter is None:
            return _RANK_BROKEN
        rail = self.meter.method is Method.MEASURED and self.meter.domain not in (Domain.WALL, Domain.BOARD)
        return _RANK_RAIL if rail else _RANK[self.meter.method]


@dataclass(frozen=True)
class Choice:
    """The meter a study takes, and those that would have come before it with the reason for each refusal.

    preferred: the names that the user asked for.
    """

    meter: Meter
    availability: Availability
    refused: tuple[Candidate, ...]
    preferred: tuple[str, ...] = ()

    @property
    def passed_over(self) -> list[str]:
        """One text for each preferred meter that cannot be used."""
        return [
            f"the preferred meter {c.name} cannot be used: {c.availability.reason}"
            for c in self.refused
            if c.name in self.preferred
        ]

    @property
    def line(self) -> str:
        """The first line of a study: which energy this is, in at most LINE_MAX characters."""
        way = "" if self.meter.method is Method.MEASURED else "; a real meter: edgejoule meters"
        return f"{self.energy(LINE_MAX - len(way))}{way}"

    def energy(self, length_max: int = LINE_MAX) -> str:
        """Which energy this is, by the meter's name alone where its description is too long."""
        meter = self.meter
        of = getattr(meter, "method_text", None) or f"by {meter.name}, {meter.describe()}"
        text = f"Energy: {meter.method.value.upper()} {of}"
        short = f"Energy: {meter.method.value.upper()} by {meter.name} ({meter.domain.value})"
        return text if len(text) <= length_max else short

    @property
    def sentence(self) -> str:
        """Which energy this is, why no better one, and the shortest way to one. A study stores it."""
        meter = self.meter
        text = f"Energy here is {meter.method.value.upper()}: {meter.describe()}."
        for each in self.passed_over:
            text += f" {each[0].upper()}{each[1:]}."
        others = [c for c in self.refused if c.name not in self.preferred]
        own = [c for c in others if c.meter is not None and c.meter.method is Method.COUNTED]
        brought = [c.name for c in others if c not in own]
        for candidate in own:
            text += f" No {candidate.name}: {candidate.availability.reason}."
        if len(brought) == 1:
            text += f" No {brought[0]}: {next(c for c in others if c not in own).availability.reason}."
        elif brought:
            text += f" Not usable either, `edgejoule meters` says why: {', '.join(brought)}."
        if meter.method is not Method.MEASURED:
            better = "measured or counted" if meter.method is Method.MODELLED else "measured"
            text += f" Shortest way to a {better} figure: {self.way}."
        return text

    @property
    def way(self) -> str:
        """The shortest way to a measured or counted figure; "" if this one is measured."""
        if self.meter.method is Method.MEASURED:
            return ""
        nearest_first = reversed(self.refused)
        fixes = [candidate.availability.fix for candidate in nearest_first if candidate.availability.fix]
        return fixes[0] if fixes else f"a power meter in the supply line, with a plug-in of the group {GROUP}"


def discover(
    prefer: str | Sequence[str] | None = None,
    options: Options | None = None,
    plugins: Iterable[EntryPoint] | None = None,
) -> list[Candidate]:
    """All plug-ins in the order in which they would be taken, preferred names first.

    options: name of a plug-in -> keyword arguments for it, for example {"board-profile": {"profile": "..."}}.
    plugins: instead of the installed ones. Raises UsageError for an unknown name in prefer or options.
    """
    result = list(entry_points(group=GROUP) if plugins is None else plugins)
    wanted = [prefer] if isinstance(prefer, str) else list(prefer or ())
    known = sorted(plugin.name for plugin in result)
    for name in (*wanted, *(options or {})):
        if name not in known:
            raise UsageError(f"no meter is called {name!r}; known: {', '.join(known) or 'none'}")
    named = {*wanted, *(options or {})}
    candidates = [_candidate(plugin, (options or {}).get(plugin.name, {}), plugin.name in named) for plugin in result]
    places = {name: place for place, name in enumerate(wanted)}
    return sorted(candidates, key=lambda x: (places.get(x.name, len(places)), x.rank, x.name))


def choose(
    prefer: str | Sequence[str] | None = None,
    options: Options | None = None,
    plugins: Iterable[EntryPoint] | None = None,
) -> Choice:
    """The first usable meter in the order of discover(). Not opened yet.

    A preferred meter that cannot be used is passed over and listed in `refused`. Raises MeterError with every reason
    when no meter can be used.
    """
    preferred = (prefer,) if isinstance(prefer, str) else tuple(prefer or ())
    return replace(choose_from(discover(prefer, options, plugins)), preferred=preferred)


def choose_from(candidates: Sequence[Candidate]) -> Choice:
    """The first usable one of these, in their order. Raises MeterError with every reason when none is."""
    for place, candidate in enumerate(candidates):
        if candidate.meter is not None and candidate.availability.available:
            return Choice(candidate.meter, candidate.availability, tuple(candidates[:place]))
    reasons = "; ".join(f"{x.name}: {x.availability.reason}" for x in candidates) or "no meter plug-in is installed"
    raise MeterError(f"no meter can be used here. {reasons}")


def _check_options(name: str, made: Callable[..., Any], options: Mapping[str, Any]) -> None:
    """Raises UsageError for an option that the plug-in does not take."""
    if not options:
        return
    takes = inspect.signature(made).parameters.values()
    if any(p.kind is p.VAR_KEYWORD for p in takes):
        return
    unknown = [key for key in options if key not in {p.name for p in takes}]
    if unknown:
        names = [p.name for p in takes if p.default is p.empty or not callable(p.default)]  # a transport is for tests
        raise UsageError(f"meter {name} has no option {unknown[0]!r}; {nearest(unknown[0], names)}")


def _candidate(plugin: EntryPoint, options: Mapping[str, Any], named: bool) -> Candidate:
    try:
        made = plugin.load()
        _check_options(plugin.name, made, options)
        meter = made(**options)
        if not isinstance(meter, Meter):
            return Candidate(plugin.name, None, Availability(False, f"{plugin.value} does not follow the contract"))
        probed = meter.probe()
        part: str | None = getattr(meter, "measures_only", None)
        if probed.available and part is not None and not named:
            reason = f"{probed.reason}, but it measures {part} alone"
            return Candidate(
                plugin.name, meter, Availability(False, reason, f"name it if that is wanted: {plugin.name}")
            )
        return Candidate(plugin.name, meter, probed)
    except UsageError:
        raise  # the user's own option is wrong, not the plug-in
    except Exception as error:  # noqa: BLE001 - foreign code at import and probe: reported in the list, never fatal
        cause = f"the plug-in failed: {type(error).__name__}: {error}"
        return Candidate(plugin.name, None, Availability(False, cause))
