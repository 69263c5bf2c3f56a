"""The options that say which intervals of a power trace are asked for, as one value."""

from __future__ import annotations

from dataclasses import dataclass

import click

from edgejoule.cli.common import Number
from edgejoule.cli.recording_options import option_group

_INTERVALS = (
    click.option(
        "--from",
        "begin",
        metavar="TIME",
        help="Start of the interval: seconds after the trace's first line, or a time in ISO 8601.",
    ),
    click.option("--to", "end", metavar="TIME", help="End of the interval, in the same form."),
    click.option(
        "--attach", metavar="EXPERIMENT", help="Store the trace with the runs of this experiment: id, name or latest."
    ),
    click.option(
        "--run",
        "run_number",
        type=click.IntRange(1),
        help="The run's number, as in `edgejoule show`; default: all runs that the trace covers.",
    ),
    click.option(
        "--clock-within",
        "clock_within_s",
        type=Number(0, min_open=True),
        metavar="S",
        help="Largest difference between the trace's clock, or --starts, and this host's clock. Markers are more "
        "accurate.",
    ),
    click.option(
        "--starts",
        metavar="TIME",
        help="The trace's time at which the run's active interval begins, in the form of --from.",
    ),
    click.option(
        "--primary",
        is_flag=True,
        help="Compare the runs by the joules of this trace from now on. The trace must cover all runs.",
    ),
    click.option("--replace", is_flag=True, help="Replace a trace that was attached before."),
    click.option(
        "--detach",
        metavar="EXPERIMENT",
        help="Remove the attached trace from the runs of this experiment, with --run from one. Takes no FILE.",
    ),
)


@dataclass(frozen=True)
class IntervalOptions:
    """Which intervals of a trace are asked for: of itself from begin to end, or those of the runs it is attached to."""

    begin: str | None
    end: str | None
    attach: str | None
    run_number: int | None
    clock_within_s: float | None
    starts: str | None
    primary: bool
    replace: bool
    detach: str | None

    @property
    def names_runs(self) -> bool:
        """Returns whether an option is set that needs --attach."""
        given = (self.run_number, self.clock_within_s, self.starts)
        return self.primary or self.replace or any(value is not None for value in given)


interval_options = option_group("intervals", IntervalOptions, _INTERVALS)
