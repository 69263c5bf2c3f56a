"""The report's tables. A column with energy in it names its method in the header."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from edgejoule.findings import Cell, Contrast, Findings, Part, ResponseFinding
from edgejoule.findings.compare import MODELLED, where_words
from edgejoule.findings.design import label
from edgejoule.findings.model import RunFacts
from edgejoule.findings.words import Unit, count, number, ratio, unit_for
from edgejoule.report import svg
from edgejoule.responses import Better
from edgejoule.stats import AnovaRow, Pair
from edgejoule.stats.verdict import source_label

PAIRS_MAX = 150
RUNS_MAX = 2_000
_TIGHT_MAX = 24
_EFFECTS = {"hedges_g": "effect (Hedges' g)", "cliffs_delta": "effect (Cliff's δ)"}
HOLE = Markup('<span class="hole">{}</span>')
SOFT = Markup('<span class="soft">{}</span>')


@dataclass(frozen=True)
class Table:
    """A table: its columns' titles ("" sorts none), which are numbers, and rows of text or markup."""

    caption: str
    columns: tuple[str, ...]
    numeric: tuple[bool, ...]
    rows: tuple[tuple[str | Markup, ...], ...]
    note: str | None = None

    def tight(self, column: int) -> bool:
        """A column of short words or figures, which no line break should tear."""
        return all(len(Markup(row[column]).striptags()) <= _TIGHT_MAX for row in self.rows)


def unit_for_response(r: ResponseFinding) -> Unit:
    """The unit a response is shown in, everywhere in the report."""
    values = [c.mean if c.mean is not None else c.median for c in r.cells]
    return unit_for(r.unit, values)


def heading(r: ResponseFinding, unit: Unit | None = None, *, capital: bool = False) -> str:
    """Column title: label, unit, method."""
    unit = unit or unit_for_response(r)
    words = [w for w in (unit.symbol, r.method if r.is_energy else "") if w]
    text = f"{r.label} ({', '.join(words)})" if words else r.label
    return f"{text[0].upper()}{text[1:]}" if capital else text


def alone(r: ResponseFinding) -> str:
    """What the intervals of a modelled response leave out, for a column's title."""
    return ", replications alone" if r.method == MODELLED else ""


def glance(f: Findings) -> Table:
    """Per condition the best, its value and how far the next and the last are, for the two leading responses."""
    told = [r for r in f.responses if r.better is not Better.NEITHER and not r.unusable][:2]
    columns = [_condition_title(f)]
    for r in told:
        side = "highest" if r.better is Better.HIGHER else "lowest"
        columns += [f"{side} {heading(r)}", "next", "last"]
    rows = []
    for i, ranking in enumerate(told[0].rankings if told else ()):
        row: list[str | Markup] = [label(ranking.condition) or "all"]
        for r in told:
            row += _glance_cells(r, i, f)
        rows.append(tuple(row))
    return Table("Results at a glance", tuple(columns), (False,) * len(columns), tuple(rows))


def _glance_cells(r: ResponseFinding, index: int, f: Findings) -> list[str | Markup]:
    ranking = r.rankings[index]
    if not ranking.cells:
        return [HOLE.format("no value"), "", ""]
    best = ranking.cells[0]
    names = [best.levels[f.subject], *(c.other for c in ranking.tied)]
    unit = unit_for_response(r)
    chips = Markup(" ").join(chip(str(n), _subject_index(f, str(n))) for n in names)
    assert best.mean is not None
    figure = Markup("<b>{}</b><br>{}").format(unit.number(best.mean), chips)
    if len(names) > 1:
        why = "the model cannot tell them apart" if any(c.model_bound for c in ranking.tied) else "no difference shows"
        figure += Markup('<br><span class="soft">{}</span>').format(why)
    contrasts = ranking.contrasts
    ends = [contrasts[0], contrasts[-1]] if len(contrasts) > 1 else [*contrasts[:1]]
    cells: list[str | Markup] = [figure, *(_distance(c, f) for c in ends)]
    return [*cells, *[""] * (3 - len(cells))]


def _distance(c: Contrast, f: Findings) -> Markup:
    if c.ratio is None:
        words = Markup("{}").format("worse" if c.differs else "n/a")
    else:
        words = Markup("<b>{}×</b>" if c.differs else "{}×").format(ratio(c.ratio))
    interval = Markup('<br><span class="soft">{} to {}</span>').format(ratio(c.ci[0]), ratio(c.ci[1])) if c.ci else ""
    return Markup("{} {}{}").format(words, chip(str(c.other), _subject_index(f, str(c.other))), interval)


