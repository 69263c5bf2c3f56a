"""Linear regression per group, such as energy on time.

The slope is the mean power of the group in watts when energy is in joules and time in seconds. Source: D. C.
Montgomery, Design and Analysis of Experiments, 8th ed., ch. 10 and 15.3 (analysis of covariance); comparisons of lines
by nested models with the error of the full one, as lm and anova in R.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from edgejoule.dictionary.responses import nearest
from edgejoule.errors import DataError, UsageError
from edgejoule.stats.anova import basis
from edgejoule.stats.factor import Factor, cells_of
from edgejoule.stats.observations import as_numbers, by_position, complete_rows, with_equal_levels
from edgejoule.stats.scale import FloatArray

Limits = tuple[float, float]


@dataclass(frozen=True)
class Line:
    """y = intercept + slope x of one group. ci: 95 %, from the group's residuals; None for two points.

    r2: squared correlation; None if y is constant. residual_sd: None for two points.
    """

    levels: dict[str, str]
    n: int
    slope: float
    slope_ci: Limits | None
    intercept: float
    intercept_ci: Limits | None
    r2: float | None
    residual_sd: float | None
    x_min: float
    x_max: float


@dataclass(frozen=True)
class LineTest:
    """The F test of a hypothesis that the groups' lines agree."""

    name: str
    df1: int
    df2: int
    f: float
    p: float


@dataclass(frozen=True)
class Regression:
    """One line per group, and tests of their equality.

    tests: equal slopes; equal intercepts, whatever the slopes; equal intercepts of parallel lines (analysis of
    covariance, with the error of parallel lines); one common line. A test without error df is left out. Empty for one
    group.
    """

    y: str
    x: str
    factors: tuple[str, ...]
    n: int
    lines: tuple[Line, ...]
    tests: tuple[LineTest, ...]
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, object]:
        """Returns {"y", "x", "lines": [...], "tests": [...]}; a missing figure is null."""
        return {
            "y": self.y,
            "x": self.x,
            "factors": list(self.factors),
            "n": self.n,
            "lines": [
                {
                    "levels": dict(line.levels),
                    "n": line.n,
                    "slope": line.slope,
                    "slope_ci95": line.slope_ci and list(line.slope_ci),
                    "intercept": line.intercept,
                    "intercept_ci95": line.intercept_ci and list(line.intercept_ci),
                    "r2": line.r2,
                    "residual_sd": line.residual_sd,
                    "x_min": line.x_min,
                    "x_max": line.x_max,
                }
                for line in self.lines
            ],
            "tests": [{"name": t.name, "df1": t.df1, "df2": t.df2, "F": t.f, "p": t.p} for t in self.tests],
            "notes": list(self.notes),
        }


def regression(
    table: Mapping[str, Sequence[object]],
    y: str,
    x: str,
    factors: Sequence[str],
    *,
    modelled: bool | None = None,
    repeated: Sequence[str] = (),
) -> Regression:
    """Fits lines of column y on column x, one for each combination of levels of `factors`.

    repeated: columns such as the load; rows with equal levels of these and of `factors` are averaged to one point,
    because repetitions on one load are no replications.
    Raises UsageError for modelled values (default: a name that ends in ".modelled"): a model computes energy from time,
    so the correlation is near 1 by construction. Raises DataError if a group has too few points.
    """
    if modelled or (modelled is None and (y.endswith(".modelled") or x.endswith(".modelled"))):
        raise UsageError(
            f"no line through modelled values: {y} on {x} would have R² near 1 by construction, for the model computes "
            "energy from time; measure or count the energy"
        )
    more = [name for name in repeated if name not in factors]
    for name in (y, x, *factors, *more):
        if name not in table:
            raise UsageError(f"no column {name!r}; {nearest(name, table)}")
    if y == x:
        raise UsageError(f"a line of {y} on itself is trivial; name another column")
    columns = by_position(table, [y, x, *factors, *more])
    table, merged = with_equal_levels(columns, [*factors, *more])
    rows, dropped = complete_rows(table, [y, x, *factors, *more])
    notes = [*dropped, *merged]
    ys, xs = as_numbers(table[y], rows, y), as_numbers(table[x], rows, x)
    grouping = [Factor.of(name, [table[name][row] for row in rows]) for name in factors]
    if more:
        others = [Factor.of(name, [table[name][row] for row in rows]) for name in more]
        ys, xs, grouping = _averaged(ys, xs, grouping, others)
        notes.append(f"{len(rows)} runs averaged to {ys.size} points, one for each {' x '.join(repeated)}")
    cells, member = cells_of(grouping) if grouping else ([()], np.zeros(ys.size, dtype=np.int64))
    lines = tuple(
        _line(xs[member == at], ys[member == at], dict(zip(factors, cell, strict=True)), x)
        for at, cell in enumerate(cells)
    )
    tests = _tests(xs, ys, np.eye(len(cells))[member]) if len(cells) > 1 else ()
    return Regression(y, x, tuple(factors), int(ys.size), lines, tests, tuple(notes))


