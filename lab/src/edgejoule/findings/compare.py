"""Findings on one response: analyses, cells with intervals and letters, and the ranking within each condition."""

from __future__ import annotations

import contextlib
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from edgejoule.dictionary.responses import RESPONSES, Better, Response, interval_within, is_of_load
from edgejoule.errors import DataError, UsageError
from edgejoule.experiment.model import Analysis as Declared
from edgejoule.experiment.model import Spec
from edgejoule.findings.additions import alone_in_block
from edgejoule.findings.design import Layout, label, runs_of
from edgejoule.findings.model import AnalysisPart, Cell, Contrast, Levels, Ranking, ResponseFinding
from edgejoule.findings.other_programs import disturbed, disturbed_loads
from edgejoule.findings.rates import missed_rates, needs_its_rate
from edgejoule.stats import AnalysisResult, DeclaredTest, Group, Looks, Pair, Scale, analyse, describe, looks
from edgejoule.stats.options import AnalyseOptions
from edgejoule.store import ResponseValue, Run

MODELLED = "modelled"
MIXED = "mixed methods"
CONSTANT = "counts are constant in each cell and compared exactly"


def respond(
    name: str,
    runs: Sequence[Run],
    design: Layout,
    declared: Declared,
    min_ratio: float | None,
    plan: SequentialPlan,
    *,
    analysed: bool = True,
    responses: Mapping[str, Response] = RESPONSES,
) -> ResponseFinding | None:
    """Returns the findings on one response; None if no run has it. analysed: with ANOVA and comparisons. responses: all
    that runs of the experiment may have.
    """
    alpha = plan.level or declared.alpha
    values = {r.run_index: v for r in runs if (v := _value_of(r, name)) is not None}
    if not values:
        return None
    known = responses[name]
    method = _method(values.values())
    unusable = (disturbed_loads if is_of_load(name) else disturbed)(runs) if known.is_energy else None
    missed = missed_rates(runs, design) if needs_its_rate(name) else {}
    if analysed:
        alone = alone_in_block(runs, values, design, declared)
        values = {index: v for index, v in values.items() if index not in missed and index not in alone}
    resolved = min_ratio if method == MODELLED else None
    signed = any(v.value is not None and v.value <= 0 for v in values.values())
    notes: list[str] = []
    parts: list[AnalysisPart] = []
    scale = Scale(declared.scale)
    if analysed:
        scale = _scale(values.values(), scale, notes)
        parts = [AnalysisPart({}, None, reason)] if (reason := unusable or _without_value(values, missed)) else []
        parts = parts or _parts(name, runs, values, design, declared, scale, resolved, method, plan, known)
        notes += _model_notes(method, min_ratio, signed=signed)
    judged = not unusable and not (method == MODELLED and min_ratio is None) and method != MIXED
    cells = tuple(_cell(levels, runs, values, _group(parts, levels), judged, missed) for levels in design.cells())
    if analysed and not unusable and len(cells) == 1:
        cells = (_alone(cells[0], runs, values, scale, plan.first_stage),)
    rankings: tuple[Ranking, ...] = ()
    if analysed:
        counted = judged and known.is_count and not plan.between_looks
        rankings = tuple(_ranking(c, cells, parts, design, known.better, judged, alpha) for c in design.conditions)
        rankings = tuple(_with_constants(k, design.subject, known.better) if counted else k for k in rankings)
        parts = [_named_exact(part, rankings) for part in parts]
    return ResponseFinding(
        name=name, label=known.label, unit=known.unit, better=known.better, is_energy=known.is_energy, method=method,
        scale=str(scale), alpha=alpha, min_ratio=None if signed else resolved,
        parts=tuple(parts), cells=cells, rankings=rankings,
        notes=tuple(notes), unusable=unusable,
    )  # fmt: skip


def _value_of(run: Run, name: str) -> ResponseValue | None:
    return next((r for r in run.responses if r.name == name), None) if run.status == "finished" else None


def _without_value(values: Mapping[int, ResponseValue], missed: Mapping[int, str]) -> str | None:
    """Returns why no run has a value to analyse; None if one has."""
    if any(v.value is not None for v in values.values()):
        return None
    return "no cell sustains its rate" if missed else "no run has a value"


