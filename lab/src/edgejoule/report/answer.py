"""The report's first screen: for each condition the levels as dots on one axis, and the verdict beside them.

Every dot stands in a line of its own, with its name before it and a figure behind it: its value, or how many times
better the best is. A level that is shown to be worse than the best is an empty dot, the best ones have bold names if
any other is worse. Positions are shares of the axis, so the picture fits every width; it needs
no script. A row's picture has a text that reads all its figures.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from edgejoule.dictionary.responses import Better
from edgejoule.experiment.model import Level
from edgejoule.findings.level_names import names
from edgejoule.findings.model import Answer, AnswerRow, Cell, Contrast, ResponseFinding
from edgejoule.findings.tables import alone, heading, unit_for_response
from edgejoule.findings.text import Unit, times_text
from edgejoule.report import bars, svg
from edgejoule.report.svg import COLOURS, Axis

SHOWN_MAX = 8  # rows, and lines of a row
LOG_ABOVE = 5.0  # of the largest and the smallest mean
_REACH = 3.0  # how far beyond the means an interval is drawn, as a ratio or in spans of the means
_SIDE = {Better.LOWER: "lower is better", Better.HIGHER: "higher is better", Better.NEITHER: ""}


@dataclass(frozen=True)
class Line:
    """A dot with its interval. at, low, high: shares of the axis in percent; None without a value or an interval.

    best: its name is bold. worse: an empty dot. text: beside the dot. cut: "below" or "above", where the interval goes
    on beyond the axis, or both. hole: why there is no dot.
    """

    name: str
    colour: str
    title: str
    best: bool = False
    worse: bool = False
    at: float | None = None
    low: float | None = None
    high: float | None = None
    cut: str = ""
    text: str = ""
    hole: str = ""

    @property
    def end(self) -> float:
        """Where the dot and its interval end."""
        return max(self.at or 0.0, self.high or 0.0)


@dataclass(frozen=True)
class Row:
    """A condition. folded: how many of its levels are not drawn. decided: whether any level is shown to be the best or
    to tie with it. alternative: the picture as text.
    """

    name: str
    lines: tuple[Line, ...]
    folded: int
    verdict: str
    decided: bool
    alternative: str


@dataclass(frozen=True)
class Picture:
    """shown, folded: rows on the first screen and below a fold. ticks: share of the axis in percent, and text.

    worse: whether any level is shown to be worse. intervals: what the dots' intervals are; empty without them.
    factor_means: what a factor in a verdict means; empty without one.
    """

    factor: str
    axis: str
    ticks: tuple[tuple[float, str], ...]
    shown: tuple[Row, ...]
    folded: tuple[Row, ...]
    name_width: int
    worse: bool
    intervals: str
    factor_means: str


def picture(answer: Answer, subject: str, subjects: Sequence[Level], conditions: Sequence[str]) -> Picture | None:
    """Draws the answer; None if no response has values. conditions: the factors that make the rows."""
    r = answer.response
    if r is None or not any(row.ranking.cells for row in answer.rows):
        return None
    unit = unit_for_response(r)
    axis = _axis([c for row in answer.rows for c in row.ranking.cells])
    draw = _Drawing(r, unit, axis, subject, tuple(subjects))
    rows = tuple(draw.row(row) for row in answer.rows)
    ticks = (svg.log_ticks if axis.log else svg.linear_ticks)(axis.low / unit.scale, axis.high / unit.scale, 4)
    title = ", ".join(filter(None, (heading(r, unit, capital=True), _SIDE[r.better], "log axis" * axis.log)))
    return Picture(
        factor=", ".join(conditions),
        axis=title,
        ticks=tuple((axis(t * unit.scale), bars.tick_text(t)) for t in ticks),
        shown=rows[: _shown(rows)],
        folded=rows[_shown(rows) :],
        name_width=max(len(line.name) for row in rows for line in row.lines),
        worse=any(line.worse for row in rows for line in row.lines),
        intervals=_intervals(r, [line for row in rows for line in row.lines]),
        factor_means=_factor_means(r, [row.verdict for row in answer.rows if row.best]),
    )


def _intervals(r: ResponseFinding, lines: Sequence[Line]) -> str:
    if all(line.low is None for line in lines):
        return ""
    return f"95 % interval{alone(r)}{', beyond the axis where it fades' if any(line.cut for line in lines) else ''}"


def _factor_means(r: ResponseFinding, verdicts: Sequence[str]) -> str:
    """Explains the first factor of the verdicts, such as 2.7×."""
    factors = [match[1] for verdict in verdicts if (match := re.search(r"([0-9][0-9.,]*)×", verdict))]
    if not factors:
        return ""
    who = "the best has" if r.better is Better.HIGHER else "it has"
    than = "as much" if r.better is Better.HIGHER else "as much as the best"
    return f"Verdict: the best first; {factors[0]}× after another: {who} {factors[0]} times {than}"


def _shown(items: Sequence[object]) -> int:
    """Returns how many are shown: a single one more than SHOWN_MAX is not worth a fold."""
    return len(items) if len(items) <= SHOWN_MAX + 1 else SHOWN_MAX


def _axis(cells: Sequence[Cell]) -> Axis:
    """An axis for all means, and for their intervals where these are not much wider than the means lie apart."""
    means = [c.mean for c in cells if c.mean is not None]
    lows, highs = [c.ci[0] for c in cells if c.ci], [c.ci[1] for c in cells if c.ci]
    least, most = min(means), max(means)
    if least > 0 and most / least > LOG_ABOVE:
        low = min([least, *(max(v, least / _REACH) for v in lows)])
        high = max([most, *(min(v, most * _REACH) for v in highs)])
        return Axis(low / 1.15, high * 1.15, 0.0, 100.0, log=True)
    base = min(least, 0.0)
    span = (max(most, 0.0) - base) or 1.0
    low = min([base, *(max(v, base - span / _REACH) for v in lows)])
    high = max([most, 0.0, *(min(v, most + span) for v in highs)])
    return Axis(low, (high if high > low else low + span) + 0.02 * span, 0.0, 100.0)


@dataclass(frozen=True)
class _Drawing:
    r: ResponseFinding
    unit: Unit
    axis: Axis
    subject: str
    subjects: tuple[Level, ...]

    def row(self, row: AnswerRow) -> Row:
        k = row.ranking
        against = {c.other: c for c in k.contrasts}
        drawn = [self.line(c, c.levels[self.subject] in row.best, against) for c in self._in_order(k.cells)]
        lines = [*drawn, *(self.gap(c) for c in k.without_value if c.applies)]
        method = f", {self.r.method}" if self.r.is_energy else ""
        texts = [f"{line.title}{', best' if line.best else ''}" for line in lines]
        return Row(
            row.name,
            tuple(lines[: _shown(lines)]),
            len(lines) - _shown(lines),
            row.verdict,
            bool(row.best),
            f"{self.r.label}{method}{': ' if texts else ''}{'; '.join(texts)}",
        )

    def _in_order(self, cells: Sequence[Cell]) -> list[Cell]:
        """Numbers by size, as on an axis of their own; names as they are ranked."""
        levels = [c.levels[self.subject] for c in cells]
        if all(isinstance(v, int | float) for v in levels) and len(cells) == _shown(cells):
            return sorted(cells, key=lambda c: c.levels[self.subject])
        return list(cells)

    def line(self, cell: Cell, best: bool, against: dict[Level, Contrast]) -> Line:
        assert cell.mean is not None
        level = cell.levels[self.subject]
        low, high = (self._place(v) for v in cell.ci) if cell.ci else (None, None)
        contrast = against.get(level)
        ratio = contrast.ratio if contrast is not None and contrast.differs is not False else None
        return Line(
            names(self.subject, [level]), self._colour(level), self._title(cell, contrast), best=best,
            worse=bool(contrast and contrast.differs), at=self.axis(cell.mean), low=low, high=high, cut=self._cut(cell),
            text=self.unit.number(cell.mean) if ratio is None else times_text(ratio),
        )  # fmt: skip

    def gap(self, cell: Cell) -> Line:
        name, reason = names(self.subject, [cell.levels[self.subject]]), bars.without(cell)
        return Line(name, self._colour(cell.levels[self.subject]), f"{name}: {reason}", hole=reason)

    def _colour(self, level: Level) -> str:
        return f"s{self.subjects.index(level) % COLOURS}"

    def _place(self, value: float) -> float:
        return self.axis(min(max(value, self.axis.low), self.axis.high))

    def _cut(self, cell: Cell) -> str:
        if cell.ci is None:
            return ""
        return " ".join(["below"] * (cell.ci[0] < self.axis.low) + ["above"] * (cell.ci[1] > self.axis.high))

    def _title(self, cell: Cell, contrast: Contrast | None) -> str:
        assert cell.mean is not None
        method = f" {self.r.method}" if self.r.is_energy else ""
        ends = f", 95 % CI {self.unit.number(cell.ci[0])} to {self.unit.number(cell.ci[1])}" if cell.ci else ""
        ratio = f", {times_text(contrast.ratio)}" if contrast and contrast.ratio is not None else ""
        name = names(self.subject, [cell.levels[self.subject]])
        return f"{name}: {self.unit.text(cell.mean)}{method}{ends}{ratio}, n = {cell.n}"