def _subject_index(f: Findings, name: str) -> int:
    return subjects(f).index(name) if name in subjects(f) else 0


def subjects(f: Findings) -> list[str]:
    """The subject's levels in the experiment's order."""
    cells = [c for r in (*f.responses, *f.others) for c in r.cells]
    return list(dict.fromkeys(str(c.levels[f.subject]) for c in cells))


def chip(name: str, index: int) -> Markup:
    """A name with its colour."""
    return Markup('<span class="chip s{}">{}</span>').format(index % svg.COLOURS, name)


def _condition_title(f: Findings) -> str:
    return ", ".join(f.condition_factors) or "experiment"


def cells(r: ResponseFinding, f: Findings) -> Table:
    """n, mean with interval, median, extremes and letters of every cell."""
    unit = unit_for_response(r)
    names = list(r.cells[0].levels) if r.cells else []
    kind = "geometric mean" if r.scale == "log" else "mean"
    uncertain = any(c.uncertainty_k2 is not None for c in r.cells)
    columns = [
        *names,
        "n",
        kind,
        f"95 % CI{alone(r)}",
        "median",
        "least",
        "most",
        *(["± one run, k=2"] if uncertain else []),
        "letters",
    ]
    rows = [_cell_row(c, unit, uncertain) for c in r.cells if c.applies]
    numeric = [isinstance(v, int | float) for v in r.cells[0].levels.values()] if r.cells else []
    return Table(
        heading(r, unit, capital=True), tuple(columns), (*numeric, *[True] * (6 + uncertain), False), tuple(rows),
        note="; ".join(r.notes) or None,
    )  # fmt: skip


def _cell_row(c: Cell, unit: Unit, uncertain: bool) -> tuple[str | Markup, ...]:
    def shown(value: float | None) -> str | Markup:
        return HOLE.format("–") if value is None else unit.number(value)

    ci = f"{unit.number(c.ci[0])} to {unit.number(c.ci[1])}" if c.ci else HOLE.format("–")
    holes = [f"{len(c.failed)} failed"] * bool(c.failed) + [f"{len(c.missing)} missing"] * bool(c.missing)
    holes += [c.not_sustained] if c.not_sustained else []
    n = Markup('{} <span class="hole">({})</span>').format(c.n, ", ".join(holes)) if holes else str(c.n)
    extra = [shown(c.uncertainty_k2)] if uncertain else []
    return (
        *(str(v) for v in c.levels.values()), n, shown(c.mean), ci, shown(c.median), shown(c.minimum), shown(c.maximum),
        *extra, c.letters or HOLE.format("–"),
    )  # fmt: skip


def anova(r: ResponseFinding, part: Part) -> Table | None:
    """The analysis of variance of one part; None where there is none."""
    if part.analysis is None:
        return None
    a = part.analysis
    columns = ("source", "df", "SS", "MS", "F", "p", "share of variation", "ω²")
    where = "" if not part.where else f", {where_words(part)}"
    scale = "logarithms" if a.scale == "log" else "values as they are"
    note = "; ".join([f"type {a.anova.ss_type} sums of squares of the {scale}", *a.notes])
    title = f"{r.title[0].upper()}{r.title[1:]}{where}"
    return Table(title, columns, (False, *[True] * 7), tuple(_anova_row(row) for row in a.anova.table), note)


def _anova_row(row: AnovaRow) -> tuple[str | Markup, ...]:
    source = {"residual": "error"}.get(row.source, source_label(row.source))
    share: str | Markup = ""
    if row.eta2 is not None:
        bar = Markup('<span class="share"><i style="width:{:.1f}%"></i></span>').format(
            100 * max(0.0, min(1.0, row.eta2))
        )
        share = Markup('{} <span class="percent">{:.1f} %</span>').format(bar, 100 * row.eta2)
    return (
        source,
        str(row.df),
        _opt(row.ss),
        _opt(row.ms),
        _opt(row.f),
        p_words(row.p),
        share,
        "" if row.omega2 is None else f"{row.omega2:.3f}".replace("-", "−"),
    )


def _opt(value: float | None) -> str:
    return "" if value is None else number(value)


def p_words(p: float | None) -> str:
    """A p value as papers print it."""
    return "" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"


