"""Power over time: one representative run per cell, thinned for the page, as JSON for uPlot and as a static picture."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from edgejoule.commands.phases import EVENT
from edgejoule.errors import DataError
from edgejoule.findings.design import Layout, label
from edgejoule.meters.base import Channel, Domain, Method, ValueKind
from edgejoule.meters.trace import Trace
from edgejoule.report import svg
from edgejoule.report.svg import COLOURS, Axis
from edgejoule.store import Run, RunData

POINTS_TOTAL = 24_000  # over all traces of a report: about 300 kB
POINTS_MAX = 2_000
STATIC_POINTS_TOTAL = 4_000  # over all pictures: about 100 kB
STATIC_POINTS_MIN, STATIC_POINTS_MAX = 60, 240
WIDTH, HEIGHT, LEFT, RIGHT, STRIP, BOTTOM = 760.0, 150.0, 40.0, 16.0, 14.0, 22.0
_WHOLE = (Domain.WALL, Domain.BOARD, Domain.PSYS, Domain.PACKAGE)  # the widest domain first


LETTER_WIDTH, LABEL_EDGE = 6.0, 4.0  # of a phase's name
RESOLUTION_S = 1e-4  # times are rounded to it
MARKS_ACROSS = 150  # marks of a kind that the width of a run has room for


@dataclass(frozen=True)
class BackgroundWork:
    """Work the database did on its own account: begin and length in s from the start of active."""

    start_s: float
    length_s: float | None
    kind: str
    detail: str


@dataclass(frozen=True)
class Window:
    """A stretch that gave a baseline, in s from the start of active; kind: idle or quiet, as in facts.baselines."""

    start_s: float
    end_s: float
    kind: str


@dataclass(frozen=True)
class PhaseBand:
    """A phase that a command announced, in s from the start of active."""

    start_s: float
    end_s: float
    name: str


@dataclass(frozen=True)
class PowerTrace:
    """A run's power: time in s from the first operation, power in W (None: missing), its two intervals and marks.

    phases: those that a command announced, without the ones too short to be seen. windows: before and after the run, as
    far as it has them. stepped: a value is the mean since the one before, so it is drawn as a step.
    """

    run_number: int
    subject: int
    name: str
    condition: str
    channel: str
    domain: str
    method: str
    time_s: tuple[float, ...]
    power_w: tuple[float | None, ...]
    active_s: float
    settled_s: float
    windows: tuple[Window, ...]
    marks: tuple[BackgroundWork, ...]
    phases: tuple[PhaseBand, ...]
    thinned: bool
    stepped: bool

    def to_json(self) -> dict[str, Any]:
        """For the page's script."""
        return {
            "run": self.run_number, "subject": self.subject % COLOURS, "name": self.name, "unit": "W",
            "method": self.method, "t": self.time_s, "w": self.power_w, "active": self.active_s,
            "settled": self.settled_s, "stepped": self.stepped,
            "windows": [[w.start_s, w.end_s, w.kind] for w in self.windows],
            "marks": [[m.start_s, m.length_s, m.kind, m.detail] for m in self.marks],
            "phases": [[p.start_s, p.end_s, p.name] for p in self.phases],
        }  # fmt: skip


def representative(runs: Sequence[Run], response: str) -> Run | None:
    """The finished run nearest to the median of the response; the first finished one if none has a value."""
    finished = [r for r in runs if r.status == "finished" and r.intervals is not None]
    valued = [(v, r) for r in finished if (v := r.value(response)) is not None]
    if not valued:
        return finished[0] if finished else None
    median = float(np.median([v for v, _ in valued]))
    return min(valued, key=lambda pair: abs(pair[0] - median))[1]


def power_trace(run: Run, data: RunData, design: Layout, points: int) -> PowerTrace | None:
    """The trace of the widest domain; None if the run has none or its intervals are not known."""
    chosen = _widest(_on_host_clock(data.traces))
    if chosen is None or run.intervals is None:
        return None
    t_ns, power = _power(chosen)
    zero = run.intervals.active_start_ns
    time_s = (t_ns - zero) / 1e9
    thin_t, thin_w = _thin(time_s, power, min(points, POINTS_MAX))
    run_s = (run.intervals.settled_end_ns - zero) / 1e9
    condition = {n: v for n, v in run.levels.items() if n != design.subject}
    subject = run.levels[design.subject]
    return PowerTrace(
        run_number=run.run_index + 1, subject=design.subjects.index(subject), name=str(subject),
        condition=label(condition), channel=_name(chosen[0].channel, len(chosen)), domain=str(chosen[0].channel.domain),
        method=str(chosen[0].channel.method), time_s=tuple(round(float(t), 4) for t in thin_t),
        power_w=tuple(None if np.isnan(w) else float(f"{w:.4g}") for w in thin_w),
        active_s=round((run.intervals.active_end_ns - zero) / 1e9, 4),
        settled_s=round(run_s, 4),
        windows=tuple(_windows(run, zero)), marks=tuple(apart(_marks(data.events, zero), run_s / MARKS_ACROSS)),
        phases=tuple(_phases(data.events, zero, run_s / MARKS_ACROSS)),
        thinned=len(thin_t) < len(time_s),
        stepped=chosen[0].channel.kind is not ValueKind.INSTANT,
    )  # fmt: skip


