"""The runs of an experiment as a table, one row per run: what every export of them shares.

An energy column has its method in its name (energy_j.modelled); where it has uncertainties, the column beside it
(energy_j.modelled.k2) has the half widths of the k=2 intervals. A missing value is None, in CSV an empty cell.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass

from edgejoule.dictionary.responses import is_energy, label_of
from edgejoule.errors import UsageError
from edgejoule.store import Experiment, ResponseValue, Run

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
    """Run, block, the factors, every response, status, cause, flags; attempts where a run has several.

    Raises UsageError when a factor has the name of another column.
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
    return [*place, *factors, *others]


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
        RunsColumn("status", str, [run.status for run in runs], "planned, finished or failed"),
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


def _csv_cell(column: RunsColumn, cell: Cell) -> Cell:
    if isinstance(cell, tuple):
        return "; ".join(cell)
    if column.yes_no:
        return "yes" if cell else "no"
    return "" if cell is None else cell
