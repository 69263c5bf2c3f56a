"""Puts the report together: everything inlined, nothing fetched."""

from __future__ import annotations

import functools
import json
import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from edgejoule.control_characters import SIGNS
from edgejoule.experiment.inlined import with_properties
from edgejoule.experiment.model import Spec
from edgejoule.findings import Findings, ResponseFinding, baselines, phases, statistics, tables
from edgejoule.findings.additions import replications_text
from edgejoule.findings.design import Layout, design_of, label, runs_of
from edgejoule.findings.storage import storage_lines
from edgejoule.findings.text import count, listed
from edgejoule.report import answer, bars, cdf, commands, decisions, level0, load_curve, other_programs, traces
from edgejoule.report.table_html import cell_html, chip
from edgejoule.report.traces import PowerTrace
from edgejoule.stats import DeclaredTest
from edgejoule.store import Experiment, Latency, Run, RunData, Store
from edgejoule.version import __version__

_SIGNS = {code: sign for code, sign in SIGNS.items() if chr(code) != "\t"}  # scripts and styles have tabs
_HERE = Path(__file__).resolve().parent
ASSETS = _HERE / "assets"
_COVERS = {
    "wall": "the whole device with its power supply",
    "board": "the whole board, without the losses of its power supply",
    "psys": "the platform as the processor's maker defines it, without the losses of the power supply",
    "package": "the processor package alone: no memory, storage, network or power supply",
    "core": "the processor's cores alone",
    "uncore": "the processor's uncore alone",
    "dram": "the memory alone",
    "rail": "one supply rail of the board",
}


#: Of an experiment's environment: what other parts of the report say.
_SHOWN_ELSEWHERE = ("options", "looks", "added", "idle_power_at_begin", "shell_starts")


@dataclass(frozen=True)
class TraceGroup:
    """The traces of one condition, drawn on common axes."""

    condition: str
    traces: tuple[PowerTrace, ...]
    pictures: tuple[Markup, ...]
    time_range_s: tuple[float, float]
    power_max_w: float


