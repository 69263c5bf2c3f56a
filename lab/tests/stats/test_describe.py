"""Figures of one group."""

from __future__ import annotations

import math

import pytest
from scipy import stats

from edgejoule.errors import DataError
from edgejoule.stats import Scale, analyse, describe

VALUES = [4.0, 1.0, 2.0, 8.0, 16.0]


def test_raw_figures_and_the_t_interval() -> None:
    summary = describe(VALUES)
    expected = stats.t.interval(0.95, 4, loc=6.2, scale=stats.sem(VALUES))
    assert (summary.n, summary.median, summary.min, summary.max) == (5, 4.0, 1.0, 16.0)
    assert summary.mean == pytest.approx(6.2)
    assert summary.ci95 == pytest.approx(expected)
    assert summary.ci95_ratio is None


def test_log_figures_are_geometric_and_the_interval_is_a_ratio_too() -> None:
    summary = describe(VALUES, scale=Scale.LOG)
    assert summary.mean == pytest.approx(4.0)
    assert summary.ci95 is not None
    assert summary.ci95_ratio is not None
    assert summary.ci95[0] * summary.ci95[1] == pytest.approx(16.0)
    assert summary.ci95_ratio[1] == pytest.approx(summary.ci95[1] / 4)
    assert summary.sd == pytest.approx(2 ** math.sqrt(2.5))


def test_the_error_of_a_model_replaces_the_own_spread() -> None:
    summary = describe(VALUES, error=(9.0, 20))
    reach = float(stats.t.ppf(0.975, 20)) * math.sqrt(9 / 5)
    assert summary.ci95 == pytest.approx((6.2 - reach, 6.2 + reach))


def test_one_value_has_no_interval() -> None:
    summary = describe([3.0])
    assert (summary.sd, summary.ci95) == (None, None)
    assert describe([3.0], error=(1.0, 5)).ci95 is not None


def test_values_without_a_logarithm_are_refused_with_their_number() -> None:
    with pytest.raises(DataError, match=r"energy_j: 2 of 3 values are zero or negative .*raw scale"):
        describe([1.0, 0.0, -2.0], scale=Scale.LOG, response="energy_j")


def test_no_values_and_nan_are_refused() -> None:
    with pytest.raises(DataError, match="finite"):
        describe([])
    with pytest.raises(DataError, match="1 bad"):
        describe([1.0, math.nan])


def test_values_whose_squares_overflow_are_refused() -> None:
    table = {"y": [1e308, -1e308, 1e307, 2.0], "a": ["x", "x", "z", "z"]}
    with pytest.raises(DataError, match="too large"):
        analyse(table, "y", ["a"], scale=Scale.RAW)