def pairs(r: ResponseFinding, part: Part, f: Findings) -> Table | None:
    """Tukey's pairs; where there are too many, those within one condition."""
    if part.analysis is None:
        return None
    a = part.analysis
    chosen, note = list(a.pairs), f"simultaneous over {count(len(a.pairs), 'pair')}"
    if len(chosen) > PAIRS_MAX:
        chosen = [p for p in chosen if _same_condition(p, f.subject)]
        note += f"; the {len(chosen)} within one condition are shown, --json has all"
    log = a.scale == "log"
    columns = (
        "better",
        "other",
        "ratio other / better" if log else "difference",
        f"{100 * (1 - a.alpha):g} % CI{alone(r)}",
        _EFFECTS[a.effect_name],
        f"p{alone(r)}",
        "verdict",
    )
    unit = unit_for_response(r)
    rows = tuple(_pair_row(p, unit, log) for p in chosen)
    where = "" if not part.where else f", {where_words(part)}"
    caption = heading(r, unit, capital=True) + where
    return Table(caption, columns, (False, False, True, True, True, True, False), rows, note)


def _same_condition(p: Pair, subject: str) -> bool:
    return all(p.a[n] == p.b[n] for n in p.a if n != subject)


def _pair_row(p: Pair, unit: Unit, log: bool) -> tuple[str | Markup, ...]:
    names = (", ".join(p.b.values()), ", ".join(p.a.values()))
    if log and p.ratio is not None and p.ratio_ci is not None:
        figures = (f"{ratio(p.ratio)}", f"{ratio(p.ratio_ci[0])} to {ratio(p.ratio_ci[1])}")
    else:
        limits = f"{unit.number(p.ci[0])} to {unit.number(p.ci[1])}" if p.ci else ""
        figures = (f"{ratio(p.ratio)}" if log and p.ratio is not None else unit.number(p.difference), limits)
    verdict = (
        "differ"
        if p.significant
        else "the same within the margin"
        if p.equivalent
        else Markup('<span class="soft">{}</span>').format(p.why_not or "")
    )
    effect = "" if p.effect is None else f"{p.effect:.1f}".replace("-", "−")
    return (*names, *figures, effect, p_words(p.p_adj), verdict)


def failed(f: Findings) -> Table | None:
    """Each cause once, with the cells whose runs it ended."""
    grouped: dict[str, list[RunFacts]] = {}
    for run in f.runs:
        if run.status == "failed":
            grouped.setdefault(run.cause or "no cause is known", []).append(run)
    if not grouped:
        return None
    names = list(f.runs[0].levels)
    rows = []
    for cause, own in grouped.items():
        levels = (", ".join(dict.fromkeys(str(run.levels[name]) for run in own)) for name in names)
        rows.append((*levels, str(len(own)), cause))
    numeric = (*[False] * len(names), True, False)
    return Table("What failed, and why", (*names, "runs", "cause"), numeric, tuple(rows))


def loads(f: Findings) -> Table | None:
    """What loading took, each load once; None where nothing of them was kept."""
    if not f.loads:
        return None
    names = list(dict.fromkeys(name for load in f.loads for name in load.levels))
    unit = unit_for("s", [load.active_s for load in f.loads])
    times = [f"{words} ({unit.symbol})" for words in ("time to the last insert", "time to settled")]
    rows = [
        (
            *(str(load.levels.get(name, "all")) for name in names),
            "not counted" if load.records is None else f"{load.records:,}", unit.number(load.active_s),
            unit.number(load.settled_s), "" if load.records is None else number(load.records / load.active_s),
            str(load.runs),
        )
        for load in f.loads
    ]  # fmt: skip
    columns = (*names, "records", *times, "records/s", "runs from it")
    numeric = (*[False] * len(names), *[True] * 5)
    if all(load.records is None for load in f.loads):  # by commands
        kept = [i for i, column in enumerate(columns) if column not in ("records", "records/s", times[0])]
        columns, numeric = tuple(columns[i] for i in kept), tuple(numeric[i] for i in kept)
        rows = [tuple(row[i] for i in kept) for row in rows]
    return Table("Loading", columns, numeric, tuple(rows), note="one load has no interval")


def command_usage(f: Findings) -> Table | None:
    """What a run of a command used: times, memory, and bytes of its process tree and of the whole device, apart."""
    if f.response("cpu_s") is None:
        return None
    names = (
        "active_s", "cpu_s", "context_switches", "rss_peak_mb", "server_rss_peak_mb", "process_read_bytes",
        "process_write_bytes", "device_read_bytes", "device_write_bytes", "power_mean_w",
    )  # fmt: skip
    return _means(f, names, "What a run used: means over the runs")


def intervals(f: Findings) -> Table | None:
    """Active against settled: times, energies, the debt, and what else describes a cell. Means over the runs."""
    if f.response("cpu_s") is not None and f.response("energy_debt_j") is None:
        return None  # a command without a server: settled is active
    names = (
        "active_s", "settled_s", "energy_active_j", "energy_j", "energy_debt_j", "power_mean_w",
        "write_amplification", "rss_peak_mb",
    )  # fmt: skip
    return _means(f, names, "Active and settled: means over the runs")