@functools.cache
def _template() -> jinja2.Template:
    """Compiled once in a process: that takes as long as the rest of a small report."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE / "templates"), autoescape=True, trim_blocks=True, lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )  # fmt: skip
    return environment.get_template("report.html.j2")


def build(store: Store, experiment: Experiment, findings: Findings, *, assets: Path = ASSETS) -> str:
    """The whole report as HTML text. assets: where the style, the script and uplot/ lie.

    Without uplot/ the power traces are static pictures and the report says so.
    """
    runs = store.runs(experiment.id)
    design = design_of(experiment.spec, findings.subject)
    data = {r.run_index: d for r in runs if r.status == "finished" for d in [store.data(r)]}
    groups = _trace_groups(runs, data, experiment, design)
    decided = decisions.of_cells(runs, data, design)
    uplot = _uplot(assets)
    page = _template().render(
        f=findings,
        experiment=experiment,
        spec=experiment.spec,
        answer=answer.picture(findings.answer, design.subject, design.subjects, findings.condition_factors),
        subjects=tables.subjects(findings),
        chip=chip,
        count=count,
        cell_html=cell_html,
        badge=f"energy: {findings.energy_method}" if findings.energy_method else "no energy figures",
        created=_minute(experiment.created_realtime_ns),
        version=__version__,
        glance=tables.glance(findings),
        bars=[
            (
                r,
                bars.bars(r, design.subject, design.subjects) if any(c.mean is not None for c in r.cells) else None,
                _reading(r, experiment.spec.analysis.by),
            )
            for r in findings.responses
        ],
        panels=_panels(runs, data, design, findings.responses),
        due_times=any(x.measure == "intended" for d in data.values() for x in d.latencies),
        curves=load_curve.panels(findings, design),
        groups=groups,
        level0=level0.groups(runs, data, design, experiment.spec.analysis.responses[0]),
        places=decisions.pictures(decided, design, list(experiment.spec.servers)),
        decisions=decisions.table(decided),
        others=other_programs.pictures(store.attempts(experiment.id)),
        drawn=" and ".join(sorted({t.method for g in groups for t in g.traces})),
        marks={
            k: v for k, v in traces.MARKS.items() if any(m.kind == k for g in groups for t in g.traces for m in t.marks)
        },
        windows={
            k: v
            for k, v in traces.WINDOWS.items()
            if any(w.kind == k for g in groups for t in g.traces for w in t.windows)
        },
        trace_json=_script_json([_group_json(g) for g in groups]) if groups and uplot else None,
        uplot=uplot,
        test_name=DeclaredTest(experiment.spec.analysis.test).display_name,
        trace_script=Markup((assets / "trace.js").read_text(encoding="utf-8")),
        style=Markup((assets / "report.css").read_text(encoding="utf-8")),
        intervals=tables.intervals(findings),
        baselines=baselines.table(findings),
        commands=commands.cards(experiment.spec, runs),
        declared=commands.response_rows(experiment.spec),
        usage=tables.command_usage(findings),
        no_database=bool(experiment.spec.commands) and not findings.databases,
        phases=phases.table(runs, design),
        failed=tables.failed(findings),
        loads=tables.loads(findings),
        reused=_reused(store, experiment, runs),
        cell_tables=[tables.cells(r, findings) for r in findings.responses],
        anova_tables=[(r, [(p, tables.anova(r, p)) for p in r.parts]) for r in findings.responses],
        pair_tables=[t for r in findings.responses for p in r.parts if (t := tables.pairs(r, p, findings))],
        best=[
            (r, sentence) for r in findings.responses for p in r.parts if (sentence := statistics.against_best(r, p))
        ],
        checks=statistics.checks(findings),
        same=statistics.same(findings),
        extremes=statistics.extremes(findings),
        lines=statistics.energy_lines(findings.lines),
        run_table=tables.runs(findings),
        driver_table=tables.driver_shares(findings),
        storage=storage_lines(runs),
        served=findings.response("client_cpu_share") is not None,
        covers=sorted({_COVERS.get(t.domain, t.domain) for g in groups for t in g.traces}),
        channels=sorted({f"{t.channel} ({t.domain}, {t.method})" for g in groups for t in g.traces}),
        workloads=_workloads(experiment.spec),
        fixed=_assignments(experiment.spec.fixed),
        spec_toml=_whole_text(experiment),
        options=_options(experiment),
        notes=[note for note in store.notes(experiment.id) if note.run_index is None],
        run_notes=[note for note in store.notes(experiment.id) if note.run_index is not None],
        environment=_sections({k: v for k, v in experiment.environment.items() if k not in _SHOWN_ELSEWHERE}),
        replications=replications_text(experiment),
    )
    return page.translate(_SIGNS)


def _reading(r: ResponseFinding, by: str | None) -> str:
    """How to read the letters of a figure, or why it has none, or why there is no figure."""
    if all(c.mean is None for c in r.cells):
        causes = (f"{label(c.levels) or 'all'}: {bars.without(c)}" for c in r.cells if c.applies)
        return f"No value. {'; '.join(causes)}"
    if any(c.letters for c in r.cells):
        return f"cells{f' of the same {by}' if by else ''} that share a letter are not shown to differ"
    reasons = [p.reason for p in r.parts if p.reason] or list(r.notes)
    return f"no letters: {reasons[0]}" if reasons else "no letters"


def _reused(store: Store, experiment: Experiment, runs: Sequence[Run]) -> list[str]:
    """A sentence for each earlier experiment of the store whose loads these runs started from."""
    own, sentences = _snapshots(runs), []
    for earlier in store.experiments() if own else []:
        if earlier.id >= experiment.id:
            break
        loaded = _snapshots(store.runs(earlier.id))
        if same := [name for name in own if own[name] == loaded.get(name)]:
            own = {name: took for name, took in own.items() if name not in same}
            who = listed(sorted({name.rpartition("-")[0] for name in same}))
            sentences.append(
                f"Reused here, not loaded again: {who}, loaded for experiment {earlier.id} ({earlier.name}) of "
                f"{_minute(earlier.created_realtime_ns)}."
            )
    return sentences


def _snapshots(runs: Sequence[Run]) -> dict[str, tuple[object, ...]]:
    """Returns the times of each load that runs started from; a load made anew has others."""
    loads = [load for r in runs if "snapshot" in (load := r.facts.get("load", {}))]
    return {load["snapshot"]: tuple(load.get(k) for k in ("records", "active_s", "settled_s")) for load in loads}


def _minute(realtime_ns: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(realtime_ns / 1e9))


def _panels(
    runs: list[Run], data: Mapping[int, RunData], design: Layout, responses: Sequence[ResponseFinding]
) -> list[tuple[str, list[cdf.LatencyPanel]]]:
    """Returns headings with their panels; one group without a heading where each operation has one panel."""
    latencies: dict[int, list[Latency]] = {i: list(d.latencies) for i, d in data.items()}
    grouped: dict[str, list[cdf.LatencyPanel]] = {}
    shown = cdf.panels(runs, latencies, design, responses)
    for panel in shown:
        grouped.setdefault(panel.operation, []).append(panel)
    if any(panel.condition for panel in shown):
        return list(grouped.items())
    return [("", shown)] if shown else []


def _trace_groups(
    runs: list[Run], data: Mapping[int, RunData], experiment: Experiment, design: Layout
) -> list[TraceGroup]:
    share = traces.STATIC_POINTS_TOTAL // max(1, len(design.cells()))
    static = min(traces.STATIC_POINTS_MAX, max(traces.STATIC_POINTS_MIN, share))
    points = traces.POINTS_TOTAL // max(1, len(design.cells()))
    groups = []
    for condition in design.conditions:
        shown = []
        for subject in design.subjects:
            own = runs_of(runs, {**condition, design.subject: subject})
            run = traces.representative(own, experiment.spec.analysis.responses[0])
            if run and (t := traces.power_trace(run, data[run.run_index], design, points)):
                shown.append(t)
        if shown:
            groups.append(_trace_group(label(condition), shown, static))
    return groups


def _trace_group(condition: str, group: list[PowerTrace], static_points: int) -> TraceGroup:
    end_s = max(traces.RESOLUTION_S, *(t.settled_s for t in group))
    known = [w for t in group for w in t.power_w if w is not None]
    time_range_s, power_max_w = _time_range_s(group, end_s), 1.08 * max(known, default=1.0)
    pictures = tuple(traces.picture(t, time_range_s, power_max_w, static_points) for t in group)
    return TraceGroup(condition, tuple(group), pictures, time_range_s, power_max_w)


def _time_range_s(group: list[PowerTrace], end_s: float) -> tuple[float, float]:
    """The runs with the windows around them, but no more of these than half of the longest run on either side."""
    windows = [window for trace in group for window in trace.windows]
    begin_s = max(min((window.start_s for window in windows), default=0.0), -0.5 * end_s)
    last_s = min(max((window.end_s for window in windows), default=end_s), 1.5 * end_s)
    margin_s = 0.04 * end_s
    return min(begin_s, 0.0) - margin_s, max(last_s, end_s) + margin_s


def _group_json(g: TraceGroup) -> dict[str, Any]:
    return {
        "condition": g.condition, "range": g.time_range_s, "max": g.power_max_w,
        "traces": [t.to_json() for t in g.traces],
    }  # fmt: skip


def _script_json(value: object) -> Markup:
    """JSON that can stand inside a script element."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029"))


