"""Pictures of a sweep of eco-sim, one for each question (SVG).

[[pictures]]
file = "links"                          # links.svg
title = "Energy per operation over link speed"
kind = "lines"                          # a line for each policy: means and ranges over the seeds
x = "tiers.*.link_gbit_s"
y = "energy_per_op_uj.modelled"
server = "total"                        # or a server's name
relative_to = "local"                   # percent against this policy, seed by seed; without it, as it is
where = { "database.max_background_jobs" = 2 }

[[pictures]]
kind = "front"                          # a point for each policy and combination of levels, the best joined
x = "reads_ops_s"                       # more is better
y = "energy_per_op_uj.modelled"         # less is better
label = "run.read_weight"               # a factor that is written beside the points
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from edgejoule.eco.sweep import Level, Row, Sweep
from edgejoule.errors import SweepError, UsageError
from edgejoule.extras import install_command

_KEYS = {"file", "title", "kind", "x", "y", "server", "relative_to", "where", "label", "policies"}
_STYLES = {  # colours that the colour-blind can distinguish; each policy has the same one in every picture
    "local": ("#4c4c4c", "o"),
    "edgepilot": ("#0072b2", "s"),
    "eco": ("#009e73", "D"),
    "eco-plus": ("#d55e00", "^"),
    "eco-local": ("#cc79a7", "v"),
    "eco-global": ("#56b4e9", "P"),
}
_NAMES = {
    "energy_per_op_uj.modelled": "energy per operation (modelled), µJ",
    "energy_j.modelled": "energy (modelled), J",
    "throughput_ops_s": "throughput, operations/s",
    "reads_ops_s": "reads/s",
    "writes_ops_s": "writes/s",
    "stopped_s": "writes stopped, s",
    "delayed_s": "writes delayed, s",
    "tiers.*.link_gbit_s": "link, Gbit/s",
    "database.max_background_jobs": "max_background_jobs",
    "elsewhere_s_p95": "95th percentile, s",
    "run.read_weight": "read weight",
    "run.slow_factor": "times as long as usual at a slow worker",
    "workloads.fillrandom.keys": "keys",
}

Points = dict[str, dict[Level, list[float]]]  # policy -> x -> values by seed


def _check(picture: Mapping[str, Any], number: int, columns: Sequence[str]) -> None:
    where = f"pictures[{number}]"
    for key in picture:
        if key not in _KEYS:
            raise SweepError(f"{where}.{key}: there is no such key; there are {', '.join(sorted(_KEYS))}")
    for key in ("file", "title", "kind", "x", "y"):
        if key not in picture:
            raise SweepError(f"{where}.{key} is expected")
    if picture["kind"] not in ("lines", "front"):
        raise SweepError(f"{where}.kind: expected lines or front")
    for key in ("x", "y", "label"):
        if key in picture and picture[key] not in columns:
            raise SweepError(f"{where}.{key}: there is no column {picture[key]}; there are {', '.join(columns)}")


def _chosen(picture: Mapping[str, Any], rows: Sequence[Row]) -> list[Row]:
    server, where = picture.get("server", "total"), picture.get("where", {})
    policies = picture.get("policies")
    return [
        row
        for row in rows
        if row["server"] == server
        and all(row[key] == value for key, value in where.items())
        and (policies is None or row["policy"] in policies)
    ]


def lines_of(picture: Mapping[str, Any], rows: Sequence[Row], factors: Sequence[str]) -> Points:
    """Values of a picture of lines. With `relative_to`, percent against that policy at the same levels and seed."""
    x, y, base = picture["x"], picture["y"], picture.get("relative_to")
    chosen = _chosen(picture, rows)

    def place(row: Row) -> tuple[Level, ...]:
        return (*(row[factor] for factor in factors), row["seed"])

    bases = {place(row): float(row[y]) for row in chosen if row["policy"] == base}
    points: Points = defaultdict(lambda: defaultdict(list))
    for row in chosen:
        value = float(row[y])
        if base is not None:
            if not bases.get(place(row)):
                continue
            value = 100 * (value / bases[place(row)] - 1)
        points[str(row["policy"])][row[x]].append(value)
    return points


def front_of(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Points that no other one is better than in both: more x, less y."""
    best: list[tuple[float, float]] = []
    for x, y in sorted(points, key=lambda point: (-point[0], point[1])):
        if not best or y < best[-1][1]:
            best.append((x, y))
    return best


def _number(value: Level) -> str:
    """1,000,000 as 1 M."""
    if not isinstance(value, int | float):
        return str(value)
    return f"{value / 1e6:g} M" if value >= 1e6 else f"{value:g}"


def _style(policy: str) -> tuple[str, str]:
    return _STYLES.get(policy, ("#e69f00", "X"))


def _name(column: str) -> str:
    return _NAMES.get(column, column.replace("_", " "))