def _name(channel: Channel, channels: int) -> str:
    return f"{channel.meter}, {channel.name if channels == 1 else f'sum of {channels} {channel.domain} channels'}"


def _on_host_clock(traces: Sequence[Trace]) -> list[Trace]:
    """Those with readings whose times can be the host's; measured and counted ones before those that were modelled."""
    usable = []
    for trace in filter(len, traces):
        with contextlib.suppress(DataError):  # a clock that is tied to nothing: its run has no energy by it either
            usable.append(trace.on_host_clock()[0])
    return sorted(usable, key=lambda trace: trace.channel.method is Method.MODELLED)


def _widest(traces: Sequence[Trace]) -> list[Trace] | None:
    """All channels of the widest domain that come from one meter (they add up); else the first of them."""
    if not traces:
        return None
    domain = next((d for d in _WHOLE if any(t.channel.domain is d for t in traces)), traces[0].channel.domain)
    own = [t for t in traces if t.channel.domain is domain]
    return own if len({t.channel.meter for t in own}) == 1 else own[:1]


def _power(traces: Sequence[Trace]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """At the times of the first, to which those of the others are brought."""
    (t_ns, first_w), *others = [_watts(t) for t in traces]
    return t_ns, np.sum([first_w, *(_at(t_ns, *other) for other in others)], axis=0)


def _at(t_ns: NDArray[np.int64], own_ns: NDArray[np.int64], power: NDArray[np.float64]) -> NDArray[np.float64]:
    same = np.array_equal(t_ns, own_ns)
    return power if same else np.interp((t_ns - t_ns[0]) / 1e9, (own_ns - t_ns[0]) / 1e9, power)


def _watts(trace: Trace) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Power in W; of a counter, the mean between two readings, at the later one."""
    if trace.channel.kind is not ValueKind.ACCUMULATOR:
        return trace.t_ns, trace.value
    step = np.diff(trace.value)
    if trace.channel.wrap_j is not None:
        step = np.where(step < 0, step + trace.channel.wrap_j, step)
    return trace.t_ns[1:], step / (np.diff(trace.t_ns) / 1e9)


def _thin(
    time_s: NDArray[np.float64], power: NDArray[np.float64], points: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """At most that many samples; of every bucket the lowest and the highest stay, so that no peak is lost."""
    if len(time_s) <= points:
        return time_s, power
    kept: list[int] = []
    for bucket in np.array_split(np.arange(len(time_s)), max(1, points // 2)):
        known = bucket[~np.isnan(power[bucket])]
        if len(known) == 0:
            kept.append(int(bucket[0]))
        else:
            kept += sorted({int(known[np.argmin(power[known])]), int(known[np.argmax(power[known])])})
    return time_s[kept], power[kept]


def _windows(run: Run, zero_ns: int) -> list[Window]:
    return [
        Window(round((begin_ns - zero_ns) / 1e9, 4), round((end_ns - zero_ns) / 1e9, 4), kind)
        for kind in WINDOWS
        for begin_ns, end_ns in run.facts.get("baselines", {}).get(kind, {}).get("windows_ns") or ()
    ]


def _marks(events: Sequence[Mapping[str, Any]], zero_ns: int) -> list[BackgroundWork]:
    return [
        BackgroundWork(
            round((e["monotonic_ns"] - zero_ns) / 1e9, 4),
            None if e["duration_ns"] is None else round(e["duration_ns"] / 1e9, 4),
            str(e["kind"]),
            str(e.get("detail", "")),
        )
        for e in events
        if e["event"] == "database"
    ]


def _phases(events: Sequence[Mapping[str, Any]], zero_ns: int, length_s_min: float) -> list[PhaseBand]:
    ends = (
        (e["monotonic_ns"], e["monotonic_ns"] + e["duration_ns"], str(e["name"])) for e in events if e["event"] == EVENT
    )
    bands = (PhaseBand(round((a - zero_ns) / 1e9, 4), round((b - zero_ns) / 1e9, 4), name) for a, b, name in ends)
    return [band for band in bands if band.end_s - band.start_s >= length_s_min]


def apart(marks: Sequence[BackgroundWork], within_s: float) -> list[BackgroundWork]:
    """The marks in the order of their starts; those of one kind that begin within so many s are one that says how many.

    A database may checkpoint a thousand times a run: marks that coincide on the page are drawn once.
    """
    groups: dict[str, list[list[BackgroundWork]]] = {}
    for mark in sorted(marks, key=lambda m: m.start_s):
        of_kind = groups.setdefault(mark.kind, [])
        if of_kind and mark.start_s - of_kind[-1][0].start_s < within_s:
            of_kind[-1].append(mark)
        else:
            of_kind.append([mark])
    return sorted((_one(group) for of_kind in groups.values() for group in of_kind), key=lambda m: m.start_s)


def _one(group: Sequence[BackgroundWork]) -> BackgroundWork:
    first = group[0]
    if len(group) == 1:
        return first
    end_s = max(m.start_s + (m.length_s or 0) for m in group)
    detail = f"{len(group)} within {end_s - first.start_s:.3g} s"
    return BackgroundWork(first.start_s, round(end_s - first.start_s, 4), first.kind, detail)


WINDOWS = {"idle": "idle, no database open", "quiet": "the database open, quiet"}
MARKS = {"flush": "▲", "compaction": "■", "checkpoint": "◆", "snapshot": "●", "stall": "✕"}


def picture(trace: PowerTrace, time_range_s: tuple[float, float], power_max_w: float, points: int) -> Markup:
    """The static picture, shown without scripts; uPlot replaces it."""
    x = Axis(*time_range_s, LEFT, WIDTH - RIGHT)
    y = Axis(0, power_max_w, HEIGHT - BOTTOM, STRIP)
    parts = [
        _band(x, 0, trace.active_s, "active"),
        _band(x, trace.active_s, trace.settled_s, "settling"),
        *(_band(x, window.start_s, window.end_s, window.kind) for window in trace.windows),
        _grid(x, y),
        *_lines(trace, x, y, points),
        *_phase_shapes(trace, x),
        *_mark_shapes(trace, x),
    ]
    caption = f"{trace.name}, {trace.condition}: power over time, {trace.method}"
    return svg.figure(WIDTH, HEIGHT, caption, *parts)


def _band(x: Axis, start_s: float, end_s: float, class_: str) -> Markup:
    start_s, end_s = max(start_s, x.low), min(end_s, x.high)
    width = max(0.0, x(end_s) - x(start_s))
    return svg.tag("rect", x=x(start_s), y=STRIP, width=width, height=HEIGHT - BOTTOM - STRIP, class_=f"band {class_}")


def _grid(x: Axis, y: Axis) -> Markup:
    parts = []
    for tick in svg.linear_ticks(x.low, x.high, 8):
        parts.append(svg.text(x(tick), HEIGHT - BOTTOM + 15, f"{tick:g}", "tick", "middle"))
    for tick in svg.linear_ticks(0, y.high, 3):
        parts.append(svg.line(LEFT, y(tick), WIDTH - RIGHT, y(tick), "zero" if tick == 0 else "grid"))
        parts.append(svg.text(LEFT - 5, y(tick) + 4, f"{tick:g}", "tick", "end"))
    return svg.tag("g", *parts)


def _lines(trace: PowerTrace, x: Axis, y: Axis, points: int) -> list[Markup]:
    time_s, power_w = np.array(trace.time_s), np.array([np.nan if w is None else w for w in trace.power_w])
    time_s, power_w = _thin(time_s, power_w, points)
    pieces: list[list[tuple[float, float]]] = [[]]
    for t, w in zip(time_s, power_w, strict=True):
        if np.isnan(w):
            pieces.append([])
        else:
            if trace.stepped and pieces[-1]:
                pieces[-1].append((pieces[-1][-1][0], y(float(w))))
            pieces[-1].append((x(float(t)), y(float(w))))
    return [svg.path(piece, f"curve s{trace.subject % COLOURS}") for piece in pieces if piece]


def _mark_shapes(trace: PowerTrace, x: Axis) -> list[Markup]:
    return [
        svg.tag(
            "text", svg.tag("title", f"{m.kind}: {m.detail}"), MARKS.get(m.kind, "•"),
            x=x(m.start_s), y=10, class_="mark", text_anchor="middle",
        )
        for m in trace.marks
        if x.low <= m.start_s <= x.high
    ]  # fmt: skip


def _phase_shapes(trace: PowerTrace, x: Axis) -> list[Markup]:
    """A line where a phase begins, and its name where there is room for it."""
    shapes = []
    for band in trace.phases:
        at, room = x(band.start_s), x(band.end_s) - x(band.start_s)
        line = svg.tag("line", x1=at, y1=STRIP, x2=at, y2=HEIGHT - BOTTOM)
        fits = room >= LABEL_EDGE + LETTER_WIDTH * len(band.name)
        name = svg.tag("text", band.name, x=at + LABEL_EDGE, y=HEIGHT - BOTTOM - 4) if fits else ""
        title = svg.tag("title", f"phase {band.name}: {band.end_s - band.start_s:.3g} s")
        shapes.append(svg.tag("g", title, line, name, class_="phase"))
    return shapes
