"""The analysis of a table of runs: ANOVA, means with intervals, pairs, letters, checks and notes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Unpack, overload

import numpy as np

from edgejoule.errors import DataError, UsageError
from edgejoule.stats.aa import same_against_same
from edgejoule.stats.anova import Anova, anova, is_balanced
from edgejoule.stats.autocorrelation import lag1
from edgejoule.stats.cells import CellMeans, Margin, cell_means, margin_of
from edgejoule.stats.compare import Compared, compare, notes_on_models, of_loads, one_error, own_errors
from edgejoule.stats.declared import DeclaredTest
from edgejoule.stats.diagnostics import Diagnostics, diagnose
from edgejoule.stats.factor import Factor, cells_of
from edgejoule.stats.model import AnalysisBy, AnalysisResult, Best, Group, LookTaken, Pair, Precision, finite, label_of
from edgejoule.stats.observations import Columns, as_numbers, by_position, complete_rows, missing, with_equal_levels
from edgejoule.stats.options import MODELLED, AnalyseOptions, Options, options_of
from edgejoule.stats.precision import half_width_of, runs_needed, stein_pooled
from edgejoule.stats.scale import FloatArray, from_scale, to_scale
from edgejoule.stats.split_plot import LoadMeans, average_repetitions, split_plot

__all__ = ["MODELLED", "AnalysisBy", "AnalysisResult", "Best", "Group", "Pair", "analyse", "finite", "label_of"]


@overload
def analyse(
    table: Columns, response: str, factors: Sequence[str], *, by: None = ..., **given: Unpack[AnalyseOptions]
) -> AnalysisResult: ...


@overload
def analyse(
    table: Columns, response: str, factors: Sequence[str], *, by: str, **given: Unpack[AnalyseOptions]
) -> AnalysisBy: ...


def analyse(
    table: Columns, response: str, factors: Sequence[str], *, by: str | None = None, **given: Unpack[AnalyseOptions]
) -> AnalysisResult | AnalysisBy:
    """Analyse column `response` of the table by the columns `factors`.

    table: column name -> one value per row, a data frame with any index, or lists. None or NaN is missing; rows with a
    missing value are dropped and counted in the notes. Levels that are equal numbers (1, "1.0", "01") are one level,
    which a note says. by: one analysis per level of this column, which is then no factor. Keywords:

    - test: declared before the data, never chosen by them: tukey (default), games-howell, kruskal-dunn-holm.
    - block: an additive factor without interactions (experiments run in randomised blocks).
    - unit: the column with the name of the load that a run used, if runs share loads. The load is then the error unit,
      and repetitions of a cell on a load are averaged. Equal names mean the same load in all cells.
    - scale: log (default) or raw. alpha: level of significance, 0.05. ss_type: I, II (default) or III.
    - compare: the factors whose cells are compared (default: all).
    - modelled: the response comes from a model (default: its name ends in ".modelled", as in an export). min_ratio:
      means that differ by a smaller factor are never called different, whatever their p. Without it modelled values are
      never called different, because p does not include the model's error.
    - better: whether lower or higher is better; the best mean comes first and gets letter a (default: from the
      dictionary of responses, else lower).
    - order: a numeric column with the order of the runs; adds the lag-1 autocorrelation.
    - margin: equivalence margin: a ratio on the log scale, a difference below the smallest mean on the raw scale.
    - precision: adds the number of runs needed for this precision of each mean: a ratio on the log scale, a half width
      on the raw scale.
    - error: error mean square and degrees of freedom, on the scale of analysis, that replace this table's in tukey; for
      Stein's first stage, whose spread determined the number of runs.
    - looks, look: the declared looks (`spending.looks`) and the current one, from 1; its level replaces alpha.
    - distributions: adds each group's distribution. same_against_same: adds an A/A test with random halves from `seed`.

    A factor with one level is left out, with a note. Raises UsageError for an unknown column or a contradictory option
    and DataError for data that cannot be analysed.
    """
    options = options_of(table, response, factors, by, given)
    grouping = [*options.factors, *(name for name in (options.block, options.unit, by) if name)]
    columns, merged = with_equal_levels(by_position(table, dict.fromkeys([*options.columns, *grouping])), grouping)
    if by is None:
        return _analyse_one(columns, options, merged)
    levels = list(dict.fromkeys(str(value) for value in columns[by] if not missing(value)))
    if not levels:
        raise DataError(f"column {by!r} has no values")
    analyses = {}
    for level in levels:
        rows = [row for row, value in enumerate(columns[by]) if not missing(value) and str(value) == level]
        part = {name: [column[row] for row in rows] for name, column in columns.items()}
        try:
            analyses[level] = _analyse_one(part, options, merged)
        except DataError as error:
            raise DataError(f"{by} = {level}: {error}") from error
    return AnalysisBy(by, analyses)


def _analyse_one(table: Columns, options: Options, merged: Sequence[str]) -> AnalysisResult:
    rows, dropped = complete_rows(table, options.columns)
    notes = [*dropped, *merged]
    raw = as_numbers(table[options.response], rows, options.response)
    y = to_scale(raw, options.scale, options.response)
    factors = [Factor.of(name, [table[name][row] for row in rows]) for name in options.factors]
    block = Factor.of(options.block, [table[options.block][row] for row in rows]) if options.block else None
    for factor in [*factors, *([block] if block else [])]:
        if len(factor.levels) == 1:
            notes.append(f"{factor.name} has one level only ({factor.levels[0]}) and is left out")
    factors = [factor for factor in factors if len(factor.levels) > 1]
    block = block if block and len(block.levels) > 1 else None
    if not factors:
        reason = f" ({'; '.join(dropped)})" if dropped else ""
        raise DataError(
            f"{options.response}: a single group; no factor has two levels, so there is nothing to compare{reason}"
        )
    kept = {factor.name for factor in factors}
    chosen = tuple(name for name in options.compare if name in kept)
    if not chosen:
        raise DataError(f"{', '.join(options.compare)} has one level only: nothing to compare")
    options = replace(options, factors=tuple(factor.name for factor in factors), compare=chosen)
    order = as_numbers(table[options.order], rows, options.order) if options.order else None
    if options.unit is None:
        return _plain(raw, y, factors, block, order, options, notes)
    unit = Factor.of(options.unit, [table[options.unit][row] for row in rows])
    return _with_loads(average_repetitions(y, factors, block, unit), options, notes)


def _plain(
    raw: FloatArray,
    y: FloatArray,
    factors: Sequence[Factor],
    block: Factor | None,
    order: FloatArray | None,
    options: Options,
    notes: Sequence[str],
) -> AnalysisResult:
    """Analyses values that are each one replication."""
    table = anova(y, factors, block=block, ss_type=options.ss_type)
    tukey = options.test is DeclaredTest.TUKEY
    full = cell_means(y, factors, block=block if tukey else None)
    margin = margin_of(full, factors, options.compare)
    _refuse_uneven_ranks(margin, full, factors, options)
    material = (
        one_error(raw, y, full, margin, *(options.error or (table.error_ms, table.error_df)))
        if tukey
        else own_errors(raw, y, full, margin, options.test)
    )
    compared = compare(material, options)
    analysis = _analysis(compared, options, block, y.size, table, diagnose(full.residuals, full.member))
    serial = lag1(full.residuals, order, block.codes if block and tukey else None) if order is not None else None
    same = None
    if options.same_against_same:
        runs = order if order is not None else np.arange(y.size, dtype=np.float64)
        same = same_against_same(y, compared.member, runs, options.test, alpha=options.alpha, seed=options.seed)
    no_block = [f"{options.test} takes no block: what differs between blocks stays in the groups' own variation"]
    return replace(
        analysis,
        serial=serial,
        same=same,
        precision=_precision(table, compared, options),
        notes=(*notes, *(no_block if block and not tukey else []), *analysis.notes),
    )


def _refuse_uneven_ranks(margin: Margin, full: CellMeans, factors: Sequence[Factor], options: Options) -> None:
    partly = margin.names != full.names
    if options.test is DeclaredTest.KRUSKAL_DUNN_HOLM and partly and not is_balanced(factors, None):
        raise DataError(
            f"ranks of {', '.join(margin.names)} are taken over all runs of a level, and the other factors are not "
            "evenly spread over them: compare all cells, or analyse by the other factor"
        )


def _with_loads(loads: LoadMeans, options: Options, notes: Sequence[str]) -> AnalysisResult:
    """Analyses data with the load as replication. If all factors vary between loads, each load has one value."""
    raw = np.array([from_scale(float(value), options.scale) for value in loads.y])
    if not loads.within:
        _refuse_single_loads(loads)
        analysis = _plain(raw, loads.y, loads.factors, loads.block, None, options, [*notes, *loads.notes])
        return replace(analysis, unit=options.unit)
    if options.test is not DeclaredTest.TUKEY:
        raise UsageError(
            f"{options.test} knows one kind of error, and {loads.within[0].name} changes on a load: declare tukey, or "
            f"analyse by {loads.within[0].name}, which leaves one value per load"
        )
    plot = split_plot(loads, ss_type=options.ss_type)
    margin = margin_of(plot.means, loads.factors, options.compare)
    compared = compare(of_loads(raw, loads.y, plot, margin, loads.unit.codes), options)
    checks = diagnose(plot.means.residuals, plot.means.member)
    analysis = _analysis(compared, options, loads.block, loads.y.size, plot.anova, checks)
    no_estimate = ["how many runs a precision takes is not estimated where factors change on loads: by one level it is"]
    asked = no_estimate if options.precision is not None else []
    return replace(analysis, notes=(*notes, *loads.notes, *analysis.notes, *asked))


def _refuse_single_loads(loads: LoadMeans) -> None:
    cells, _ = cells_of(loads.factors)
    if len(loads.y) <= len(cells):
        raise DataError(
            f"{len(loads.y)} loads in {len(cells)} cells: repetitions on one load are not replications, so nothing "
            "estimates the error; load each cell at least twice"
        )


def _precision(table: Anova, compared: Compared, options: Options) -> Precision | None:
    if options.precision is None or options.modelled:
        return None
    have = min(group.n for group in compared.groups)
    half_width = half_width_of(options.precision, options.scale)
    return Precision(
        declared=options.precision,
        have=have,
        needed=runs_needed(table.error_ms, table.error_df, half_width),
        stein=stein_pooled(table.error_ms, table.error_df, have, options.precision, scale=options.scale),
    )


def _sequential(compared: Compared, options: Options) -> LookTaken | None:
    if options.looks is None or options.look is None:
        return None
    planned, most = options.looks.runs[options.look - 1], max(group.n for group in compared.groups)
    if most > planned:
        raise DataError(
            f"look {options.look} was declared after {planned} replications, and a group has {most}: a look at "
            "another time than declared keeps no promise"
        )
    decided = sum(pair.p_adj < options.alpha for pair in compared.pairs)
    return LookTaken(options.looks, options.look, decided, len(compared.pairs))


def _analysis(
    compared: Compared, options: Options, block: Factor | None, n: int, table: Anova, checks: Diagnostics
) -> AnalysisResult:
    ranked = options.test is DeclaredTest.KRUSKAL_DUNN_HOLM
    return AnalysisResult(
        response=options.response,
        factors=options.factors,
        block=block.name if block else None,
        unit=options.unit,
        scale=options.scale,
        alpha=options.alpha,
        better=options.better,
        modelled=options.modelled,
        min_ratio=options.min_ratio,
        n=n,
        anova=table,
        groups=compared.groups,
        pairs=compared.pairs,
        diagnostics=checks,
        notes=(*table.notes, *notes_on_models(options), *compared.notes),
        test=options.test,
        omnibus=compared.omnibus,
        effect_name="cliffs_delta" if ranked else "hedges_g",
        to_best=compared.to_best,
        margin=options.margin,
        sequential=_sequential(compared, options),
    )
