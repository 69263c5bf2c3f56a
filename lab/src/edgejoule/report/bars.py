"""Bars with confidence intervals and letters: one drawing per response, grouped by condition.

Bars start at zero. Where the means span more than a factor of 30 no bar could be read; then dots stand on a
logarithmic axis, and the axis says so.
"""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from edgejoule.dictionary.responses import Better
from edgejoule.experiment.model import Level
from edgejoule.findings.design import label
from edgejoule.findings.model import Cell, ResponseFinding
from edgejoule.findings.rates import BESIDE_OTHERS
from edgejoule.findings.tables import alone
from edgejoule.findings.text import Unit, unit_for
from edgejoule.report import svg
from edgejoule.report.svg import COLOURS, Axis

WIDTH, ROW, GROUP, AXIS = 380.0, 23.0, 25.0, 42.0
LOG_ABOVE = 30.0
_CHARACTER = 6.7  # mean width of a character at 12.5 px
_AXIS_CHARACTER = 6.0  # of the axis' title
_SIDE = {Better.LOWER: "lower is better", Better.HIGHER: "higher is better", Better.NEITHER: ""}


def bars(r: ResponseFinding, subject: str, subjects: Sequence[Level]) -> Markup:
    """The drawing of one response. Cells without a mean say why in their place."""
    unit = unit_for(r.unit, (c.mean for c in r.cells))
    left = min(120.0, max(len(str(s)) for s in subjects) * _CHARACTER + 10)
    groups = _grouped([c for c in r.cells if c.applies], subject)
    height = sum(GROUP * bool(title) + ROW * len(cells) for title, cells in groups) + AXIS
    scale = _scale(r.cells, unit, left)
    parts = [_axis(scale, unit, r, height)]
    y = 0.0
    for title, cells in groups:
        if title:
            parts.append(svg.text(0, y + 17, title, "group"))
            y += GROUP
        for cell in cells:
            parts.append(_row(cell, y, left, scale, unit, subject, subjects, alone(r)))
            y += ROW
    return svg.figure(WIDTH, height, f"{r.title}: means with 95 % confidence intervals{alone(r)}", *parts)


def axis_title(r: ResponseFinding, unit: Unit) -> str:
    """The axis' title: unit, method, which way is better."""
    per = " per operation" if r.name.endswith("_per_op") or "_per_op_" in r.name else ""
    parts_shown = [f"{unit.symbol}{per}" if unit.symbol else "ratio", r.method if r.is_energy else "", _SIDE[r.better]]
    return ", ".join(w for w in parts_shown if w)


def _grouped(cells: Sequence[Cell], subject: str) -> list[tuple[str, list[Cell]]]:
    groups: dict[str, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(label({n: v for n, v in cell.levels.items() if n != subject}), []).append(cell)
    return list(groups.items())


def _scale(cells: Sequence[Cell], unit: Unit, left: float) -> Axis:
    lows = [v / unit.scale for c in cells for v in (c.mean, c.ci and c.ci[0]) if v is not None]
    highs = [v / unit.scale for c in cells for v in (c.mean, c.ci and c.ci[1]) if v is not None]
    low, high = min(lows, default=0.0), max(highs, default=1.0)
    right = WIDTH - (130 if any(c.failed and c.mean is not None for c in cells) else 84)
    means = [c.mean / unit.scale for c in cells if c.mean is not None]
    if means and min(means) > 0 and low > 0 and max(means) / min(means) > LOG_ABOVE:
        return Axis(low / 1.3, high * 1.1, left, right, log=True)
    low = min(low, 0.0)
    return Axis(low, high if high > low else low + 1, left, right)


def _axis(scale: Axis, unit: Unit, r: ResponseFinding, height: float) -> Markup:
    bottom = height - AXIS + 4
    find = svg.log_ticks if scale.log else svg.linear_ticks
    ticks = find(scale.low, scale.high, 4)
    parts = []
    for tick in ticks:
        x = scale(tick)
        parts.append(svg.line(x, 0, x, bottom, "zero" if tick == 0 else "grid"))
        parts.append(svg.text(x, bottom + 14, tick_text(tick), "tick", "middle"))
    title = axis_title(r, unit) + (", log axis" if scale.log else "")
    start = max(0.0, min(scale.start, WIDTH - len(title) * _AXIS_CHARACTER))
    parts.append(svg.text(start, bottom + 31, title, "axis"))
    return svg.tag("g", *parts)


def tick_text(value: float) -> str:
    """A tick's figure, without its unit."""
    return f"{value:,.0f}" if abs(value) >= 10 or value == int(value) else f"{value:g}"


def _row(
    cell: Cell, y: float, left: float, scale: Axis, unit: Unit, subject: str, subjects: Sequence[Level], intervals: str
) -> Markup:
    level = cell.levels[subject]
    colour = f"s{list(subjects).index(level) % COLOURS}"
    middle = y + ROW / 2
    name = svg.text(left - 7, middle + 4, _cut(str(level), left), "name", "end")
    if cell.mean is None:
        return svg.tag("g", name, svg.text(left + 4, middle + 4, without(cell), "hole"))
    x = scale(cell.mean / unit.scale)
    parts = [name]
    if scale.log:
        parts.append(svg.tag("circle", cx=x, cy=middle, r=5.5, class_=f"fill {colour}"))
    else:
        zero = scale(0.0)
        shape = {"x": min(zero, x), "y": y + 3.5, "width": abs(x - zero), "height": ROW - 7}
        parts.append(svg.tag("rect", **shape, rx=1.5, class_=f"fill {colour}"))
    end = x
    if cell.ci:
        low, high = (scale(v / unit.scale) for v in cell.ci)
        end = max(x, high)
        parts += [svg.line(low, middle, high, middle, "whisker")]
        parts += [svg.line(v, middle - 4, v, middle + 4, "whisker") for v in (low, high)]
    spans = [svg.tag("tspan", unit.number(cell.mean), class_="value")]
    if cell.letters:
        spans.append(svg.tag("tspan", f" {cell.letters}", class_="letters", dx=3))
    if cell.failed:
        spans.append(svg.tag("tspan", f" {len(cell.failed)} failed", class_="hole", dx=3))
    parts.append(svg.tag("text", *spans, x=end + 6, y=middle + 4))
    return svg.tag("g", svg.tag("title", _title(cell, unit, level, intervals)), *parts)


def without(cell: Cell) -> str:
    """Why a cell has no mean."""
    if cell.failed:
        return f"failed: {cell.failed[0]}"[:40]
    if cell.not_sustained:
        return cell.not_sustained.removesuffix(BESIDE_OTHERS)
    if cell.missing:
        return "missing, see the runs"
    return "not here" if cell.not_here and not cell.open else "not run yet"


def _title(cell: Cell, unit: Unit, level: Level, intervals: str) -> str:
    assert cell.mean is not None
    ci = f", 95 % CI {unit.number(cell.ci[0])} to {unit.number(cell.ci[1])}{intervals}" if cell.ci else ""
    return f"{level}: {unit.number(cell.mean)}{ci}, n = {cell.n}"


def _cut(name: str, left: float) -> str:
    room = int((left - 8) / _CHARACTER) + 1
    return name if len(name) <= room else name[: room - 1] + "…"