def _method(values: object) -> str:
    methods = {v.method for v in values}  # type: ignore[attr-defined]
    return str(methods.pop()) if len(methods) == 1 else MIXED


def _scale(values: object, declared: Scale, notes: list[str]) -> Scale:
    refused = [v.value for v in values if v.value is not None and v.value <= 0]  # type: ignore[attr-defined]
    if declared is Scale.LOG and refused:
        notes.append(f"analysed on the raw scale: {len(refused)} values are zero or negative and have no logarithm")
        return Scale.RAW
    return declared


def _model_notes(method: str, min_ratio: float | None, *, signed: bool) -> list[str]:
    if method == MIXED:
        return ["the runs' energies have different methods; they are shown, not compared"]
    if method != MODELLED:
        return []
    if min_ratio is None:
        return ["the model states no prediction interval, so no difference in modelled energy is judged"]
    if signed:
        return ["the model's resolution is a ratio: no difference from a mean that is zero or negative is judged"]
    return [
        "two cells are called different only when their means differ by more than a factor of "
        f"{min_ratio:.2f}, the model's resolution"
    ]


def _parts(
    name: str,
    runs: Sequence[Run],
    values: Mapping[int, ResponseValue],
    design: Layout,
    declared: Declared,
    scale: Scale,
    min_ratio: float | None,
    method: str,
    plan: SequentialPlan,
    known: Response,
) -> list[AnalysisPart]:
    """Returns one analysis, or one per level of analysis.by. A part that cannot be analysed has a reason instead."""
    if method == MIXED:
        return [AnalysisPart({}, None, "the runs' energies have different methods")]
    if plan.between_looks:
        return [AnalysisPart({}, None, plan.between_looks)]
    decides = name == declared.responses[0]
    by = declared.by if declared.by in design.factors and len(design.factors) > 1 else None
    wheres: list[Levels] = [{}] if by is None else [{by: level} for level in design.levels[by]]
    factors = [f for f in design.factors if f != by]
    parts = []
    for where in wheres:
        chosen = [r for r in runs_of(runs, where) if r.run_index in values]
        table: dict[str, list[object]] = {f: [r.levels[f] for r in chosen] for f in factors}
        table[name] = [values[r.run_index].value for r in chosen]
        table["block"] = [r.block for r in chosen]
        table["order"] = [r.started_realtime_ns or r.run_index for r in chosen]
        table["load"] = [r.facts.get("load", {}).get("name") for r in chosen]
        ask: AnalyseOptions = {
            "block": "block" if design.blocked else None, "unit": "load" if design.shares_loads else None,
            "scale": scale, "alpha": declared.alpha, "test": declared.test,
            "margin": declared.margin if scale == declared.scale else None, "modelled": method == MODELLED,
            "better": Better.HIGHER if known.better is Better.HIGHER else Better.LOWER,
            "min_ratio": min_ratio, "looks": plan.looks, "look": plan.look,
        }  # fmt: skip
        try:
            asked: AnalyseOptions = {
                **ask,
                "precision": plan.precision if scale == declared.scale else None,
                "order": None if design.shares_loads else "order",
                "same_against_same": decides and not design.shares_loads,
            }
            ask["error"] = asked["error"] = _first_stage_error(table, name, factors, ask, plan.first_stage)
            analysis = _within_range(analyse(table, name, factors, **asked), known)
            parts.append(AnalysisPart(where, analysis, None, _margins(table, name, analysis, ask)))
        except (DataError, UsageError) as error:
            parts.append(AnalysisPart(where, None, str(error).removeprefix(f"{name}: ")))
    return parts


def _within_range(analysis: AnalysisResult, known: Response) -> AnalysisResult:
    """Cuts the means' intervals to the values that the response can have."""
    groups = (replace(g, ci95=interval_within(g.ci95, known, max(g.mean, g.max))) for g in analysis.groups)
    return replace(analysis, groups=tuple(groups))


def _first_stage_error(
    table: Mapping[str, Sequence[Any]], name: str, factors: Sequence[str], ask: AnalyseOptions, first: int | None
) -> tuple[float, int] | None:
    """Returns error mean square and degrees of freedom of the first stage; None if all runs give the error."""
    if first is None or ask.get("test") != DeclaredTest.TUKEY:
        return None
    rows = [row for row, block in enumerate(table["block"]) if block < first]
    stage = {column: [values[row] for row in rows] for column, values in table.items()}
    table_of_first = analyse(stage, name, factors, **ask).anova
    return table_of_first.error_ms, table_of_first.error_df