def _averaged(
    y: FloatArray, x: FloatArray, grouping: Sequence[Factor], others: Sequence[Factor]
) -> tuple[FloatArray, FloatArray, list[Factor]]:
    """Averages y and x to one point for each combination of all levels."""
    _, member = cells_of([*grouping, *others])
    n = np.bincount(member)
    first = np.unique(member, return_index=True)[1]
    short = [Factor(factor.name, factor.levels, factor.codes[first]) for factor in grouping]
    return np.bincount(member, weights=y) / n, np.bincount(member, weights=x) / n, short


def _line(x: FloatArray, y: FloatArray, levels: dict[str, str], name: str) -> Line:
    where = ", ".join(f"{factor} {level}" for factor, level in levels.items()) or "the data"
    if x.size < 2 or float(np.ptp(x)) == 0:
        raise DataError(f"{where}: a line needs two different values of {name}, got {len(np.unique(x))}")
    dx, dy = x - x.mean(), y - y.mean()
    sxx = float(dx @ dx)
    slope = float(dx @ dy) / sxx
    rest = dy - slope * dx
    df = x.size - 2
    sd = math.sqrt(float(rest @ rest) / df) if df > 0 else None
    intercept = float(y.mean()) - slope * float(x.mean())
    reach = float(special.stdtrit(df, 0.975)) * sd if sd is not None else None
    at_zero = math.sqrt(1 / x.size + float(x.mean()) ** 2 / sxx)
    return Line(
        levels=levels,
        n=int(x.size),
        slope=slope,
        slope_ci=_around(slope, reach and reach / math.sqrt(sxx)),
        intercept=intercept,
        intercept_ci=_around(intercept, reach and reach * at_zero),
        r2=float(dx @ dy) ** 2 / (sxx * float(dy @ dy)) if float(dy @ dy) > 0 else None,
        residual_sd=sd,
        x_min=float(x.min()),
        x_max=float(x.max()),
    )


def _around(centre: float, reach: float | None) -> Limits | None:
    return None if reach is None else (centre - reach, centre + reach)


def _tests(x: FloatArray, y: FloatArray, group: FloatArray) -> tuple[LineTest, ...]:
    spread = float(np.ptp(x))
    one, slopes = np.ones((x.size, 1)), group * (x / spread)[:, None]
    common = (x / spread)[:, None]
    full, parallel = _deviance([group, slopes], y), _deviance([group, common], y)
    line = _deviance([one, common], y)
    tests = [
        _nested("equal slopes", parallel, full),
        _nested("equal intercepts, whatever the slopes", _deviance([one, slopes], y), full),
        _nested("equal intercepts of parallel lines", line, parallel),
        _nested("one common line", line, full),
    ]
    return tuple(test for test in tests if test is not None)


def _deviance(columns: list[FloatArray], y: FloatArray) -> tuple[float, int]:
    """Returns the residual sum of squares and its df."""
    span = basis(columns)
    centred = y - y.mean()  # every model includes the constant
    rest = centred - span @ (span.T @ centred)
    return float(rest @ rest), y.size - span.shape[1]


def _nested(name: str, small: tuple[float, int], large: tuple[float, int]) -> LineTest | None:
    df1, df2 = small[1] - large[1], large[1]
    if df1 < 1 or df2 < 1 or large[0] <= 0:
        return None
    f = (small[0] - large[0]) / df1 / (large[0] / df2)
    return LineTest(name, df1, df2, f, float(special.fdtrc(df1, df2, f)))
