"""Quantity and unit of a file's columns: as named, else from the header.

A heading is a name and, in brackets or behind an underscore or a space, a unit: `Time(ms)`, `Main Voltage (V)`,
`Current[uA]`, `power_mw`, `t`. An ambiguous column is refused, never assumed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from edgejoule.errors import UsageError
from edgejoule.meters.quantities import Role

SCALES = {
    Role.POWER: {"W": 1.0, "mW": 1e-3, "uW": 1e-6, "kW": 1e3},
    Role.VOLTAGE: {"V": 1.0, "mV": 1e-3},
    Role.CURRENT: {"A": 1.0, "mA": 1e-3, "uA": 1e-6, "nA": 1e-9},
    Role.ENERGY: {"J": 1.0, "mJ": 1e-3, "uJ": 1e-6, "kJ": 1e3, "Wh": 3600.0, "mWh": 3.6, "kWh": 3.6e6},
}
TIME_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "iso": 1.0}
_TIME = "time"
_NAMES: dict[str, tuple[str, ...]] = {
    _TIME: ("time", "timestamp", "t", "date", "datetime", "elapsed"),
    Role.POWER: ("power", "p", "watt", "watts"),
    Role.VOLTAGE: ("voltage", "volt", "volts", "v", "u"),
    Role.CURRENT: ("current", "ampere", "amps", "i"),
    Role.ENERGY: ("energy", "joule", "joules", "e"),
}
_RMS = re.compile(r"(?<![a-z])rms|rms(?![a-z])|(?<![a-z])[uvi]eff(?![a-z])", re.IGNORECASE)


@dataclass(frozen=True)
class TraceColumn:
    """name as in the file's header; unit None: not named."""

    name: str
    unit: str | None = None


@dataclass(frozen=True)
class Mapping:
    """The columns that are used: a time, and a power, an energy, or voltage and current. voltage_v: a voltage that is
    given instead of measured.
    """

    time: TraceColumn | None = None
    roles: dict[Role, TraceColumn] = field(default_factory=dict)
    voltage_v: float | None = None


def guess(header: Sequence[str], given: Mapping) -> Mapping:
    """Fills the gaps of the named mapping from the header. Raises UsageError where that is not enough."""
    for column in (given.time, *given.roles.values()):
        if column is not None and column.name not in header:
            raise UsageError(f"no column is called {column.name!r}; there are: {', '.join(header)}")
    time = given.time or _named(header, _TIME)
    if time is None:
        raise UsageError(f"no column is recognised as a time; name it (--time). There are: {', '.join(header)}")
    result = replace(given, time=_with_unit(time, TIME_UNITS))
    if not given.roles or set(given.roles) in ({Role.VOLTAGE}, {Role.CURRENT}):
        result = _filled(header, result)
    _check(result, header)
    return replace(result, roles={role: _with_unit(column, SCALES[role]) for role, column in result.roles.items()})


def _filled(header: Sequence[str], mapping: Mapping) -> Mapping:
    for role in (Role.POWER, Role.ENERGY):
        column = _named(header, role)
        if column is not None and not mapping.roles and mapping.voltage_v is None:
            return replace(mapping, roles={role: column})
    roles = {}
    for role in (Role.VOLTAGE, Role.CURRENT):
        given = role is Role.VOLTAGE and mapping.voltage_v is not None
        column = mapping.roles.get(role) or (None if given else _named(header, role))
        if column is not None:
            roles[role] = column
    return replace(mapping, roles=roles)


def _check(mapping: Mapping, header: Sequence[str]) -> None:
    there = f"There are: {', '.join(header)}"
    roles = set(mapping.roles)
    if Role.VOLTAGE in roles and mapping.voltage_v is not None:
        raise UsageError("voltage: either a column or a constant, not both")
    complete = roles == {Role.VOLTAGE, Role.CURRENT} or (roles == {Role.CURRENT} and mapping.voltage_v is not None)
    if complete and any(_RMS.search(column.name) for column in mapping.roles.values()):
        raise UsageError(
            "RMS volts times RMS amperes are apparent power, not active power, and are refused; name a column of "
            f"active power. {there}"
        )
    if complete or roles in ({Role.POWER}, {Role.ENERGY}):
        return
    if roles == {Role.CURRENT}:
        raise UsageError(f"current alone is no power: name the voltage, as a column or in V. {there}")
    raise UsageError(f"expected one power, one energy, or voltage and current; name the columns. {there}")


def _named(header: Sequence[str], what: str) -> TraceColumn | None:
    matching = [name for name in header if _terms_and_unit(name)[0] & set(_NAMES[what])]
    if not matching and what != _TIME:
        matching = [name for name in header if _terms_and_unit(name)[1] in SCALES[Role(what)]]
    if len(matching) > 1:  # T [C] is no time
        known = TIME_UNITS if what == _TIME else SCALES[Role(what)]
        matching = [name for name in matching if _spelling(_terms_and_unit(name)[1] or "", known)] or matching
    if len(matching) > 1:
        raise UsageError(
            f"several columns are recognised as a {what}: {', '.join(matching)}; name the one that is meant"
        )
    return TraceColumn(matching[0]) if matching else None


def _terms_and_unit(heading: str) -> tuple[set[str], str | None]:
    """Returns a heading's words in lower case, and its unit."""
    bracket = re.search(r"[\[(]\s*([^\])]*?)\s*[\])]", heading)
    bare = heading if bracket is None else heading[: bracket.start()]
    parts = [part for part in re.split(r"[\s_./-]+", bare.strip()) if part]
    unit = bracket.group(1) if bracket else (parts[-1] if len(parts) > 1 else None)
    return {part.lower() for part in parts}, unit


def _with_unit(column: TraceColumn, known: dict[str, float]) -> TraceColumn:
    """The column with its unit in the spelling of `known`. Raises UsageError where it has none."""
    unit = column.unit if column.unit is not None else _terms_and_unit(column.name)[1]
    spelling = _spelling(unit, known) if unit is not None else None
    if spelling is None and column.unit is None and _terms_and_unit(column.name)[0] & {"s", "seconds"} and "s" in known:
        spelling = "s"
    if spelling is None and column.unit is None and "W" in known and "watts" in _terms_and_unit(column.name)[0]:
        spelling = "W"
    if spelling is None:
        said = f"unit {unit!r}" if unit else "no unit"
        raise UsageError(f"column {column.name!r} has {said}; name it, one of {', '.join(known)}")
    return TraceColumn(column.name, spelling)


def _spelling(unit: str, known: dict[str, float]) -> str | None:
    plain = unit.replace("µ", "u").replace("μ", "u")
    if plain in known:
        return plain
    fits = [unit for unit in known if unit.lower() == plain.lower()]
    return fits[0] if len(fits) == 1 else None
