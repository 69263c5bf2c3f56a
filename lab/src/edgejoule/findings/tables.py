"""Tables of an experiment's findings. A column with energy in it names its method in the header."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from edgejoule.dictionary.responses import Better
from edgejoule.findings import analysis_tables, table
from edgejoule.findings.compare import MODELLED, where_text
from edgejoule.findings.design import label
from edgejoule.findings.model import AnalysisPart, Cell, Contrast, Findings, ResponseFinding, RunFacts
from edgejoule.findings.table import BREAK, CellMark, CellRole, Table, hole, soft, strong
from edgejoule.findings.text import Unit, count, number, ratio, unit_for

PAIRS_MAX = 150
RUNS_MAX = 2_000


def unit_for_response(r: ResponseFinding) -> Unit:
    """Returns the unit that the report uses for a response."""
    values = [c.mean if c.mean is not None else c.median for c in r.cells]
    return unit_for(r.unit, values)


def heading(r: ResponseFinding, unit: Unit | None = None, *, capital: bool = False) -> str:
    """Returns the column title: label, unit and, for energy, method."""
    unit = unit or unit_for_response(r)
    parts = [w for w in (unit.symbol, r.method if r.is_energy else "") if w]
    text = f"{r.label} ({', '.join(parts)})" if parts else r.label
    return f"{text[0].upper()}{text[1:]}" if capital else text


def alone(r: ResponseFinding) -> str:
    """Qualifies the interval of a modelled response in a column title: it excludes the model's uncertainty."""
    return ", replications alone" if r.method == MODELLED else ""


def glance(f: Findings) -> Table:
    """Returns, per condition and for the first two responses, the best, its value, and the ratios of next and last."""
    shown = [r for r in f.responses if r.better is not Better.NEITHER and not r.unusable][:2]
    columns = [", ".join(f.condition_factors) or "experiment"]
    for r in shown:
        side = "highest" if r.better is Better.HIGHER else "lowest"
        columns += [f"{side} {heading(r)}", *_glance_ends(r)]
    rows = []
    for i, ranking in enumerate(shown[0].rankings if shown else ()):
        row: list[table.Cell] = [label(ranking.condition) or "all"]
        for r in shown:
            row += _glance_cells(r, i, f)
        rows.append(tuple(row))
    return Table("Results at a glance", tuple(columns), (False,) * len(columns), tuple(rows))


def _glance_ends(r: ResponseFinding) -> list[str]:
    """Returns the titles of the columns beside the best: none if it is always alone, one if there is one other."""
    return ["next", "last"][: max(len(k.contrasts) for k in r.rankings)]


def _glance_cells(r: ResponseFinding, index: int, f: Findings) -> list[table.Cell]:
    ranking = r.rankings[index]
    others = len(_glance_ends(r))
    if not ranking.cells:
        return [hole("no value"), *[""] * others]
    best = ranking.cells[0]
    names = [best.levels[f.subject], *(c.other for c in ranking.tied)]
    unit = unit_for_response(r)
    assert best.mean is not None
    figure: list[str | CellMark] = [strong(unit.number(best.mean)), BREAK, _name(str(names[0]), f)]
    figure += [piece for n in names[1:] for piece in (" ", _name(str(n), f))]
    if len(names) > 1:
        why = (
            "equal"
            if ranking.exact
            else (
                "the model does not resolve the difference"
                if any(c.model_bound for c in ranking.tied)
                else "no difference shows"
            )
        )
        figure += [BREAK, soft(why)]
    contrasts = ranking.contrasts
    ends = [contrasts[0], contrasts[-1]] if len(contrasts) > 1 else [*contrasts[:1]]
    cells: list[table.Cell] = [tuple(figure), *(_distance(c, f) for c in ends)]
    return [*cells, *[""] * (1 + others - len(cells))]


def _distance(c: Contrast, f: Findings) -> table.Cell:
    text: str | CellMark = "worse" if c.differs else "n/a"
    if c.ratio is not None:
        text = strong(f"{ratio(c.ratio)}×") if c.differs else f"{ratio(c.ratio)}×"
    under = f"{ratio(c.ci[0])} to {ratio(c.ci[1])}" if c.ci else "exact" if c.exact else ""
    interval = (BREAK, soft(under)) if under else ()
    return (text, " ", _name(str(c.other), f), *interval)


def _name(level: str, f: Findings) -> CellMark:
    known = subjects(f)
    return CellMark(CellRole.NAME, level, known.index(level) if level in known else 0)


def subjects(f: Findings) -> list[str]:
    """Returns the subject's levels in the experiment's order."""
    cells = [c for r in (*f.responses, *f.others) for c in r.cells]
    return list(dict.fromkeys(str(c.levels[f.subject]) for c in cells))


def cells(r: ResponseFinding, f: Findings) -> Table:
    """Returns n, mean with interval, median, extremes and letters of each cell."""
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


