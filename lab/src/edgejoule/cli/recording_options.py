"""The options that say what the columns of a recording are and what recorded it, as one value."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import click

from edgejoule.cli.common import Number
from edgejoule.errors import UsageError
from edgejoule.meters.base import Domain
from edgejoule.meters.plugins.imported import Mapping, Recorder
from edgejoule.meters.plugins.imported.columns import SCALES, TIME_UNITS, TraceColumn
from edgejoule.meters.quantities import Role

_Command = Callable[..., Any]

_RECORDING = (
    click.option("--time", "time_name", metavar="COLUMN", help="Column of the time; default: from the header."),
    click.option(
        "--time-unit", type=click.Choice(list(TIME_UNITS)), help="Unit of the time; default: from the header."
    ),
    click.option("--power", metavar="COLUMN[:UNIT]", help="Column of the power, for example 'P:mW'."),
    click.option("--voltage", metavar="COLUMN[:UNIT]", help="Column of the voltage, with --current."),
    click.option("--current", metavar="COLUMN[:UNIT]", help="Column of the current, with --voltage or --voltage-v."),
    click.option("--energy", "energy_name", metavar="COLUMN[:UNIT]", help="Column of a running total of energy."),
    click.option(
        "--voltage-v", type=Number(min=0, min_open=True), help="A constant voltage in V, if the file has none."
    ),
    click.option("--mean", is_flag=True, help="Each power is the mean since the line before, not a sample."),
    click.option(
        "--domain",
        type=click.Choice([domain.value for domain in Domain]),
        default="board",
        show_default=True,
        help="The part of the machine that the recorder measured.",
    ),
    click.option(
        "--gain-rel",
        type=Number(0, 1, max_open=True),
        help="Relative standard uncertainty (k=1) of the recorder's gain; a limit of ±1 % is 0.0058. Required "
        "with a file.",
    ),
    click.option(
        "--offset-w",
        type=Number(0),
        help="Standard uncertainty (k=1) of the recorder's offset, in W. Required with a file.",
    ),
)


@dataclass(frozen=True)
class RecordingOptions:
    """The options as given; None: not given."""

    time_name: str | None
    time_unit: str | None
    power: str | None
    voltage: str | None
    current: str | None
    energy_name: str | None
    voltage_v: float | None
    mean: bool
    domain: str
    gain_rel: float | None
    offset_w: float | None

    @property
    def columns(self) -> Mapping:
        """Returns the named columns. Raises UsageError."""
        named = {
            Role.POWER: self.power,
            Role.VOLTAGE: self.voltage,
            Role.CURRENT: self.current,
            Role.ENERGY: self.energy_name,
        }
        time = _time_column(self.time_name, self.time_unit)
        roles = {role: _column(text, role) for role, text in named.items() if text is not None}
        return Mapping(time, roles, self.voltage_v)

    def recorder(self, file: Path) -> Recorder:
        """Returns the recorder of the file. Raises UsageError if its accuracy is not stated."""
        if self.gain_rel is None or self.offset_w is None:
            raise UsageError(f"{file}: state the accuracy of what recorded it: --gain-rel and --offset-w (k=1)")
        return Recorder(self.gain_rel, self.offset_w, Domain(self.domain), self.mean)


def option_group(argument: str, group: type, options: Sequence[_Command]) -> Callable[[_Command], _Command]:
    """Returns a decorator: the command gets the options as one value of the dataclass `group`, which has a field for
    each."""

    def decorate(command: _Command) -> _Command:
        @functools.wraps(command)
        def gathered(*args: Any, **values: Any) -> Any:
            members = {field.name: values.pop(field.name) for field in fields(group)}
            return command(*args, **{argument: group(**members)}, **values)

        return functools.reduce(lambda decorated, option: option(decorated), reversed(options), gathered)

    return decorate


recording_options = option_group("recording", RecordingOptions, _RECORDING)


def _time_column(name: str | None, unit: str | None) -> TraceColumn | None:
    if unit is not None and name is None:
        raise UsageError("--time-unit goes with --time COLUMN")
    return None if name is None else TraceColumn(name, unit)


def _column(text: str, role: Role) -> TraceColumn:
    name, mark, unit = text.rpartition(":")
    if not mark:
        return TraceColumn(text)
    if unit not in SCALES[role]:
        raise UsageError(f"{text!r}: {unit!r} is no unit of {role}; known: {', '.join(SCALES[role])}")
    return TraceColumn(name, unit)
