"""The studentized range: against scipy's own, slower one, and against a closed form."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from edgejoule.stats.studentized_range import critical_value, upper_tail


@pytest.mark.parametrize(("groups", "df"), [(2, 1), (3, 2), (3, 27), (6, 48), (10, 8), (12, 11), (12, 12), (60, 240)])
def test_tail_and_quantile_agree_with_scipy(groups: int, df: int) -> None:
    q = np.array([0.05, 0.7, 2.0, 3.5, 6.0, 10.0])
    expected = stats.studentized_range.sf(q, groups, df)
    assert np.max(np.abs(upper_tail(q, groups, df) - expected)) < 1e-11
    for alpha in (0.2, 0.05, 0.001):
        back = float(stats.studentized_range.sf(critical_value(alpha, groups, df), groups, df))
        assert back == pytest.approx(alpha, rel=1e-9)


@pytest.mark.parametrize("df", [1, 4, 11, 12, 30, 1000])
def test_two_groups_are_students_t_far_into_the_tail(df: int) -> None:
    q = np.array([0.1, 1.0, 4.0, 9.0])
    expected = 2 * stats.t.sf(q / np.sqrt(2), df)
    assert np.max(np.abs(upper_tail(q, 2, df) / expected - 1)) < 1e-8


def test_a_difference_of_zero_has_p_of_one() -> None:
    assert upper_tail(np.array([0.0]), 7, 20)[0] == pytest.approx(1.0, abs=1e-12)


def test_one_group_has_no_range() -> None:
    with pytest.raises(ValueError, match="groups >= 2"):
        upper_tail(np.array([1.0]), 1, 5)
