"""Split plots: runs that share a load, analysed with the load as the error unit.

Repetitions on one load share that load's random effect, so they are no replications. The repetitions of a cell on a
load are averaged first. Factors that differ between loads are tested against the variation between loads, factors that
change on a load against the variation within loads. With all runs as replications, 26-66 % of true null hypotheses are
rejected at a level of 5 %; a test simulates it.

Sources: D. C. Montgomery, Design and Analysis of Experiments, 8th ed., ch. 14.4-14.5; W. G. Cochran and G. M. Cox,
Experimental Designs (1957), ch. 7, for the errors of differences; F. E. Satterthwaite, Biometrics Bulletin 2 (1946),
for the df of an error made of two mean squares. On complete data as aov with Error(load) in R.

If runs are missing from some loads, tests within loads stay exact. Tests between loads treat the loads' means, adjusted
for the missing cells, as equally exact (F. Yates, 1934, unweighted means); the variances of differences account for the
missing cells. Simultaneous intervals of all pairs are approximate, because their errors have different df; in
simulations 94.1 to 95.3 % cover at a level of 95 %.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from edgejoule.errors import DataError
from edgejoule.stats.anova import TOTAL, Anova, AnovaRow, SsType, added, adjusted_for, anova, basis, row_of, terms_of
from edgejoule.stats.cells import CellMeans, Margin
from edgejoule.stats.estimates import Estimates
from edgejoule.stats.factor import Factor, IntArray, cells_of, combinations_of, require_observations
from edgejoule.stats.scale import FloatArray


@dataclass(frozen=True)
class LoadMeans:
    """One value per load and cell: the mean of its repetitions. runs: the number of values averaged."""

    y: FloatArray
    unit: Factor
    factors: tuple[Factor, ...]
    block: Factor | None
    runs: int
    notes: tuple[str, ...]

    @cached_property
    def between(self) -> tuple[Factor, ...]:
        """Factors with a single level on each load."""
        return tuple(factor for factor in self.factors if _constant(factor, self.unit))

    @cached_property
    def within(self) -> tuple[Factor, ...]:
        """Factors that change on a load."""
        return tuple(factor for factor in self.factors if not _constant(factor, self.unit))


def average_repetitions(y: FloatArray, factors: Sequence[Factor], block: Factor | None, unit: Factor) -> LoadMeans:
    """Averages the repetitions of a cell on a load. A block that changes on a load is averaged over, with a note."""
    require_observations(y, [*factors, unit, *([block] if block else [])])
    notes = []
    if block and not _constant(block, unit):
        notes.append(f"{block.name} changes on a {unit.name}, so it is averaged over and is no block")
        block = None
    every = [*factors, unit, *([block] if block else [])]
    unique, inverse = combinations_of(every)
    mean = np.bincount(inverse, weights=y - y.mean()) / np.bincount(inverse) + y.mean()
    short = [Factor(f.name, f.levels, unique[:, at]) for at, f in enumerate(every)]
    count = len(factors)
    loads = LoadMeans(mean, short[count], tuple(short[:count]), short[-1] if block else None, int(y.size), ())
    return replace(loads, notes=(_as_text(loads), *notes))


def _constant(factor: Factor, unit: Factor) -> bool:
    of_unit = np.zeros(len(unit.levels), dtype=np.int64)
    of_unit[unit.codes] = factor.codes
    return bool((of_unit[unit.codes] == factor.codes).all())


def _as_text(loads: LoadMeans) -> str:
    count = len(np.unique(loads.unit.codes))
    sides = [
        f"{', '.join(factor.name for factor in factors)} {verb}"
        for factors, verb in ((loads.between, "differs between them"), (loads.within, "changes on them"))
        if factors
    ]
    return (
        f"{loads.runs} runs on {count} loads (column {loads.unit.name}): {', '.join(sides)}; repetitions on a load are "
        "averaged, for they are no replications"
    )


@dataclass(frozen=True)
class SplitPlot:
    """The analysis of LoadMeans with factors in both strata, or within loads only.

    means: of all cells; their covariance assumes values of unit variance. ms_between, df_between: mean
    square of the loads' means. ms_within, df_within: error within loads. own: cells x values, the weights of each mean.
    load: cells x loads, the sum of the weights on each load. share: the factor of ms_within in ms_between.
    """

    anova: Anova
    means: CellMeans
    ms_between: float
    df_between: int
    ms_within: float
    df_within: int
    own: FloatArray
    load: FloatArray
    share: float

    @property
    def variance_of_a_value(self) -> float:
        """Variance of one value on one load: between and within loads."""
        return max(0.0, self.ms_between - self.share * self.ms_within) + self.ms_within

    def estimates(self, margin: Margin) -> Estimates:
        """Returns the margin's means and their errors, combined from both mean squares."""
        load, own = margin.weights @ self.load, margin.weights @ self.own
        between = load @ load.T
        within = own @ own.T - self.share * between
        covariance = between * self.ms_between + within * self.ms_within
        return Estimates(
            mean=margin.weights @ self.means.mean,
            covariance=covariance,
            df=self._satterthwaite(np.diagonal(between), np.diagonal(within)),
            pair_df=self._satterthwaite(_of_differences(between), _of_differences(within)),
        )

    def _satterthwaite(self, between: FloatArray, within: FloatArray) -> FloatArray:
        """Returns df of between x ms_between + within x ms_within; coefficients within rounding error count as 0."""
        parts = [
            (np.where(np.abs(c) < 1e-9 * self.means.n.size, 0.0, c) * ms, df)
            for c, ms, df in (
                (between, self.ms_between, self.df_between),
                (within, self.ms_within, self.df_within),
            )
        ]
        total = sum(part for part, _ in parts)
        spread = sum(part**2 / df for part, df in parts)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(spread > 0, total**2 / spread, float(self.df_within))


