"""Where a federation had compactions of level 0 done, and how far its predictions were from what came out."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from edgejoule.eco.federation.decisions import AT_HOME, DECISION, INSTALLED
from edgejoule.findings.design import Layout, label, runs_of
from edgejoule.findings.model import Levels
from edgejoule.findings.table import Table
from edgejoule.report import svg
from edgejoule.report.svg import Axis
from edgejoule.store import Run, RunData

WIDTH, ROW, LEFT, RIGHT, LEGEND = 480.0, 30.0, 92.0, 34.0, 52.0
OF_NO_USE = "of no use"
LETTER = 7.2  # about the width of one
_SERVERS = ("s7", "s0", "s2", "s3", "s5", "s6", "s1")  # classes of colours, the home's first
_LOST = "s4"
NOTE = (
    "all runs of a cell; a predicted stall: a compaction at home was expected to end in one; errors are the medians of "
    "|predicted / actual - 1|, with the number of jobs that had both; energy is modelled"
)

Event = Mapping[str, Any]


def of_cells(runs: Sequence[Run], data: Mapping[int, RunData], design: Layout) -> list[tuple[Levels, list[Event]]]:
    """The decisions of each cell that has any."""
    decided = []
    for cell in design.cells():
        own = [data[r.run_index].events for r in runs_of(runs, cell) if r.run_index in data]
        if decisions := [e for events in own for e in events if e["event"] == DECISION]:
            decided.append((cell, decisions))
    return decided


def pictures(
    cells: Sequence[tuple[Levels, list[Event]]], design: Layout, servers: Sequence[str]
) -> list[tuple[str, Markup]]:
    """Condition and where its compactions were done, a bar for each subject. servers: in the experiment's order."""
    homes = {str(e["home"]) for _, decisions in cells for e in decisions}
    places = homes | {str(e["place"]) for _, decisions in cells for e in decisions}
    order = [name for name in servers if name in places] + sorted(places - set(servers))
    parts = [*sorted(order, key=lambda name: name not in homes), OF_NO_USE]
    drawn = []
    for condition in design.conditions:
        rows = {
            str(cell[design.subject]): _counts(decisions, parts)
            for cell, decisions in cells
            if all(cell[name] == level for name, level in condition.items())
        }
        if rows:
            drawn.append((label(condition), _stacked(rows, parts)))
    return drawn


def _counts(decisions: Iterable[Event], parts: Sequence[str]) -> list[int]:
    where = [_done_at(event) for event in decisions]
    return [where.count(part) for part in parts]


def _done_at(event: Event) -> str:
    if event["shadow"] or event["outcome"] in (AT_HOME, None):
        return str(event["home"])
    return str(event["place"]) if event["outcome"] == INSTALLED else OF_NO_USE


def _stacked(rows: Mapping[str, Sequence[int]], parts: Sequence[str]) -> Markup:
    scale = Axis(0, max(map(sum, rows.values())) or 1, LEFT, WIDTH - RIGHT)
    colours = {part: _LOST if part == OF_NO_USE else _SERVERS[i % len(_SERVERS)] for i, part in enumerate(parts)}
    height, drawn = ROW * len(rows) + LEGEND, []
    for row, (name, counts) in enumerate(rows.items()):
        middle, begin = (row + 0.5) * ROW, 0
        drawn.append(svg.text(LEFT - 8, middle + 4, name, "name", "end"))
        for part, count in zip(parts, counts, strict=True):
            if count:
                shape = {"x": scale(begin), "y": middle - 8, "width": scale(count) - scale(0), "height": 16}
                about = svg.tag(
                    "title", f"{name}: {count} at {part}" if part != OF_NO_USE else f"{name}: {count} {part}"
                )
                drawn.append(svg.tag("rect", about, **shape, class_=f"fill {colours[part]}"))
                begin += count
        drawn.append(svg.text(scale(begin) + 7, middle + 4, str(begin), "value"))
    return svg.figure(
        WIDTH, height, "compactions of level 0 by where they were done", *drawn, *_legend(colours, height)
    )


def _legend(colours: Mapping[str, str], height: float) -> list[Markup]:
    drawn, x = [], LEFT
    for part, colour in colours.items():
        drawn.append(svg.tag("rect", x=x, y=height - 42, width=11, height=11, class_=f"fill {colour}"))
        drawn.append(svg.text(x + 16, height - 32, part))
        x += 36 + LETTER * len(part)
    drawn.append(svg.text(LEFT, height - 8, "compactions of level 0, all runs", "axis"))
    return drawn


def table(cells: Sequence[tuple[Levels, list[Event]]]) -> Table | None:
    """A row for each cell; None without decisions."""
    if not cells:
        return None
    factors = tuple(cells[0][0])
    titles = ("decisions", "at home", "elsewhere", OF_NO_USE, "stall predicted", "error of time", "error of energy")
    rows = []
    for cell, decisions in cells:
        done = [_done_at(event) for event in decisions]
        lost = done.count(OF_NO_USE)
        at_home = sum(where == event["home"] for where, event in zip(done, decisions, strict=True))
        near = [event["stall_predicted"] for event in decisions if event["stall_predicted"] is not None]
        figures = (len(done), at_home, len(done) - lost - at_home, lost)
        predicted = f"{sum(near)} of {len(near)}" if near else "–"
        errors = [_error(decisions, unit) for unit in ("s", "j")]
        rows.append((*(str(cell[name]) for name in factors), *map(str, figures), predicted, *errors))
    numeric = (*(False,) * len(factors), *(True,) * len(titles))
    return Table("Decisions, and predictions beside what came out", (*factors, *titles), numeric, tuple(rows), NOTE)


def _error(decisions: Iterable[Event], unit: str) -> str:
    both = [(e[f"predicted_{unit}"], e[f"actual_{unit}"]) for e in decisions]
    errors = [abs(predicted / actual - 1) for predicted, actual in both if predicted and actual]
    return f"{statistics.median(errors):.0%} ({len(errors)})" if errors else "–"
