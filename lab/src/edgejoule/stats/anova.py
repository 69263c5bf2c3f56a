"""Analysis of variance: k factors, fixed effects, all interactions, an optional additive block.

Sources: D. C. Montgomery, Design and Analysis of Experiments, 8th ed., ch. 4 (blocks), ch. 5 (factorials) and 15.2
(unbalanced data); F. Yates (1934), Ø. Langsrud, Statistics and Computing 13 (2003), for sums of squares of type II;
S. Olejnik and J. Algina, Psychological Methods 8 (2003), for omega squared.

Types of sums of squares agree on balanced data. Unbalanced:
- II (default): a term adjusted for every term that does not contain it; the most powerful test of a main effect when
  its interactions are absent, and independent of the order of the factors. As car::Anova in R.
- I: sequential, in the order block, main effects, interactions as the factors are named. As anova() in R.
- III: a term adjusted for all others under sum-to-zero coding; needs every cell filled. As SAS.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations

import numpy as np
from scipy import special

from edgejoule.errors import DataError
from edgejoule.stats.factor import Factor, cells_of, combinations_of, interaction_columns, require_observations
from edgejoule.stats.scale import FloatArray

RESIDUAL = "residual"
TOTAL = "total"
_COLUMNS_MAX = 1500
_RANK_TOLERANCE = 1e-9


class SsType(StrEnum):
    """Type of the sums of squares, see the module."""

    I = "I"  # noqa: E741 - the field's own name
    II = "II"
    III = "III"


@dataclass(frozen=True)
class AnovaRow:
    """One source of variation.

    eta2: share of the total variation, ss / ss_total. omega2: bias-corrected share, (ss - df ms_error) / (ss_total +
    ms_error); not clamped, so a source without effect scatters around 0. None: not defined for the row, or not
    estimable (df 0). error: the source of the error term that tests the row, if there are several error terms.
    """

    source: str
    df: int
    ss: float | None
    ms: float | None
    f: float | None
    p: float | None
    eta2: float | None
    omega2: float | None
    error: str | None = None


@dataclass(frozen=True)
class Anova:
    """The table of an analysis of variance. The error term is the residual of the full model.

    rows: block (if any), main effects, interactions. between: the error between loads in a split plot, else None; it
    tests the rows whose `error` names it.
    """

    rows: tuple[AnovaRow, ...]
    residual: AnovaRow
    total: AnovaRow
    error_ms: float
    error_df: int
    ss_type: SsType
    notes: tuple[str, ...]
    between: AnovaRow | None = None

    @property
    def table(self) -> tuple[AnovaRow, ...]:
        """All rows, each error after the rows that it tests, the total last."""
        if self.between is None:
            return (*self.rows, self.residual, self.total)
        above = [row for row in self.rows if row.error == self.between.source]
        below = [row for row in self.rows if row.error != self.between.source]
        return (*above, self.between, *below, self.residual, self.total)


@dataclass(frozen=True)
class Term:
    """A source of variation and its contrast columns, one row per observation."""

    source: str
    names: frozenset[str]
    columns: FloatArray


@dataclass(frozen=True)
class _Summary:
    """Mean and count of the observations that share all levels: sufficient for the fit."""

    mean: FloatArray
    weight: FloatArray
    ss_within: float
    factors: tuple[Factor, ...]
    block: Factor | None


def anova(
    y: FloatArray, factors: Sequence[Factor], *, block: Factor | None = None, ss_type: SsType = SsType.II
) -> Anova:
    """Fits the full factorial model plus `block` without interactions.

    y and the factors' codes have equal length and no missing value; each factor has two levels or more. Raises
    DataError for constant data and for data that leave no degree of freedom for the error.
    """
    require_observations(y, [*factors, *([block] if block else [])])
    _refuse_thin_data(y, factors, block)
    summary = _summarise(y, factors, block)
    terms = terms_of(summary.factors, summary.block)
    root_weight = np.sqrt(summary.weight)
    ss_total = float(((y - y.mean()) ** 2).sum())
    response = root_weight * (summary.mean - y.mean())
    intercept = root_weight[:, None]
    weighted = [Term(t.source, t.names, t.columns * intercept) for t in terms]

    full = basis([intercept, *(t.columns for t in weighted)])
    rest = response - full @ (full.T @ response)
    ss_error = summary.ss_within + float(rest @ rest)
    error_df = y.size - full.shape[1]
    if error_df < 1:
        raise DataError(_no_replication(y, factors, block))
    if ss_error <= y.size * (64 * np.finfo(float).eps * float(np.abs(y).max())) ** 2:
        raise DataError("replications are identical in every cell, so nothing estimates the error: no test is possible")
    error_ms = ss_error / error_df

    empty = _empty_cells(factors)
    if empty and ss_type is SsType.III:
        raise DataError(f"type III sums of squares need every cell filled, and {empty} have no data; use type II")
    rows: list[AnovaRow] = []
    reduced: list[str] = []
    for index, term in enumerate(weighted):
        others = adjusted_for(index, weighted, ss_type)
        ss, df = added(basis([intercept, *(t.columns for t in others)]), term.columns, response)
        if df < term.columns.shape[1]:
            reduced.append(f"{term.source} has {df} of {term.columns.shape[1]}")
        rows.append(row_of(term.source, ss, df, ss_total, error_ms, error_df))
    return Anova(
        rows=tuple(rows),
        residual=AnovaRow(RESIDUAL, error_df, ss_error, error_ms, None, None, ss_error / ss_total, None),
        total=AnovaRow(TOTAL, y.size - 1, ss_total, None, None, None, 1.0, None),
        error_ms=error_ms,
        error_df=error_df,
        ss_type=ss_type,
        notes=_notes(factors, block, empty, reduced, ss_type),
    )


def _refuse_thin_data(y: FloatArray, factors: Sequence[Factor], block: Factor | None) -> None:
    for factor in [*factors, *([block] if block else [])]:
        if len(factor.levels) < 2:
            raise DataError(f"{factor.name} has one level only ({factor.levels[0]}): nothing to compare")
    if float(np.ptp(y)) <= 64 * np.finfo(float).eps * float(np.abs(y).max()):
        raise DataError(f"all {y.size} values of the response are equal: there is no variation to analyse")
    cells, _ = cells_of(factors)
    if block is None and y.size <= len(cells):
        raise DataError(_no_replication(y, factors, block))
    columns = math.prod(len(factor.levels) for factor in factors)
    if columns > _COLUMNS_MAX:
        widest = max(factors, key=lambda factor: len(factor.levels))
        raise DataError(
            f"the factors span {columns} cells, more than {_COLUMNS_MAX}: {widest.name} has {len(widest.levels)} "
            "levels; is it an identifier or a measured value rather than a factor?"
        )


def _no_replication(y: FloatArray, factors: Sequence[Factor], block: Factor | None) -> str:
    cells, _ = cells_of(factors)
    blocks = f" and {len(block.levels)} blocks" if block else ""
    return (
        f"{y.size} values in {len(cells)} cells{blocks} leave no degree of freedom to estimate the error from: "
        "at least one cell needs a second replication"
    )


def _summarise(y: FloatArray, factors: Sequence[Factor], block: Factor | None) -> _Summary:
    every = [*factors, *([block] if block else [])]
    unique, inverse = combinations_of(every)
    weight = np.bincount(inverse).astype(np.float64)
    mean = np.bincount(inverse, weights=y - y.mean()) / weight + y.mean()
    short = [Factor(f.name, f.levels, unique[:, column]) for column, f in enumerate(every)]
    return _Summary(
        mean=mean,
        weight=weight,
        ss_within=float(((y - mean[inverse]) ** 2).sum()),
        factors=tuple(short[: len(factors)]),
        block=short[-1] if block else None,
    )


def terms_of(factors: Sequence[Factor], block: Factor | None = None) -> list[Term]:
    """Returns the block, then all main effects and interactions of the factors."""
    terms = []
    if block:
        terms.append(Term(block.name, frozenset([block.name]), block.contrasts()))
    for order in range(1, len(factors) + 1):
        for chosen in combinations(factors, order):
            names = [factor.name for factor in chosen]
            terms.append(Term(":".join(names), frozenset(names), interaction_columns(chosen)))
    return terms


def adjusted_for(index: int, terms: Sequence[Term], ss_type: SsType) -> list[Term]:
    """Returns the terms for which terms[index] is adjusted, by the type of the sum of squares."""
    if ss_type is SsType.I:
        return list(terms[:index])
    others = [term for position, term in enumerate(terms) if position != index]
    if ss_type is SsType.II:
        return [term for term in others if not term.names >= terms[index].names]
    return others


def basis(blocks: Sequence[FloatArray]) -> FloatArray:
    """Returns orthonormal columns that span all columns of `blocks`."""
    columns = np.hstack(blocks)
    left, singular, _ = np.linalg.svd(columns, full_matrices=False)
    return np.asarray(left[:, singular > _RANK_TOLERANCE * singular[0]], dtype=np.float64)


def added(base: FloatArray, columns: FloatArray, response: FloatArray) -> tuple[float, int]:
    """Returns sum of squares and degrees of freedom that `columns` add to the span of the orthonormal `base`."""
    rest = columns - base @ (base.T @ columns)
    rest -= base @ (base.T @ rest)  # a second pass for columns that lie almost in the base
    left, singular, _ = np.linalg.svd(rest, full_matrices=False)
    directions = left[:, singular > _RANK_TOLERANCE * np.linalg.norm(columns, 2)]
    return float(((directions.T @ response) ** 2).sum()), int(directions.shape[1])


def row_of(
    source: str, ss: float, df: int, ss_total: float, error_ms: float, error_df: int, error: str | None = None
) -> AnovaRow:
    """Builds a source's row from its sum of squares and the error that tests it."""
    if df == 0:
        return AnovaRow(source, 0, None, None, None, None, None, None, error)
    ms = ss / df
    f = ms / error_ms
    omega2 = (ss - df * error_ms) / (ss_total + error_ms)
    return AnovaRow(source, df, ss, ms, f, float(special.fdtrc(df, error_df, f)), ss / ss_total, omega2, error)


def _empty_cells(factors: Sequence[Factor]) -> str:
    cells, _ = cells_of(factors)
    possible = math.prod(len(factor.levels) for factor in factors)
    return f"{possible - len(cells)} of {possible} cells" if len(cells) < possible else ""


def is_balanced(factors: Sequence[Factor], block: Factor | None) -> bool:
    """Returns whether every combination of levels and block has the same number of observations."""
    every = [*factors, *([block] if block else [])]
    cells, inverse = cells_of(every)
    counts = np.bincount(inverse)
    return len(cells) == math.prod(len(f.levels) for f in every) and bool(counts.min() == counts.max())


def _notes(
    factors: Sequence[Factor], block: Factor | None, empty: str, reduced: list[str], ss_type: SsType
) -> tuple[str, ...]:
    notes = []
    if not is_balanced(factors, block):
        notes.append(f"unbalanced data: type {ss_type} sums of squares, which need not add up to the total")
    if empty:
        notes.append(f"{empty} have no data")
    if reduced:
        notes.append("degrees of freedom that the data can estimate: " + ", ".join(reduced))
    return tuple(notes)