def _of_differences(covariance: FloatArray) -> FloatArray:
    variance = np.diagonal(covariance)
    return np.asarray(variance[:, None] + variance - 2 * covariance, dtype=np.float64)


def split_plot(loads: LoadMeans, *, ss_type: SsType = SsType.II) -> SplitPlot:
    """Analyses the data with the load as error unit. Raises DataError for too few loads and for a cell without runs."""
    cells, member = cells_of(loads.factors)
    possible = math.prod(len(factor.levels) for factor in loads.factors)
    if len(cells) < possible:
        raise DataError(
            f"{possible - len(cells)} of {possible} cells have no data, and a split plot averages over cells: analyse "
            "by the factor whose levels are not all there, or leave the sparse level out"
        )
    whole, whole_of_row = cells_of(loads.between) if loads.between else ([()], np.zeros(len(member), dtype=np.int64))
    units, unit_of_row = np.unique(loads.unit.codes, return_inverse=True)
    unit_of_row = unit_of_row.reshape(-1)
    first = np.array([int(np.flatnonzero(unit_of_row == at)[0]) for at in range(len(units))])
    load_mean, deviation = _effects(loads, cells, member, whole_of_row, unit_of_row)
    between = [Factor(f.name, f.levels, f.codes[first]) for f in loads.between]
    block = Factor(loads.block.name, loads.block.levels, loads.block.codes[first]) if loads.block else None
    average, projector, df_between = _between(whole_of_row[first], len(whole), block, loads)

    mean_of_load = load_mean @ loads.y
    ms_between = float(mean_of_load @ projector @ mean_of_load) / df_between
    share = float(np.trace(projector @ load_mean @ load_mean.T)) / df_between
    whole_of_cell = whole_of_row[np.array([int(np.flatnonzero(member == c)[0]) for c in range(len(cells))])]
    own = average[whole_of_cell] @ load_mean + deviation
    table, residuals = _table(loads, mean_of_load, between, block, unit_of_row, ss_type, (ms_between, df_between))
    means = CellMeans(
        names=tuple(factor.name for factor in loads.factors),
        cells=tuple(cells),
        member=member,
        n=np.bincount(member).astype(np.int64),
        mean=own @ loads.y,
        covariance=own @ own.T,
        residuals=residuals,
    )
    return SplitPlot(
        table, means, ms_between, df_between, table.error_ms, table.error_df, own, average[whole_of_cell], share
    )


