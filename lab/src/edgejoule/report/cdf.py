"""Latency distributions: one panel per operation and condition, one curve per subject, replications merged.

The latency axis is logarithmic; the share axis is stretched towards 100 % (equal steps to 90, 99, 99.9 %), because
the tail is what differs. Dots mark the median and the 99th percentile.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from hdrh.histogram import HdrHistogram
from markupsafe import Markup

from edgejoule.dictionary.responses import OPERATIONS, latency_name
from edgejoule.findings.design import Layout, label, runs_of
from edgejoule.findings.model import ResponseFinding
from edgejoule.findings.text import Unit, unit_for
from edgejoule.report import svg
from edgejoule.report.svg import COLOURS, Axis
from edgejoule.store import Latency, Run

WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 380.0, 218.0, 44.0, 6.0, 38.0
_STEPS = 90
MEASURES = {"intended": "latency from due time", "service": "service time"}
_SHARES = ((0.0, "0 %"), (0.5, "50 %"), (0.9, "90 %"), (0.99, "99 %"), (0.999, "99.9 %"), (0.9999, "99.99 %"))


@dataclass(frozen=True)
class Curve:
    """Latency in µs at rising shares of the operations."""

    subject: int
    name: str
    share: tuple[float, ...]
    latency_us: tuple[float, ...]
    count: int

    def at(self, share: float) -> float:
        """The latency not exceeded by this share."""
        return float(np.interp(share, self.share, self.latency_us))


@dataclass(frozen=True)
class LatencyPanel:
    """One drawing: its title (the operation and the start of its latency), and the SVG."""

    operation: str
    condition: str
    picture: Markup


def panels(
    runs: Sequence[Run],
    latencies: Mapping[int, Sequence[Latency]],
    design: Layout,
    responses: Sequence[ResponseFinding] = (),
) -> list[LatencyPanel]:
    """All panels, by operation and then condition: latencies from the due time where there are any, then service times.

    latencies: by run index. responses: a panel has the unit of the response of its 99th percentile.
    """
    kinds = list(dict.fromkeys((x.operation, x.measure) for own in latencies.values() for x in own))
    drawn_panels = []
    for operation, measure in sorted(kinds, key=lambda kind: (kind[1] != "intended", kinds.index(kind))):
        by_condition = [(label(c), _curves(c, operation, measure, runs, latencies, design)) for c in design.conditions]
        shown = [curve for _, curves in by_condition for curve in curves]
        if not shown:
            continue
        unit = _unit(operation, measure, shown, responses)
        low, high = min(c.latency_us[0] for c in shown), max(c.latency_us[-1] for c in shown)
        for condition, curves in by_condition:
            if curves:
                title = f"{operation.lower()}, {MEASURES[measure]}"
                about = f"{operation} latency, {MEASURES[measure]}, {condition}"
                picture = _draw(curves, low, high, about, measure, unit)
                drawn_panels.append(LatencyPanel(title, condition, picture))
    return drawn_panels


def _unit(operation: str, measure: str, shown: Sequence[Curve], responses: Sequence[ResponseFinding]) -> Unit:
    """Returns the unit of the response that has the 99th percentile, or one for the percentile itself."""
    name = latency_name(operation, measure, "p99") if operation in OPERATIONS else ""
    known = next((r for r in responses if r.name == name), None)
    return unit_for("µs", (c.mean for c in known.cells) if known else (c.at(0.99) for c in shown))


def _curves(
    condition: Mapping[str, object],
    operation: str,
    measure: str,
    runs: Sequence[Run],
    latencies: Mapping[int, Sequence[Latency]],
    design: Layout,
) -> list[Curve]:
    curves = []
    for i, subject in enumerate(design.subjects):
        own = runs_of(runs, {**condition, design.subject: subject})  # type: ignore[dict-item]
        coded = [
            x.hdr
            for r in own
            for x in latencies.get(r.run_index, ())
            if x.operation == operation and x.measure == measure
        ]
        if coded:
            curves.append(_curve(i, str(subject), coded))
    return curves


def _curve(subject: int, name: str, coded: Iterable[str]) -> Curve:
    decoded = [HdrHistogram.decode(text.encode()) for text in coded]
    merged = max(decoded, key=lambda h: h.highest_trackable_value)
    for other in decoded:
        if other is not merged:
            merged.add(other)
    counts = np.ctypeslib.as_array(merged.counts)
    filled = np.flatnonzero(counts)
    cumulative = np.cumsum(counts[filled])
    total = int(cumulative[-1])
    deepest = min(4.0, math.log10(total))
    share = 1 - 10 ** -np.linspace(0, deepest, _STEPS)
    index = np.searchsorted(cumulative, np.maximum(1, np.ceil(share * total)))
    latency_us = [merged.get_value_from_index(int(filled[min(i, len(filled) - 1)])) / 1e3 for i in index]
    return Curve(subject, name, tuple(share.tolist()), tuple(latency_us), total)


def _draw(curves: Sequence[Curve], low: float, high: float, caption: str, measure: str, unit: Unit) -> Markup:
    low = max(low, 1e-3)
    x = Axis(low / 1.1, max(high * 1.1, low * 2), LEFT, WIDTH - 10, log=True)
    deepest = max(-math.log10(1 - c.share[-1]) for c in curves)
    y = Axis(0, deepest, HEIGHT - BOTTOM, TOP)
    parts = [_grid(x, y, deepest, measure, unit)]
    for c in curves:
        points = [(x(max(v, low)), y(-math.log10(1 - s))) for s, v in zip(c.share, c.latency_us, strict=True)]
        parts.append(svg.path(points, f"curve s{c.subject % COLOURS} d{c.subject % COLOURS}"))
    for c in curves:
        for share in (0.5, 0.99):
            if share <= c.share[-1]:
                where = f"{c.name}: {100 * share:g} % of {c.count:,} within {unit.text(c.at(share))}"
                dot = svg.tag("title", where)
                cx, cy = x(max(c.at(share), low)), y(-math.log10(1 - share))
                parts.append(svg.tag("circle", dot, cx=cx, cy=cy, r=3.6, class_=f"dot s{c.subject % COLOURS}"))
    return svg.figure(WIDTH, HEIGHT, f"{caption}: share of operations within a latency", *parts)


def _grid(x: Axis, y: Axis, deepest: float, measure: str, unit: Unit) -> Markup:
    bottom, parts = HEIGHT - BOTTOM, []
    for tick in svg.log_ticks(x.low / unit.scale, x.high / unit.scale, 5):
        at = x(tick * unit.scale)
        parts.append(svg.line(at, TOP, at, bottom, "grid"))
        parts.append(svg.text(at, bottom + 15, f"{tick:,.0f}" if tick >= 1 else f"{tick:g}", "tick", "middle"))
    for share, name in _SHARES:
        level = -math.log10(1 - share)
        if level <= deepest * 1.001:
            parts.append(svg.line(LEFT, y(level), WIDTH - 10, y(level), "zero" if share == 0 else "grid"))
            parts.append(svg.text(LEFT - 5, y(level) + 4, name, "tick", "end"))
    parts.append(svg.text(LEFT, bottom + 32, f"{MEASURES[measure]} in {unit.symbol}, log axis", "axis"))
    return svg.tag("g", *parts)