def _cell_row(c: Cell, unit: Unit, uncertain: bool) -> tuple[table.Cell, ...]:
    def shown(value: float | None) -> table.Cell:
        return hole("–") if value is None else unit.number(value)

    ci = f"{unit.number(c.ci[0])} to {unit.number(c.ci[1])}" if c.ci else hole("–")
    holes = [f"{len(c.failed)} failed"] * bool(c.failed) + [f"{len(c.missing)} missing"] * bool(c.missing)
    holes += [c.not_sustained] if c.not_sustained else []
    n: table.Cell = (f"{c.n} ", hole(f"({', '.join(holes)})")) if holes else str(c.n)
    extra = [shown(c.uncertainty_k2)] if uncertain else []
    return (
        *(str(v) for v in c.levels.values()), n, shown(c.mean), ci, shown(c.median), shown(c.minimum), shown(c.maximum),
        *extra, c.letters or hole("–"),
    )  # fmt: skip


def means(r: ResponseFinding) -> Table | None:
    """Returns n, mean and its interval of each cell, with the reason for a missing mean, for a terminal; None if no
    cell has two runs.
    """
    shown = [c for c in r.cells if c.applies]
    if max((c.n for c in shown), default=0) < 2:
        return None
    unit = unit_for_response(r)
    names = list(shown[0].levels)
    kind = "geometric mean" if r.scale == "log" and any(c.ci for c in shown) else "mean"
    symbol = f"{unit.symbol} {r.method if r.is_energy else ''}".strip()
    reasons = ["" if c.mean is not None else table.plain(why_none(c, r)) for c in shown]
    has_reasons = any(reasons)
    rows = []
    for c, reason in zip(shown, reasons, strict=True):
        mean = "-" if c.mean is None else unit.number(c.mean)
        between = f"{unit.number(c.ci[0])} to {unit.number(c.ci[1])}" if c.ci else "exact" if r.exact else "-"
        rows.append((*map(str, c.levels.values()), str(c.n), mean, between, *([reason] if has_reasons else [])))
    columns = (
        *names, "n", f"{r.label}\n{kind}\n{symbol}".rstrip(), f"95 % CI{alone(r)}", *(["remark"] if has_reasons else [])
    )  # fmt: skip
    numeric = (*[False] * len(names), True, True, True, *[False] * has_reasons)
    return Table("means", columns, numeric, tuple(rows), optional=(len(names), len(names) + 2))


def anova(r: ResponseFinding, part: AnalysisPart) -> Table | None:
    """The analysis of variance of one part; None without one."""
    if part.analysis is None:
        return None
    a = part.analysis
    where = "" if not part.where else f", {where_text(part)}"
    scale = "logarithms" if a.scale == "log" else "values as they are"
    note = "; ".join([f"type {a.anova.ss_type} sums of squares of the {scale}", *a.notes])
    title = f"{r.title[0].upper()}{r.title[1:]}{where}"
    return analysis_tables.anova(a, analysis_tables.page(), title, note)


def pairs(r: ResponseFinding, part: AnalysisPart, f: Findings) -> Table | None:
    """Returns the pairwise comparisons; above PAIRS_MAX only those within one condition."""
    if part.analysis is None:
        return None
    a = part.analysis
    chosen, note = list(a.pairs), f"simultaneous over {count(len(a.pairs), 'pair')}"
    if len(chosen) > PAIRS_MAX:
        chosen = [p for p in chosen if all(p.a[n] == p.b[n] for n in p.a if n != f.subject)]
        note += f"; the {len(chosen)} within one condition are shown, --json has all"
    unit = unit_for_response(r)
    where = "" if not part.where else f", {where_text(part)}"
    caption = heading(r, unit, capital=True) + where
    return analysis_tables.pairs(a, chosen, analysis_tables.page(unit.number), caption, alone=alone(r), note=note)


def failed(f: Findings) -> Table | None:
    """Returns each cause of failure once, with the levels of the failed runs; None if no run failed."""
    grouped: dict[str, list[RunFacts]] = {}
    for run in f.runs:
        if run.status == "failed":
            grouped.setdefault(run.cause or "unknown cause", []).append(run)
    if not grouped:
        return None
    names = list(f.runs[0].levels)
    rows = []
    for cause, own in grouped.items():
        levels = (", ".join(dict.fromkeys(str(run.levels[name]) for run in own)) for name in names)
        rows.append((*levels, str(len(own)), cause))
    numeric = (*[False] * len(names), True, False)
    return Table("Failed runs and their causes", (*names, "runs", "cause"), numeric, tuple(rows))


def loads(f: Findings) -> Table | None:
    """Returns the time of each load; None if no load was recorded."""
    if not f.loads:
        return None
    names = list(dict.fromkeys(name for load in f.loads for name in load.levels))
    unit = unit_for("s", [load.active_s for load in f.loads])
    times = [f"{title} ({unit.symbol})" for title in ("time to the last insert", "time to settled")]
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
    """Returns times, memory, bytes of the process tree and bytes of the whole device for a command's runs."""
    if f.response("cpu_s") is None:
        return None
    names = (
        "active_s", "cpu_s", "context_switches", "rss_peak_mb", "server_rss_peak_mb", "process_read_bytes",
        "process_write_bytes", "device_read_bytes", "device_write_bytes", "power_mean_w",
    )  # fmt: skip
    return _means(f, names, "What a run used: means over the runs")