def _draw_lines(axes: Any, picture: Mapping[str, Any], rows: Sequence[Row], factors: Sequence[str]) -> None:
    points = lines_of(picture, rows, factors)
    levels = list(dict.fromkeys(row[picture["x"]] for row in _chosen(picture, rows)))
    numbers = all(isinstance(level, int | float) for level in levels)
    wide = numbers and min(levels) > 0 and max(levels) / min(levels) >= 20  # type: ignore[operator]
    for policy, by_level in points.items():
        xs = [level if numbers else levels.index(level) for level in by_level]
        means = [math.fsum(values) / len(values) for values in by_level.values()]
        spread = [
            [mean - min(values) for mean, values in zip(means, by_level.values(), strict=True)],
            [max(values) - mean for mean, values in zip(means, by_level.values(), strict=True)],
        ]
        axes.errorbar(
            xs, means, yerr=spread, label=policy, color=_style(policy)[0], marker=_style(policy)[1],
            markersize=5, linewidth=1.6, capsize=2,
        )  # fmt: skip
    if wide:
        axes.set_xscale("log")
    axes.set_xticks([level if numbers else at for at, level in enumerate(levels)])
    axes.set_xticklabels([_number(level) for level in levels])
    axes.minorticks_off()
    base = picture.get("relative_to")
    label = _name(picture["y"])
    axes.set_ylabel(f"{label.rsplit(',', 1)[0]}, % against {base}" if base else label)
    axes.set_xlabel(_name(picture["x"]))
    if not base:
        axes.set_ylim(bottom=0)


def _draw_front(axes: Any, picture: Mapping[str, Any], rows: Sequence[Row], factors: Sequence[str]) -> None:
    x, y, label = picture["x"], picture["y"], picture.get("label")
    groups: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in _chosen(picture, rows):
        groups[(row["policy"], *(row[factor] for factor in factors))].append(row)
    at: dict[str, list[tuple[float, float, str]]] = defaultdict(list)
    for group, members in groups.items():
        means = [math.fsum(float(row[key]) for row in members) / len(members) for key in (x, y)]
        at[str(group[0])].append((means[0], means[1], f"{members[0][label]:g}" if label else ""))
    best = front_of([(px, py) for points in at.values() for px, py, _ in points])
    axes.plot(
        [point[0] for point in best], [point[1] for point in best], color="#bbbbbb", linewidth=6, zorder=0,
        solid_capstyle="round", label="none is better in both",
    )  # fmt: skip
    for policy, points in at.items():
        color, mark = _style(policy)
        axes.scatter(
            [px for px, _, _ in points], [py for _, py, _ in points], label=policy, s=34, color=color, marker=mark
        )
        if len({(round(px, 6), round(py, 6)) for px, py, _ in points}) > 1:
            for px, py, text in points:
                axes.annotate(text, (px, py), textcoords="offset points", xytext=(5, 4), fontsize=8)
    axes.set_xlabel(f"{_name(x)} (more is better)")
    axes.set_ylabel(f"{_name(y)} (less is better)")


def load_matplotlib() -> Any:
    """The package matplotlib. Raises UsageError where it is not installed."""
    try:
        import matplotlib
    except ImportError as error:
        raise UsageError(f"pictures need matplotlib: {install_command('sweeps')}") from error
    return matplotlib


def draw(sweep: Sweep, rows: Sequence[Row], folder: Path) -> list[Path]:
    """Draw the pictures of a sweep. Raises SweepError: one names what is not there. UsageError without matplotlib."""
    if not sweep.pictures:
        return []
    mpl = load_matplotlib()
    mpl.use("svg")
    mpl.rcParams |= {"svg.hashsalt": "edgejoule", "svg.fonttype": "none", "font.size": 10}
    from matplotlib import pyplot

    drawn = []
    for number, picture in enumerate(sweep.pictures):
        _check(picture, number, list(rows[0]))
        if not _chosen(picture, rows):
            raise SweepError(f"pictures[{number}]: no run is chosen by its server, where and policies")
        figure, axes = pyplot.subplots(figsize=(7.2, 4.4), layout="constrained")
        kind = _draw_lines if picture["kind"] == "lines" else _draw_front
        kind(axes, picture, rows, list(sweep.factors))
        where = picture.get("where", {})
        labels = [picture.get("server", "total").replace("total", "all servers")]
        labels += [f"{_name(key)} {_number(value)}" for key, value in where.items()]
        axes.set_title(f"{picture['title']}\n", loc="left", fontsize=11, fontweight="bold")
        axes.text(0, 1.02, "; ".join(labels), transform=axes.transAxes, fontsize=9, color="#555555")
        axes.grid(visible=True, color="#e6e6e6", linewidth=0.8)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize=9)
        file = folder / f"{picture['file']}.svg"
        figure.savefig(file, metadata={"Date": None})
        pyplot.close(figure)
        drawn.append(file)
    return drawn
