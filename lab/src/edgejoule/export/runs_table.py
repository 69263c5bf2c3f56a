"""The runs of an experiment as a table, one row per run: what every export of them shares.

An energy column has its method in its name (energy_j.modelled); where it has uncertainties, the column beside it
(energy_j.modelled.k2) has the half widths of the k=2 intervals. A missing value is None, in CSV an empty cell.
The last columns, from `experiment` on, are those in which tables of several experiments may differ (`mixed_rows`).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from edgejoule.dictionary.responses import is_energy, label_of
from edgejoule.errors import UsageError
from edgejoule.experiment.model import Level, Spec
from edgejoule.experiment.settings import settings_in_force
from edgejoule.store import Experiment, ResponseValue, Run

EXPERIMENT, STARTED = "experiment", "started"  # columns; the first one begins the surroundings of a run

Cell = bool | int | float | str | tuple[str, ...] | None


@dataclass(frozen=True)
class RunsColumn:
    """A column: as many cells as there are runs, each None or of that kind (tuple: of texts).

    unit and method: of a response, see schemas/README.md. yes_no: how CSV writes a bool that is no level of a factor.
    """

    name: str
    kind: type
    cells: Sequence[Cell]
    description: str
    unit: str | None = None
    method: str | None = None
    yes_no: bool = False


def runs_table(experiment: Experiment, runs: Sequence[Run]) -> list[RunsColumn]:
    """Run, block, the factors, every response, status, cause, flags; attempts where a run has several; at the end the
    experiment, its host, the start, and the settings that are no factors.

    Raises UsageError when a factor has the name of another column before those at the end.
    """
    place = [
        RunsColumn("run", int, [run.run_index + 1 for run in runs], "number of the run, from 1"),
        RunsColumn("block", int, [run.block + 1 for run in runs], "number of the block, from 1"),
    ]
    factors = [_factor(name, [run.levels[name] for run in runs]) for name in experiment.spec.factors]
    others = [*_responses(runs), *_outcome(runs)]
    clash = {factor.name for factor in factors} & {column.name for column in (*place, *others)}
    if clash:
        raise UsageError(f"a factor has the name of a column: {', '.join(sorted(clash))}")
    columns = [*place, *factors, *others]
    return [*columns, *_surroundings(experiment, runs, {column.name for column in columns})]


def runs_csv(columns: Sequence[RunsColumn]) -> str:
    """The table as CSV with a header."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow([column.name for column in columns])
    writer.writerows(zip(*([_csv_cell(column, cell) for cell in column.cells] for column in columns), strict=True))
    return buffer.getvalue()


def _factor(name: str, levels: Sequence[Cell]) -> RunsColumn:
    """Of the kind that its levels have; of several kinds but numbers alone: as text."""
    kinds = {type(level) for level in levels}
    if kinds == {int, float}:
        return RunsColumn(name, float, levels, "level of the factor")
    if len(kinds) == 1:
        return RunsColumn(name, kinds.pop(), levels, "level of the factor")
    return RunsColumn(name, str, [str(level) for level in levels], "level of the factor")


def _responses(runs: Sequence[Run]) -> list[RunsColumn]:
    """Every value that any run has, by name and method, and beside it the half widths where there are any."""
    answers = [{(r.name, r.method): r for r in run.responses} for run in runs]
    keys = dict.fromkeys(key for own in answers for key in own)
    return [column for key in keys for column in _response([own.get(key) for own in answers])]


def _response(answers: Sequence[ResponseValue | None]) -> list[RunsColumn]:
    """answers: of each run, at least one of them there."""
    one = next(answer for answer in answers if answer is not None)
    label = label_of(one.name)
    head = f"{one.name}.{one.method}" if is_energy(one.name) else one.name
    values = [None if answer is None else answer.value for answer in answers]
    halves = [None if answer is None else answer.uncertainty_k2 for answer in answers]
    columns = [RunsColumn(head, float, values, label, one.unit, one.method)]
    if any(half is not None for half in halves):
        description = f"half width of the k=2 interval: {label}"
        columns.append(RunsColumn(f"{head}.k2", float, halves, description, one.unit, one.method))
    return columns


def _outcome(runs: Sequence[Run]) -> list[RunsColumn]:
    columns = [
        RunsColumn("status", str, [run.status for run in runs], "planned, finished, failed or not_here"),
        RunsColumn("cause", str, [run.cause for run in runs], "why a failed run failed"),
        RunsColumn("flags", tuple, [run.flags for run in runs], "what is doubtful about the run"),
    ]
    if not any(run.attempt for run in runs):
        return columns
    attempts = [run.attempt + 1 for run in runs]
    return [
        *columns,
        RunsColumn("attempt", int, attempts, "number of the attempt at the run, from 1"),
        RunsColumn("set_aside", bool, [run.set_aside for run in runs], "another attempt counts", yes_no=True),
    ]


def _surroundings(experiment: Experiment, runs: Sequence[Run], taken: Collection[str]) -> list[RunsColumn]:
    """What is the same for all runs of an experiment, and the start. A name that is taken is left out."""
    rows = len(runs)
    columns = [
        RunsColumn(EXPERIMENT, str, [experiment.name] * rows, "name of the experiment"),
        RunsColumn("experiment_id", int, [experiment.id] * rows, "its number in its store"),
        RunsColumn("spec", str, [experiment.spec.digest()[:12]] * rows, "equal where all settings and factors are"),
        RunsColumn("host", str, [experiment.environment.get("host")] * rows, "name of the machine"),
        RunsColumn(STARTED, str, [_utc(run.started_realtime_ns) for run in runs], "start of the run, UTC"),
        RunsColumn("durability", str, [run.settings.get("durability") for run in runs], "what writes survive"),
        RunsColumn("target", int, [run.settings.get("target_ops_s") for run in runs], "declared rate", "ops/s"),
    ]
    own = {column.name for column in columns}
    in_force = [_settings(experiment.spec, run) for run in runs]
    for name in dict.fromkeys((*experiment.spec.fixed, *(name for settings in in_force for name in settings))):
        if name not in own:
            columns.append(_setting(name, [settings.get(name) for settings in in_force]))
    return [column for column in columns if column.name not in taken]


def _settings(spec: Spec, run: Run) -> dict[str, Level]:
    """Returns what the experiment states for the run: its workload's properties, fixed and conditional settings."""
    in_force = settings_in_force(spec, run.levels)
    workload = spec.workloads.get(str(in_force.get("workload")), {})
    return {**(workload if isinstance(workload, dict) else {}), **in_force}


def _setting(name: str, values: Sequence[Level | None]) -> RunsColumn:
    kinds = {type(value) for value in values if value is not None}
    kind = float if kinds == {int, float} else kinds.pop() if len(kinds) == 1 else str
    cells = [value if value is None or kind is not str else str(value) for value in values]
    return RunsColumn(name, kind, cells, "setting of the run")


def _utc(realtime_ns: int | None) -> str | None:
    """Returns the time in ISO 8601 with milliseconds."""
    if realtime_ns is None:
        return None
    return datetime.fromtimestamp(realtime_ns / 1e9, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _csv_cell(column: RunsColumn, cell: Cell) -> Cell:
    if isinstance(cell, tuple):
        return "; ".join(cell)
    if column.yes_no:
        return "yes" if cell else "no"
    return "" if cell is None else cell