def intervals(f: Findings) -> Table | None:
    """Returns active and settled times and energies, the energy debt, and other responses: means over the runs."""
    if f.response("cpu_s") is not None and f.response("energy_debt_j") is None:
        return None  # a command without a server: settled is active
    names = (
        "active_s", "settled_s", "energy_active_j", "energy_j", "energy_debt_j", "power_mean_w",
        "write_amplification", "server_rss_peak_mb", "rss_peak_mb",
    )  # fmt: skip
    if f.response("server_rss_peak_mb"):
        of_client = tuple(
            replace(r, label="peak memory of the client") if r.name == "rss_peak_mb" else r for r in f.others
        )
        f = replace(f, others=of_client)
    return _means(f, names, "Active and settled: means over the runs")


def driver_shares(f: Findings) -> Table | None:
    """Returns the client's and the driver's shares of the CPU time; None for commands without a driver."""
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
    shown = [r for n in names if (r := f.response(n)) is not None]
    if not shown:
        return None
    levels = list(shown[0].cells[0].levels)
    units = _common_units(shown)
    rows = [
        (*(str(v) for v in cell.levels.values()), *(_mean_text(r.cells[i], r, units[r.name]) for r in shown))
        for i, cell in enumerate(shown[0].cells)
        if not cell.is_absent
    ]
    columns = (*levels, *(heading(r, units[r.name]) for r in shown))
    return Table(caption, columns, (*[False] * len(levels), *[True] * len(shown)), tuple(rows))


def _common_units(shown: Sequence[ResponseFinding]) -> dict[str, Unit]:
    """Returns each response's unit; all energies share one."""
    joules = [r for r in shown if r.unit == "J"]
    common = unit_for("J", [c.mean for r in joules for c in r.cells])
    return {r.name: common if r in joules else unit_for_response(r) for r in shown}


def _mean_text(cell: Cell, r: ResponseFinding, unit: Unit) -> table.Cell:
    if cell.mean is None:
        return why_none(cell, r)
    if r.name in ("client_cpu_share", "driver_share"):
        return f"{100 * cell.mean:.1f} %"
    return unit.number(cell.mean)


def why_none(cell: Cell, r: ResponseFinding) -> CellMark:
    """Returns the reason for a cell without a mean."""
    if cell.failed:
        return hole("failed")
    if cell.not_sustained:
        return hole(cell.not_sustained)
    if cell.missing:
        return hole(missing_text(r, cell.missing[0]))
    return soft("not run yet" if cell.open else "not here" if cell.not_here else "does not apply")


def missing_text(r: ResponseFinding, reason: str) -> str:
    """Describes a missing value. The method precedes the reason, which may quote joules or watts."""
    return f"missing ({r.method}): {reason}" if r.is_energy else f"missing: {reason}"


def runs(f: Findings) -> Table:
    """Returns every run in the plan's order, RUNS_MAX at most."""
    responses = f.responses
    units = {r.name: unit_for_response(r) for r in responses}
    levels = list(f.runs[0].levels) if f.runs else []
    columns = ("run", "block", *levels, *(heading(r, units[r.name]) for r in responses), "status", "started")
    has_circumstances = any(run.circumstances for run in f.runs)
    columns += ("circumstances",) if has_circumstances else ()
    shown = f.runs[:RUNS_MAX]
    rows = []
    for run in shown:
        values: list[table.Cell] = []
        for r in responses:
            value, reason = run.values.get(r.name, (None, None))
            missing = hole(missing_text(r, reason) if reason else "–")
            values.append(missing if value is None else units[r.name].number(value))
        head = (str(run.number), str(run.block), *(str(v) for v in run.levels.values()))
        ends = (_status(run.status, run.cause, run.flags), _when(run.started_realtime_ns))
        rows.append((*head, *values, *ends, *([run.circumstances] if has_circumstances else [])))
    note = (
        None
        if len(shown) == len(f.runs)
        else f"the first {len(shown):,} of {len(f.runs):,} runs; `edgejoule export` has all"
    )
    numeric = (True, True, *[False] * len(levels), *[True] * len(responses), False, True, *[False] * has_circumstances)
    return Table("All runs, in the order they were planned", columns, numeric, tuple(rows), note)


def _status(status: str, cause: str | None, flags: Sequence[str]) -> table.Cell:
    if status == "failed":
        return hole(f"failed: {cause}")
    if flags:
        return (f"{status} ", CellMark(CellRole.FLAG, "; ".join(flags)))
    return {"planned": "not run yet", "not_here": "not here"}.get(status, status)


def _when(realtime_ns: int | None) -> str:
    return "" if realtime_ns is None else time.strftime("%H:%M:%S", time.localtime(realtime_ns / 1e9))