def _margins(
    table: dict[str, list[object]], name: str, analysis: AnalysisResult, ask: AnalyseOptions
) -> dict[str, AnalysisResult]:
    """Compares each factor's marginal means. A factor without marginal means is left out."""
    if len(analysis.factors) == 1:
        return {analysis.factors[0]: analysis}
    by_factor = {}
    for factor in analysis.factors:
        with contextlib.suppress(DataError, UsageError):
            of_factor: AnalyseOptions = {**ask, "compare": [factor]}
            by_factor[factor] = analyse(table, name, list(analysis.factors), **of_factor)
    return by_factor


@dataclass(frozen=True)
class SequentialPlan:
    """The requirements of a sequential design.

    looks, look: the look with its level. between_looks: why there is no verdict now. first_stage: replications of
    Stein's first stage, when there are more; their spread alone is then the error of every comparison, because it has
    decided how many runs there are. With the spread of all runs 6.4 % instead of 5 are called different.
    """

    looks: Looks | None = None
    look: int | None = None
    precision: float | None = None
    between_looks: str | None = None
    first_stage: int | None = None

    @property
    def level(self) -> float | None:
        """Returns the look's significance level."""
        return self.looks.level[self.look - 1] if self.looks and self.look else None

    @classmethod
    def of(cls, spec: Spec, look: int, replications: int) -> SequentialPlan:
        """Builds the plan. look: the last one taken, 0 for none. replications: begun so far."""
        declared = spec.design.sequential
        if declared is None:
            return cls()
        if declared.kind == "stein":
            return cls(precision=declared.precision, first_stage=declared.first_stage(replications))
        plan = looks(declared.looks or (), alpha=spec.analysis.alpha, spending=declared.spending)
        look = len(plan.runs) if replications == plan.runs[-1] else look  # complete: the last level applies
        if look == 0 or plan.runs[look - 1] != replications:
            at = ", ".join(map(str, plan.runs))
            return cls(between_looks=f"declared looks come after {at} replications; nothing is compared between them")
        return cls(plan, look)


def _matches(stored: Mapping[str, str], levels: Levels) -> bool:
    return all(str(levels[name]) == level for name, level in stored.items())


def _part_of(parts: Sequence[AnalysisPart], levels: Levels) -> AnalysisPart | None:
    return next((p for p in parts if all(levels[n] == v for n, v in p.where.items())), None)


def _group(parts: Sequence[AnalysisPart], levels: Levels) -> Group | None:
    part = _part_of(parts, levels)
    if part is None or part.analysis is None:
        return None
    return next((g for g in part.analysis.groups if _matches(g.levels, levels)), None)


def _cell(
    levels: Levels,
    runs: Sequence[Run],
    values: Mapping[int, ResponseValue],
    group: Group | None,
    judged: bool,
    missed: Mapping[int, str],
) -> Cell:
    own = runs_of(runs, levels)
    stored = [values[r.run_index] for r in own if r.run_index in values]
    figures = [v.value for v in stored if v.value is not None]
    uncertainties = [v.uncertainty_k2 for v in stored if v.uncertainty_k2 is not None]
    group = group if figures else None  # groups omit a factor with one level so far, so they match empty cells
    return Cell(
        levels=levels,
        planned=len(own),
        n=len(figures),
        mean=group.mean if group else statistics.fmean(figures) if figures else None,
        ci=group.ci95 if group else None,
        median=statistics.median(figures) if figures else None,
        minimum=min(figures, default=None),
        maximum=max(figures, default=None),
        letters=group.letters if group and judged else None,
        uncertainty_k2=max(uncertainties, default=None),
        missing=tuple(v.missing_reason for v in stored if v.missing_reason is not None),
        failed=tuple(r.cause or "no cause stored" for r in own if r.status == "failed"),
        open=sum(r.status == "planned" for r in own),
        not_here=sum(r.status == "not_here" for r in own),
        not_sustained=next((missed[r.run_index] for r in own if r.run_index in missed), None),
    )