def _uplot(assets: Path) -> dict[str, Markup] | None:
    folder = assets / "uplot"
    names = {"js": "uPlot.iife.min.js", "css": "uPlot.min.css", "licence": "LICENSE.md"}
    if not all((folder / name).is_file() for name in names.values()):
        return None
    return {key: Markup((folder / name).read_text(encoding="utf-8")) for key, name in names.items()}


def _sections(environment: Mapping[str, Any]) -> list[tuple[str, list[tuple[str, str]]]]:
    """Nested tables as titled lists of (name, value); top-level values come first."""
    plain = [(_label(k), _value(k, v)) for k, v in environment.items() if not isinstance(v, Mapping)]
    nested = [(_label(k), _flat(v)) for k, v in environment.items() if isinstance(v, Mapping)]
    return [*nested, *([("software", plain)] if plain else [])]


def _flat(table: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    for key, value in table.items():
        name = f"{prefix}{_label(key)}"
        rows += _flat(value, f"{name}, ") if isinstance(value, Mapping) else [(name, _value(key, value))]
    return rows


def _workloads(spec: Spec) -> list[tuple[str, str]]:
    """Returns each workload of the plan that the experiment describes, with its properties."""
    used = spec.factors.get("workload", [spec.fixed.get("workload", "")])
    described = ((str(name), spec.workloads.get(str(name))) for name in used)
    return [(name, _assignments(own)) for name, own in described if isinstance(own, dict)]


def _assignments(settings: Mapping[str, object]) -> str:
    return ", ".join(f"{name} = {json.dumps(v) if isinstance(v, bool) else v}" for name, v in settings.items())


def _whole_text(experiment: Experiment) -> str:
    """Returns the text of the experiment; a store of before this version may have one that names a property file."""
    own = {name: w for name, w in experiment.spec.workloads.items() if isinstance(w, dict)}
    return with_properties(experiment.spec_toml, own)


def _options(experiment: Experiment) -> list[str]:
    """Returns the changes of the command line, as arguments for a shell: `--set KEY=VALUE`, `--meter NAME`."""
    arguments = [shlex.quote(word) for word in experiment.environment.get("options", [])]
    return [f"{name} {value}" for name, value in zip(arguments[::2], arguments[1::2], strict=True)]


def _label(key: str) -> str:
    key = key.replace("_per_s", "_per_second")
    for unit in ("_bytes", "_khz", "_mhz", "_c", "_s"):
        key = key.removesuffix(unit)
    return key.replace("_", " ")


def _value(key: str, value: object) -> str:
    if value is None:
        return "could not be read"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(str(v) for v in value)
    if key.endswith("_bytes") and isinstance(value, int):
        return f"{value / 2**30:.1f} GiB" if value >= 2**30 else f"{value / 2**20:.1f} MiB"
    if key.endswith("_c") and isinstance(value, int | float):
        return f"{value:g} °C"
    return str(value)
