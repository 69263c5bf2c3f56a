"""Quantity and unit of a file's columns: as named, else from the header.

A heading is a name and, in brackets or behind an underscore or a space, a unit: `Time(ms)`, `Main Voltage (V)`,
`Current[uA]`, `power_mw`, `t`. An ambiguous column is refused, never assumed. Two more are certain: the statistics of
Joulescope's program, whose header is always the same, and a time column whose first cell is a time in ISO 8601.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

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
_NAMED_MAX = 12  # columns that a message names
_NAMES: dict[str, tuple[str, ...]] = {
    _TIME: ("time", "timestamp", "t", "date", "datetime", "elapsed"),
    Role.POWER: ("power", "p", "watt", "watts"),
    Role.VOLTAGE: ("voltage", "volt", "volts", "v", "u"),
    Role.CURRENT: ("current", "ampere", "amps", "i"),
    Role.ENERGY: ("energy", "joule", "joules", "e"),
}
#: The statistics that Joulescope's program records. Each line has the means since the line before. Its running totals
#: have six digits, too few for a part of a long recording. Source: pyjoulescope_ui 1.1, statistics_record.
JOULESCOPE = ("time", "current", "voltage", "power", "charge", "energy")
_JOULESCOPE_UNITS = dict(zip(JOULESCOPE, ("s", "A", "V", "W", "C", "J"), strict=True))
_RMS = re.compile(r"(?<![a-z])rms|rms(?![a-z])|(?<![a-z])[uvi]eff(?![a-z])", re.IGNORECASE)


@dataclass(frozen=True)
class TraceColumn:
    """name as in the file's header; unit None: not named."""

    name: str
    unit: str | None = None


@dataclass(frozen=True)
class Mapping:
    """The columns that are used: a time, and a power, an energy, or voltage and current. voltage_v: a voltage that is
    given instead of measured. mean: each power is the mean since the line before.
    """

    time: TraceColumn | None = None
    roles: dict[Role, TraceColumn] = field(default_factory=dict)
    voltage_v: float | None = None
    mean: bool = False


def _listed(header: Sequence[str]) -> str:
    more = len(header) - _NAMED_MAX
    return f"{', '.join(header[:_NAMED_MAX])}{f' and {more} more' if more > 0 else ''}"


def guess(header: Sequence[str], given: Mapping, first: Sequence[str] = (), *, live: bool = False) -> Mapping:
    """Fills the gaps of the named mapping from the header, and from the first line of data if there is one.

    live: the columns are named by the options of a meter, not of a command. Raises UsageError where that is not enough.
    """
    for column in (given.time, *given.roles.values()):
        if column is not None and column.name not in header:
            raise UsageError(f"no column is called {column.name!r}; there are: {_listed(header)}")
    time = given.time or _named(header, _TIME)
    if time is None:
        option = 'time = "COLUMN:UNIT"' if live else "--time COLUMN --time-unit UNIT"
        raise UsageError(f"no column is recognised as a time; name it: {option}. There are: {_listed(header)}")
    result = replace(given, time=time)
    if not given.roles or set(given.roles) in ({Role.VOLTAGE}, {Role.CURRENT}):
        result = _filled(header, result)
    _check(result, header)
    units = _JOULESCOPE_UNITS if tuple(header) == JOULESCOPE else {}
    if units and result.roles.get(Role.POWER) == TraceColumn("power"):
        result = replace(result, mean=True)
    cell = first[header.index(time.name)] if len(first) == len(header) else ""
    columns = {_TIME: time, **{role.value: column for role, column in result.roles.items()}}
    found = {what: _unit(column, what, units.get(column.name), cell) for what, column in columns.items()}
    if unknown := {what: columns[what] for what, unit in found.items() if unit is None}:
        raise UsageError(_unknown_units(unknown, live=live))
    named = {what: TraceColumn(columns[what].name, unit) for what, unit in found.items()}
    return replace(result, time=named.pop(_TIME), roles={Role(what): column for what, column in named.items()})


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
    there = f"There are: {_listed(header)}"
    roles = set(mapping.roles)
    if Role.VOLTAGE in roles and mapping.voltage_v is not None:
        column = mapping.roles[Role.VOLTAGE].name
        raise UsageError(
            f"voltage: both a column (--voltage {column!r}) and a constant (--voltage-v {mapping.voltage_v:g}); remove "
            "the constant to use what the file has"
        )
    complete = roles == {Role.VOLTAGE, Role.CURRENT} or (roles == {Role.CURRENT} and mapping.voltage_v is not None)
    if complete and any(_RMS.search(column.name) for column in mapping.roles.values()):
        raise UsageError(
            "RMS volts times RMS amperes are apparent power, not active power, and are refused; name a column of "
            f"active power. {there}"
        )
    if complete or roles in ({Role.POWER}, {Role.ENERGY}):
        return
    if roles == {Role.CURRENT}:
        raise UsageError(
            f"current alone is no power: name the voltage, as a column (--voltage) or in V (--voltage-v). {there}"
        )
    raise UsageError(
        f"expected one power, one energy, or voltage and current; name the columns: --power, --energy, "
        f"or --voltage and --current. {there}"
    )