def _effects(
    loads: LoadMeans, cells: Sequence[tuple[str, ...]], member: IntArray, whole: IntArray, unit: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Returns weights of each load's mean over its possible cells, and of each cell's deviation from that mean."""
    rows = len(member)
    load_mean, deviation = np.zeros((int(unit.max()) + 1, rows)), np.zeros((len(cells), rows))
    for one in np.unique(whole):
        chosen = np.flatnonzero(whole == one)
        own_units, own_cells = np.unique(unit[chosen]), np.unique(member[chosen])
        columns = np.hstack(
            [unit[chosen, None] == own_units[None, :], member[chosen, None] == own_cells[None, :]]
        ).astype(np.float64)
        if np.linalg.matrix_rank(columns) < columns.shape[1] - 1:
            raise DataError(
                f"some cells never share a {loads.unit.name} with the others, so the effects of loads and cells "
                "cannot be separated; leave out the level that ran on separate loads"
            )
        solve = np.linalg.pinv(columns)
        by_unit, by_cell = solve[: own_units.size], solve[own_units.size :]
        load_mean[np.ix_(own_units, chosen)] = by_unit + by_cell.mean(axis=0)
        deviation[np.ix_(own_cells, chosen)] = by_cell - by_cell.mean(axis=0)
    return load_mean, deviation


def _between(whole: IntArray, count: int, block: Factor | None, loads: LoadMeans) -> tuple[FloatArray, FloatArray, int]:
    """Returns the weights over the loads of each between-load mean, the projector on the error, and its df."""
    columns = np.hstack([np.eye(count)[whole], *([block.contrasts()] if block else [])])
    if np.linalg.matrix_rank(columns) < columns.shape[1]:
        raise DataError(
            f"block {block.name if block else ''} is confounded with the factors that differ between loads; analyse "
            "without the block"
        )
    solve = np.linalg.pinv(columns)
    df = columns.shape[0] - columns.shape[1]
    if df < 1:
        names = " x ".join(factor.name for factor in loads.between) or "the experiment"
        blocks = f" and {len(block.levels)} blocks" if block else ""
        raise DataError(
            f"{columns.shape[0]} loads for {count} combinations of {names}{blocks} leave nothing to estimate the error "
            "between loads from, and repetitions on one load are not replications: load each combination at least twice"
        )
    return solve[:count], np.eye(len(whole)) - columns @ solve, df


def _table(
    loads: LoadMeans,
    mean_of_load: FloatArray,
    between: Sequence[Factor],
    block: Factor | None,
    unit: IntArray,
    ss_type: SsType,
    error_between: tuple[float, int],
) -> tuple[Anova, FloatArray]:
    """Returns the table in two strata, on the scale of single values, and the residuals within loads."""
    names = {factor.name for factor in loads.within}
    dummies = np.eye(int(unit.max()) + 1)[unit]
    terms = [term for term in terms_of(loads.factors) if term.names & names]
    full = basis([dummies, *(term.columns for term in terms)])
    centred = loads.y - loads.y.mean()
    residuals = centred - full @ (full.T @ centred)
    df = loads.y.size - full.shape[1]
    ss_total, ss_error = float(centred @ centred), float(residuals @ residuals)
    if df < 1 or ss_error <= loads.y.size * (64 * np.finfo(float).eps * float(np.abs(loads.y).max())) ** 2:
        raise DataError(
            f"nothing varies within the {loads.unit.name}s beside the factors: no error to test them against"
        )
    per_load = math.prod(len(factor.levels) for factor in loads.within)
    error, error_name = f"residual within {loads.unit.name}", f"residual between {loads.unit.name}"
    ms_between, df_between = error_between[0] * per_load, error_between[1]
    rows, notes = _rows_between(mean_of_load, between, block, ss_type, per_load, ss_total, error_name)
    for index, term in enumerate(terms):
        others = adjusted_for(index, terms, ss_type)
        ss, term_df = added(basis([dummies, *(other.columns for other in others)]), term.columns, centred)
        rows.append(row_of(term.source, ss, term_df, ss_total, ss_error / df, df, error))
    if loads.y.size < len(dummies[0]) * per_load:
        possible = dummies.shape[1] * per_load
        notes.append(
            f"{possible - loads.y.size} of {possible} combinations of load and cell have no run: type "
            f"{ss_type} sums of squares, and tests between loads are approximate"
        )
    return Anova(
        rows=tuple(rows),
        between=AnovaRow(
            error_name, df_between, ms_between * df_between, ms_between, None, None,
            ms_between * df_between / ss_total, None,
        ),
        residual=AnovaRow(error, df, ss_error, ss_error / df, None, None, ss_error / ss_total, None),
        total=AnovaRow(TOTAL, loads.y.size - 1, ss_total, None, None, None, 1.0, None),
        error_ms=ss_error / df,
        error_df=df,
        ss_type=ss_type,
        notes=tuple(notes),
    ), residuals  # fmt: skip


def _rows_between(
    mean_of_load: FloatArray,
    between: Sequence[Factor],
    block: Factor | None,
    ss_type: SsType,
    per_load: int,
    ss_total: float,
    error: str,
) -> tuple[list[AnovaRow], list[str]]:
    """Returns the rows of the factors that differ between loads, from the loads' means, and their notes."""
    if not between:
        return [], []
    table = anova(mean_of_load, between, block=block, ss_type=ss_type)
    rows = [
        row_of(
            row.source, (row.ss or 0.0) * per_load, row.df, ss_total, table.error_ms * per_load, table.error_df, error
        )
        for row in table.rows
    ]
    return rows, list(table.notes)