def driver_shares(f: Findings) -> Table | None:
    """The client's part of the CPU time, and the driver's; None where commands did the work."""
    if f.response("cpu_s") is not None and f.response("driver_share") is None:
        return None
    if f.response("client_cpu_share") is None:
        return _means(f, ("cpu_us_per_op", "driver_share"), "CPU time per operation, and the driver's own share of it")
    sides = [
        f"{side}_cpu_{what}" for side, what in (("server", "us_per_op"), ("client", "us_per_op"), ("client", "share"))
    ]
    return _means(
        f, ("cpu_us_per_op", *sides, "driver_share"), "CPU time per operation: server, client, the driver itself"
    )


def _means(f: Findings, names: Sequence[str], caption: str) -> Table | None:
    told = [r for n in names if (r := f.response(n)) is not None]
    if not told:
        return None
    levels = list(told[0].cells[0].levels)
    units = _common_units(told)
    rows = [
        (*(str(v) for v in cell.levels.values()), *(_mean_words(r.cells[i], r, units[r.name]) for r in told))
        for i, cell in enumerate(told[0].cells)
    ]
    columns = (*levels, *(heading(r, units[r.name]) for r in told))
    return Table(caption, columns, (*[False] * len(levels), *[True] * len(told)), tuple(rows))


def _common_units(told: Sequence[ResponseFinding]) -> dict[str, Unit]:
    """Energies side by side stand in one unit."""
    joules = [r for r in told if r.unit == "J"]
    common = unit_for("J", [c.mean for r in joules for c in r.cells])
    return {r.name: common if r in joules else unit_for_response(r) for r in told}


def _mean_words(cell: Cell, r: ResponseFinding, unit: Unit) -> str | Markup:
    if cell.mean is None:
        return why_none(cell, r)
    if r.name in ("client_cpu_share", "driver_share"):
        return f"{100 * cell.mean:.1f} %"
    return unit.number(cell.mean)


def why_none(cell: Cell, r: ResponseFinding) -> Markup:
    """What stands in a cell without a mean."""
    if cell.failed:
        return HOLE.format("failed")
    if cell.not_sustained:
        return HOLE.format(cell.not_sustained)
    if cell.missing:
        return HOLE.format(missing_words(r, cell.missing[0]))
    return SOFT.format("not run yet" if cell.open else "does not apply")


def missing_words(r: ResponseFinding, reason: str) -> str:
    """A hole and its reason; the reason may name joules or watts, so the method stands beside."""
    return f"missing ({r.method}): {reason}" if r.is_energy else f"missing: {reason}"


def runs(f: Findings) -> Table:
    """Every run in the plan's order."""
    responses = f.responses
    units = {r.name: unit_for_response(r) for r in responses}
    levels = list(f.runs[0].levels) if f.runs else []
    columns = ("run", "block", *levels, *(heading(r, units[r.name]) for r in responses), "status", "started")
    told = any(run.circumstances for run in f.runs)
    columns += ("circumstances",) if told else ()
    shown = f.runs[:RUNS_MAX]
    rows = []
    for run in shown:
        values: list[str | Markup] = []
        for r in responses:
            value, reason = run.values.get(r.name, (None, None))
            hole = HOLE.format(missing_words(r, reason) if reason else "–")
            values.append(hole if value is None else units[r.name].number(value))
        words = (str(run.number), str(run.block), *(str(v) for v in run.levels.values()))
        ends = (_status(run.status, run.cause, run.flags), _when(run.started_realtime_ns))
        rows.append((*words, *values, *ends, *([run.circumstances] if told else [])))
    note = (
        None
        if len(shown) == len(f.runs)
        else f"the first {len(shown):,} of {len(f.runs):,} runs; `edgejoule export` has all"
    )
    numeric = (True, True, *[False] * len(levels), *[True] * len(responses), False, True, *[False] * told)
    return Table("All runs, in the order they were planned", columns, numeric, tuple(rows), note)


def _status(status: str, cause: str | None, flags: Sequence[str]) -> str | Markup:
    if status == "failed":
        return HOLE.format(f"failed: {cause}")
    if flags:
        return Markup('{} <span class="flag">⚑ {}</span>').format(status, "; ".join(flags))
    return "not run yet" if status == "planned" else status


def _when(realtime_ns: int | None) -> str:
    return "" if realtime_ns is None else time.strftime("%H:%M:%S", time.localtime(realtime_ns / 1e9))
