"""Counts of a table that are the same in all replications of a cell: without error they are compared exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from edgejoule.dictionary.responses import RESPONSES, Better, Response
from edgejoule.findings.effects import EXACT
from edgejoule.findings.sentences import Question, Ranked, difference_text, sentence
from edgejoule.findings.table import Table
from edgejoule.findings.text import Unit, times_text, unit_for
from edgejoule.stats.observations import Columns, missing


@dataclass(frozen=True)
class ExactCell:
    """A combination of levels with its number of replications, which all have this value."""

    levels: tuple[str, ...]
    n: int
    value: float


@dataclass(frozen=True)
class ExactCounts:
    """The cells of a count, the best first."""

    known: Response
    factors: tuple[str, ...]
    better: Better
    cells: tuple[ExactCell, ...]

    @property
    def headline(self) -> str:
        """The verdict, as the findings on an experiment have it."""
        best, higher = self.cells[0], self.better is Better.HIGHER
        question = Question(
            self.factors[0] if len(self.factors) == 1 else "cell", self.known.label, self._unit.text(best.value),
            "highest" if higher else "lowest", higher, EXACT, exact=True, symbol=self._unit.symbol,
        )  # fmt: skip
        return sentence(question, ", ".join(best.levels), [self._ranked(cell) for cell in self.cells[1:]])

    @property
    def table(self) -> Table:
        """A row per cell with its value and how much worse it is than the best."""
        symbol = f"\n{self._unit.symbol}" if self._unit.symbol else ""
        rows = tuple(
            (*cell.levels, str(cell.n), self._unit.number(cell.value), self._against(cell)) for cell in self.cells
        )
        columns = (*self.factors, "n", f"{self.known.label}{symbol}", "against the best")
        return Table("exact counts", columns, (*[False] * len(self.factors), True, True, False), rows)

    def to_json(self) -> dict[str, object]:
        """Returns the output of `edgejoule analyse --json` for counts that are compared exactly."""
        groups = [
            {"levels": dict(zip(self.factors, c.levels, strict=True)), "n": c.n, "value": c.value} for c in self.cells
        ]
        return {
            "response": self.known.name, "factors": list(self.factors), "exact": True, "better": str(self.better),
            "verdict": self.headline, "groups": groups,
        }  # fmt: skip

    @property
    def _unit(self) -> Unit:
        return unit_for(self.known.unit, (cell.value for cell in self.cells))

    def _times(self, cell: ExactCell) -> float | None:
        both = (self.cells[0].value, cell.value)
        return max(both) / min(both) if min(both) > 0 else 1.0 if both[0] == both[1] else None

    def _ranked(self, cell: ExactCell) -> Ranked:
        difference = cell.value - self.cells[0].value
        more = difference_text(difference, self._unit.scale, self._unit.symbol)
        return Ranked(", ".join(cell.levels), self._times(cell), more, difference != 0, difference == 0)

    def _against(self, cell: ExactCell) -> str:
        if cell.value == self.cells[0].value:
            return "" if cell is self.cells[0] else "equal"
        times, higher = self._times(cell), self.better is Better.HIGHER
        if times is None:
            return f"{self._ranked(cell).more} {'less' if higher else 'more'}"
        return f"{times_text(times)} lower" if higher else times_text(times)


def exact_counts(
    columns: Columns, response: str, factors: Sequence[str], better: str | None = None, rows: Sequence[int] = ()
) -> ExactCounts | None:
    """Returns the comparison if the response is a known count and every cell has two or more equal values, else None.

    rows: those of the table to use; default: all.
    """
    known = RESPONSES.get(response)
    if known is None or not known.is_count:
        return None
    cells: dict[tuple[str, ...], list[float]] = {}
    for row in rows or range(len(columns[response])):
        value, levels = columns[response][row], [columns[name][row] for name in factors]
        if not any(map(missing, [value, *levels])):
            cells.setdefault(tuple(map(str, levels)), []).append(float(cast(float, value)))
    if len(cells) < 2 or any(len(values) < 2 or len(set(values)) > 1 for values in cells.values()):
        return None
    wanted = Better(better) if better else known.better
    sign = -1 if wanted is Better.HIGHER else 1
    ordered = sorted(cells.items(), key=lambda cell: sign * cell[1][0])
    return ExactCounts(
        known, tuple(factors), wanted, tuple(ExactCell(levels, len(values), values[0]) for levels, values in ordered)
    )