def _named(header: Sequence[str], what: str) -> TraceColumn | None:
    matching = [name for name in header if _terms_and_unit(name)[0] & set(_NAMES[what])]
    if not matching and what != _TIME:
        matching = [name for name in header if _terms_and_unit(name)[1] in SCALES[Role(what)]]
    if len(matching) > 1:  # T [C] is no time
        known = TIME_UNITS if what == _TIME else SCALES[Role(what)]
        matching = [name for name in matching if _spelling(_terms_and_unit(name)[1] or "", known)] or matching
    if len(matching) > 1:
        raise UsageError(
            f"several columns are recognised as a {what}: {', '.join(matching)}; name the one that is meant: --{what}"
        )
    return TraceColumn(matching[0]) if matching else None


def _terms_and_unit(heading: str) -> tuple[set[str], str | None]:
    """Returns a heading's words in lower case, and its unit."""
    bracket = re.search(r"[\[(]\s*([^\])]*?)\s*[\])]", heading)
    bare = heading if bracket is None else heading[: bracket.start()]
    parts = [part for part in re.split(r"[\s_./-]+", bare.strip()) if part]
    unit = bracket.group(1) if bracket else (parts[-1] if len(parts) > 1 else None)
    return {part.lower() for part in parts}, unit


def _unit(column: TraceColumn, what: str, of_layout: str | None, first: str) -> str | None:
    """Returns the unit of a column, in the spelling of the known ones; None if it is not known. first: of its cells."""
    known = _known_units(what)
    words, unit = _terms_and_unit(column.name)
    if column.unit is not None:
        return _spelling(column.unit, known)
    if of_layout is not None:
        return of_layout
    if unit is not None and (spelling := _spelling(unit, known)):
        return spelling
    if what == _TIME and words & {"s", "seconds"}:
        return "s"
    if what == Role.POWER and "watts" in words:
        return "W"
    return "iso" if what == _TIME and _is_iso(first) else None


def _is_iso(cell: str) -> bool:
    """Returns whether a cell is a time in ISO 8601 with a date; a number alone is none."""
    try:
        datetime.fromisoformat(cell.strip())
    except ValueError:
        return False
    return "-" in cell


def _known_units(what: str) -> dict[str, float]:
    return TIME_UNITS if what == _TIME else SCALES[Role(what)]


def _unknown_units(columns: dict[str, TraceColumn], *, live: bool) -> str:
    """Names every column without a known unit, and the options that state the units."""
    lacking, options = [], []
    for what, column in columns.items():
        unit = column.unit or _terms_and_unit(column.name)[1]
        lacking.append(f"column {column.name!r} has {f'unit {unit!r}' if unit else 'no unit'}")
        stated = f'{what} = "{column.name}:UNIT"' if live else _option(what, column.name)
        options.append(f"{stated} ({', '.join(_known_units(what))})")
    return f"{'; '.join(lacking)}. State {'it' if len(options) == 1 else 'them'}: {' '.join(options)}"


def _option(what: str, column: str) -> str:
    """Returns the command's option that names a column and its unit."""
    return (
        f"--time {shlex.quote(column)} --time-unit UNIT"
        if what == _TIME
        else f"--{what} {shlex.quote(column + ':UNIT')}"
    )


def _spelling(unit: str, known: dict[str, float]) -> str | None:
    plain = unit.replace("µ", "u").replace("μ", "u")
    if plain in known:
        return plain
    fits = [unit for unit in known if unit.lower() == plain.lower()]
    return fits[0] if len(fits) == 1 else None
