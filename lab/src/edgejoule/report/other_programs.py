"""What other programs did during each run: a bar for each run in the order of time, red where the run is flagged."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from markupsafe import Markup

from edgejoule.dictionary.responses import OTHER_PROGRAMS
from edgejoule.findings.design import label
from edgejoule.findings.other_programs import exceeded
from edgejoule.findings.text import percent, unit_for
from edgejoule.report import svg
from edgejoule.report.svg import Axis
from edgejoule.store import Run

WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 380.0, 150.0, 56.0, 8.0, 36.0
_TITLES = {
    "cpu": "CPU time of other programs, share of all CPUs",
    "write": "Bytes that other programs wrote to the page cache",
    "read": "Bytes that other programs read from storage",
}
_LEAST_TOP = {"cpu": 0.05, "write": 1e6, "read": 1e6}  # an axis that ends here shows that almost nothing happened


def pictures(runs: Sequence[Run]) -> list[tuple[str, Markup]]:
    """Title and drawing of each kind that any run knows. runs: all attempts."""
    done = sorted((r for r in runs if r.status == "finished"), key=lambda r: r.started_realtime_ns or 0)
    drawings = []
    for kind, title in _TITLES.items():
        values = [run.value(OTHER_PROGRAMS[kind]) for run in done]
        if any(value is not None for value in values):
            drawings.append((title, _draw(kind, title, done, values)))
    return drawings


def _draw(kind: str, title: str, runs: Sequence[Run], values: Sequence[float | None]) -> Markup:
    top = max(_LEAST_TOP[kind], *(v for v in values if v is not None))
    y, text_of = Axis(0, top, HEIGHT - BOTTOM, TOP), _formatter(kind, top)
    parts = []
    for tick in svg.linear_ticks(0, top, 3):
        parts.append(svg.line(LEFT, y(tick), WIDTH - 8, y(tick), "zero" if tick == 0 else "grid"))
        parts.append(svg.text(LEFT - 6, y(tick) + 4, text_of(tick), "tick", "end"))
    room = (WIDTH - 8 - LEFT) / len(runs)
    for i, (run, value) in enumerate(zip(runs, values, strict=True)):
        x, where = LEFT + (i + 0.12) * room, f"run {run.run_index + 1}, {label(run.levels)}"
        if value is None:
            parts.append(svg.tag("text", svg.tag("title", f"{where}: not known"), "?", x=x, y=y(0) - 3, class_="hole"))
            continue
        shape = {"x": x, "y": min(y(value), y(0) - 1), "width": 0.76 * room, "height": max(1.0, y(0) - y(value))}
        about = svg.tag("title", f"{where}: {text_of(value)}")
        parts.append(svg.tag("rect", about, **shape, class_="other over" if exceeded(run, kind) else "other"))
    parts.append(svg.text(LEFT, HEIGHT - BOTTOM + 17, f"run {runs[0].run_index + 1}", "tick"))
    if len(runs) > 1:
        parts.append(svg.text(WIDTH - 8, HEIGHT - BOTTOM + 17, f"run {runs[-1].run_index + 1}", "tick", "end"))
    parts.append(svg.text(LEFT, HEIGHT - BOTTOM + 32, "runs in the order of time", "axis"))
    return svg.figure(WIDTH, HEIGHT, f"{title}, for each run", *parts)


def _formatter(kind: str, top: float) -> Callable[[float], str]:
    if kind == "cpu":
        return lambda value: percent(value) if value else "0"
    unit = unit_for("byte", [top])
    return lambda value: unit.text(value) if value else "0"
