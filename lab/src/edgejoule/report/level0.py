"""RocksDB's level 0 over time: its files, when writes were held back, and what was decided; a run for each cell."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from edgejoule.databases.rocksdb_log import LEVEL0
from edgejoule.eco.federation.decisions import DECISION
from edgejoule.findings.design import Layout, label, runs_of
from edgejoule.report import svg
from edgejoule.report.svg import COLOURS, Axis
from edgejoule.report.traces import representative
from edgejoule.store import Run, RunData

WIDTH, HEIGHT, LEFT, RIGHT, STRIP, BOTTOM = 760.0, 132.0, 34.0, 8.0, 16.0, 22.0
STEPS_MAX = 400  # of a picture: more cannot be distinguished

Event = Mapping[str, Any]


@dataclass(frozen=True)
class Depth:
    """A run. steps: (s from the start of active, files from then on). held_back: begin and end in s of each stall."""

    run_number: int
    subject: int
    name: str
    steps: tuple[tuple[float, int], ...]
    held_back: tuple[tuple[float, float, str], ...]
    decisions: tuple[tuple[float, Event], ...]
    end_s: float

    @property
    def stopped_s(self) -> float:
        """How long writes were held back, in all."""
        return sum(end - begin for begin, end, _ in self.held_back)


@dataclass(frozen=True)
class ConditionRuns:
    """The runs of one condition, on common axes; a picture for each."""

    condition: str
    depths: tuple[Depth, ...]
    pictures: tuple[Markup, ...]


def groups(runs: Sequence[Run], data: Mapping[int, RunData], design: Layout, response: str) -> list[ConditionRuns]:
    """A group for each condition that has such events. response: decides which run stands for its cell."""
    result = []
    for condition in design.conditions:
        depths = []
        for place, subject in enumerate(design.subjects):
            own = [r for r in runs_of(runs, {**condition, design.subject: subject}) if _has_depth(r, data)]
            if (run := representative(own, response)) is not None:
                depths += _depths(run, data[run.run_index].events, place, str(subject))
        if depths:
            end_s = max(depth.end_s for depth in depths)
            files = max(files for depth in depths for _, files in depth.steps)
            pictures = tuple(picture(depth, end_s, files) for depth in depths)
            result.append(ConditionRuns(label(condition), tuple(depths), pictures))
    return result


def _has_depth(run: Run, data: Mapping[int, RunData]) -> bool:
    return run.run_index in data and any(e["event"] == LEVEL0 for e in data[run.run_index].events)


def _depths(run: Run, events: Sequence[Event], place: int, name: str) -> list[Depth]:
    """One, or one for each of several servers that a command ran on at once."""
    servers = sorted({str(e["server"]) for e in events if e["event"] == LEVEL0 and "server" in e})
    if not servers:
        return [_depth(run, events, place, name)]
    return [
        _depth(run, [e for e in events if server in (e.get("server"), e.get("home"))], place, f"{name}, {server}")
        for server in servers
    ]


def _depth(run: Run, events: Sequence[Event], place: int, name: str) -> Depth:
    assert run.intervals is not None, "the representative run has finished"
    zero_ns, end_s = run.intervals.active_start_ns, (run.intervals.settled_end_ns - run.intervals.active_start_ns) / 1e9

    def at_s(event: Event) -> float:
        return float(event["monotonic_ns"] - zero_ns) / 1e9

    known = sorted((at_s(e), int(e["files"])) for e in events if e["event"] == LEVEL0)
    before = [files for s, files in known if s < 0]
    within = [(s, files) for s, files in known if 0 <= s <= end_s]
    return Depth(
        run_number=run.run_index + 1,
        subject=place,
        name=name,
        steps=tuple(_thinned([(0.0, before[-1] if before else 0), *within], end_s)),
        held_back=tuple(_stalls(events, at_s, end_s)),
        decisions=tuple((at_s(e), e) for e in events if e["event"] == DECISION and 0 <= at_s(e) <= end_s),
        end_s=end_s,
    )


def _thinned(steps: Sequence[tuple[float, int]], end_s: float) -> list[tuple[float, int]]:
    """All steps, or of too many the deepest one of each slice of time."""
    if len(steps) <= STEPS_MAX:
        return list(steps)
    slices = itertools.groupby(steps, key=lambda step: int(step[0] / end_s * STEPS_MAX))
    return [(own[0][0], max(files for _, files in own)) for own in (list(group) for _, group in slices)]


def _stalls(events: Sequence[Event], at_s: Any, end_s: float) -> list[tuple[float, float, str]]:
    """Clipped to the run; a stall without an end lasted until its end."""
    intervals = []
    for event in events:
        if event["event"] == "database" and event["kind"] == "stall":
            begin_s = at_s(event)
            length_s = end_s if event["duration_ns"] is None else event["duration_ns"] / 1e9
            begin, end = max(0.0, begin_s), min(end_s, begin_s + length_s)
            if end > begin:
                intervals.append((begin, end, str(event.get("detail", ""))))
    return sorted(intervals)


def picture(depth: Depth, end_s: float, files_max: int) -> Markup:
    """The depth as steps, stalls as bands, decisions as marks above."""
    x, y = Axis(0, end_s or 1.0, LEFT, WIDTH - RIGHT), Axis(0, max(files_max, 1) * 1.05, HEIGHT - BOTTOM, STRIP)
    parts = [*(_band(x, *stall) for stall in depth.held_back), _grid(x, y, files_max)]
    points = []
    for (begin_s, files), (until_s, _) in itertools.pairwise([*depth.steps, (depth.end_s, 0)]):
        points += [(x(begin_s), y(files)), (x(until_s), y(files))]
    parts.append(svg.path(points, f"curve s{depth.subject % COLOURS}"))
    parts += [_mark(x(s), event) for s, event in depth.decisions]
    caption = f"{depth.name}: files of level 0 over time; writes held back for {depth.stopped_s:.2f} s"
    return svg.figure(WIDTH, HEIGHT, caption, *parts)


def _band(x: Axis, begin_s: float, end_s: float, detail: str) -> Markup:
    about = svg.tag("title", f"writes {detail}: {end_s - begin_s:.3g} s from {begin_s:.3g} s on")
    width = max(0.6, x(end_s) - x(begin_s))
    return svg.tag("rect", about, x=x(begin_s), y=STRIP, width=width, height=HEIGHT - BOTTOM - STRIP, class_="stall")


def _grid(x: Axis, y: Axis, files_max: int) -> Markup:
    parts = []
    for tick in svg.linear_ticks(0, x.high, 8):
        parts.append(svg.text(x(tick), HEIGHT - BOTTOM + 15, f"{tick:g}", "tick", "middle"))
    for tick in (t for t in svg.linear_ticks(0, max(files_max, 1), 3) if t == int(t)):
        parts.append(svg.line(LEFT, y(tick), WIDTH - RIGHT, y(tick), "zero" if tick == 0 else "grid"))
        parts.append(svg.text(LEFT - 5, y(tick) + 4, f"{tick:g}", "tick", "end"))
    return svg.tag("g", *parts)


def _mark(x: float, event: Event) -> Markup:
    """Where a compaction was sent, or that it stayed."""
    elsewhere = event["place"] != event["home"] and not event["shadow"]
    details = [f"to {event['place']}" if elsewhere else f"stays on {event['home']}", str(event["reason"])]
    details += [f"predicted {event['predicted_s']:.3g} s"] if event["predicted_s"] is not None else []
    details += [f"took {event['actual_s']:.3g} s"] if event["actual_s"] is not None else []
    about = svg.tag("title", "; ".join(filter(None, details)))
    return svg.tag("text", about, "▲" if elsewhere else "△", x=x, y=11, class_="mark", text_anchor="middle")
