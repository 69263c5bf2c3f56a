"""The load curve: a response over the level of load, one line per subject, one panel per condition and response.

The form of SPECpower_ssj2008: idle first, then shares of the rate that the system itself reached.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from edgejoule.experiment.model import Level
from edgejoule.findings.design import Layout, label
from edgejoule.findings.model import Cell, Findings, ResponseFinding
from edgejoule.findings.text import Unit, unit_for
from edgejoule.report import svg
from edgejoule.report.bars import LOG_ABOVE, axis_title
from edgejoule.report.svg import COLOURS, Axis

FACTOR = "load_percent"
RESPONSES = ("energy_per_op_uj", "power_mean_w", "throughput_ops_s")
WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 380.0, 244.0, 52.0, 26.0, 38.0


@dataclass(frozen=True)
class LoadCurvePanel:
    """One drawing: its title and the SVG."""

    title: str
    picture: Markup


def panels(f: Findings, design: Layout) -> list[LoadCurvePanel]:
    """All panels; none where the load is no factor."""
    if FACTOR not in design.levels:
        return []
    shown = [r for n in RESPONSES if (r := f.response(n)) is not None]
    return [
        LoadCurvePanel(
            f"{r.title[0].upper()}{r.title[1:]}{f': {condition}' if condition else ''}",
            _draw(cells, r, design, condition),
        )
        for r in shown
        for condition, cells in _by_condition(r.cells, design).items()
        if any(c.mean is not None for c in cells)
    ]


def _by_condition(cells: Sequence[Cell], design: Layout) -> dict[str, list[Cell]]:
    by_condition: dict[str, list[Cell]] = {}
    for cell in cells:
        rest = {n: v for n, v in cell.levels.items() if n not in (FACTOR, design.subject)}
        by_condition.setdefault(label(rest), []).append(cell)
    return by_condition


def _draw(cells: Sequence[Cell], r: ResponseFinding, design: Layout, condition: str) -> Markup:
    unit = unit_for(r.unit, (c.mean for c in r.cells))
    percents = [float(p) for p in design.levels[FACTOR]]
    x = Axis(min(0.0, *percents), max(percents), LEFT, WIDTH - 14)
    y = _height([c for c in r.cells if c.mean is not None], unit)
    parts = [_grid(x, y, percents)]
    for subject, own in _by_subject(cells, design).items():
        parts += _line(own, x, y, unit, 0 if subject is None else design.subjects.index(subject), subject)
    log = ", log axis" if y.log else ""
    parts.append(svg.text(0, 12, f"{axis_title(r, unit)}{log}", "axis"))
    parts.append(svg.text(LEFT, HEIGHT - 5, "load in % of the reached rate", "axis"))
    return svg.figure(WIDTH, HEIGHT, f"{r.title} over load, {condition}", *parts)


def _by_subject(cells: Sequence[Cell], design: Layout) -> Mapping[Level | None, list[Cell]]:
    by_subject: dict[Level | None, list[Cell]] = {}
    for cell in cells:
        if cell.mean is not None:
            subject = None if design.subject == FACTOR else cell.levels[design.subject]
            by_subject.setdefault(subject, []).append(cell)
    return by_subject


def _height(cells: Sequence[Cell], unit: Unit) -> Axis:
    means = [c.mean / unit.scale for c in cells if c.mean is not None]
    highs = [c.ci[1] / unit.scale for c in cells if c.ci] + means
    low, high = min(means, default=0.0), max(highs, default=1.0)
    if low > 0 and max(means) / low > LOG_ABOVE:
        return Axis(low / 1.3, high * 1.1, HEIGHT - BOTTOM, TOP, log=True)
    return Axis(0, high * 1.05 if high > 0 else 1.0, HEIGHT - BOTTOM, TOP)


def _grid(x: Axis, y: Axis, percents: Sequence[float]) -> Markup:
    parts = []
    for tick in (svg.log_ticks if y.log else svg.linear_ticks)(y.low, y.high, 4):
        parts.append(svg.line(LEFT, y(tick), WIDTH - 14, y(tick), "zero" if tick == 0 else "grid"))
        parts.append(svg.text(LEFT - 6, y(tick) + 4, f"{tick:,g}", "tick", "end"))
    for percent in percents:
        parts.append(svg.text(x(percent), HEIGHT - BOTTOM + 15, f"{percent:g}", "tick", "middle"))
    return svg.tag("g", *parts)


def _line(cells: Sequence[Cell], x: Axis, y: Axis, unit: Unit, place: int, subject: Level | None) -> list[Markup]:
    colour, parts, points = f"s{place % COLOURS}", [], []
    for cell in sorted(cells, key=lambda c: float(c.levels[FACTOR])):
        assert cell.mean is not None
        at, mean = x(float(cell.levels[FACTOR])), cell.mean / unit.scale
        points.append((at, y(mean)))
        if cell.ci:
            low, high = (y(max(v / unit.scale, y.low)) for v in cell.ci)
            parts.append(svg.line(at, low, at, high, "whisker"))
        title = f"{subject or 'mean'} at {cell.levels[FACTOR]} %: {unit.text(cell.mean)}, n = {cell.n}"
        parts.append(svg.tag("circle", svg.tag("title", title), cx=at, cy=y(mean), r=3.6, class_=f"dot {colour}"))
    return [svg.path(points, f"curve {colour} d{place % COLOURS}"), *parts]