def _alone(
    cell: Cell, runs: Sequence[Run], values: Mapping[int, ResponseValue], scale: Scale, first: int | None
) -> Cell:
    """Adds mean and interval to the only cell of an experiment. first: replications of Stein's first stage."""
    known = [(r.block, v) for r in runs if r.run_index in values and (v := values[r.run_index].value) is not None]
    if len(known) < 2:
        return cell
    stage = [value for block, value in known if first is None or block < first]
    summary = describe([value for _, value in known], scale=scale, stage=stage)
    return replace(cell, mean=summary.mean, ci=summary.ci95)


def _ranking(
    condition: Levels,
    cells: Sequence[Cell],
    parts: Sequence[AnalysisPart],
    design: Layout,
    better: Better,
    judged: bool,
    alpha: float,
) -> Ranking:
    own = [c for c in cells if all(c.levels[n] == v for n, v in condition.items())]
    valued = [c for c in own if c.mean is not None]
    order = sorted(valued, key=lambda c: c.mean or 0.0, reverse=better is Better.HIGHER)
    pairs = _pairs(parts, order)
    contrasts = [_contrast(order[0], c, pairs, design.subject, better, judged, alpha) for c in order[1:]]
    return Ranking(condition, tuple(order), tuple(contrasts), tuple(c for c in own if c.mean is None))


def _pairs(parts: Sequence[AnalysisPart], cells: Sequence[Cell]) -> Sequence[Pair]:
    part = _part_of(parts, cells[0].levels) if cells else None
    return part.analysis.pairs if part and part.analysis else ()


def _contrast(
    best: Cell, other: Cell, pairs: Sequence[Pair], subject: str, better: Better, judged: bool, alpha: float
) -> Contrast:
    names = (best.levels[subject], other.levels[subject])
    pair = next((p for p in pairs if _matches(p.b, best.levels) and _matches(p.a, other.levels)), None)
    if pair is None:
        plain = _plain_ratio(best, other, better)
        return Contrast(*names, plain, None, None, None, None, None, model_bound=False)
    ratio, ci = pair.ratio, pair.ratio_ci
    if better is Better.HIGHER:
        ratio, ci = 1 / ratio if ratio else None, (1 / ci[1], 1 / ci[0]) if ci else None
    bound = not pair.significant and pair.p_adj < alpha
    return Contrast(
        *names, ratio, ci, pair.difference if ci is None else None, pair.ci if ci is None else None, pair.p_adj,
        pair.significant if judged else None, model_bound=bound and judged,
        equivalent=pair.equivalent if judged else None,
    )  # fmt: skip


def _with_constants(k: Ranking, subject: str, better: Better) -> Ranking:
    """Compares counts that are constant in every cell exactly. They have no error, so no test can."""
    if any(c.differs is not None for c in k.contrasts) or any(c.n < 2 or c.minimum != c.maximum for c in k.cells):
        return k
    return replace(k, contrasts=tuple(_exactly(k.cells[0], c, subject, better) for c in k.cells[1:]))


def _named_exact(part: AnalysisPart, rankings: Sequence[Ranking]) -> AnalysisPart:
    """Gives a part without an analysis the reason that its counts are compared exactly, if they are."""
    own = [k for k in rankings if all(k.condition.get(name) == level for name, level in part.where.items())]
    exact = part.analysis is None and own and all(k.exact for k in own)
    return replace(part, reason=CONSTANT) if exact else part


def _exactly(best: Cell, other: Cell, subject: str, better: Better) -> Contrast:
    assert best.minimum is not None
    assert other.minimum is not None
    difference = other.minimum - best.minimum
    return Contrast(
        best.levels[subject], other.levels[subject], _plain_ratio(best, other, better) if difference else 1.0, None,
        difference, None, None, difference != 0, model_bound=False, equivalent=difference == 0, exact=True,
    )  # fmt: skip


def _plain_ratio(best: Cell, other: Cell, better: Better) -> float | None:
    if not best.mean or not other.mean or best.mean <= 0 or other.mean <= 0:
        return None
    return best.mean / other.mean if better is Better.HIGHER else other.mean / best.mean


def where_text(part: AnalysisPart) -> str:
    """Describes the part of the experiment that an analysis covers."""
    return label(part.where) if part.where else "all runs"
