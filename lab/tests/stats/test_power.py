"""The smallest ratio that a design shows."""

from __future__ import annotations

import math
import random

import pytest

from edgejoule.errors import DataError
from edgejoule.stats.power import pooled_spread, smallest_ratio, spread_of


@pytest.mark.parametrize(
    ("replications", "power", "delta"),
    [(20, 0.8689528, 1.0), (17, 0.8070367, 1.0), (5, 0.8, 2.024439)],
)
def test_two_groups_agree_with_power_t_test_of_r(replications: int, power: float, delta: float) -> None:
    """power.t.test(n, delta, sd = 1); the studentized range of two groups is Student's t."""
    ratio = smallest_ratio(1.0, replications, 2, power=power, blocks=False)
    assert math.log(ratio) == pytest.approx(delta, rel=1e-5)


def test_more_replications_show_smaller_differences_and_more_groups_larger_ones() -> None:
    assert smallest_ratio(0.1, 3, 4) > smallest_ratio(0.1, 5, 4) > smallest_ratio(0.1, 10, 4) > 1
    assert smallest_ratio(0.1, 5, 4, blocks=False) < smallest_ratio(0.1, 5, 8, blocks=False)
    assert smallest_ratio(0.0, 5, 4) == 1


@pytest.mark.parametrize(("replications", "groups"), [(1, 2), (5, 1)])
def test_a_design_without_comparison_or_error_has_none(replications: int, groups: int) -> None:
    with pytest.raises(DataError, match="2 replications of 2 groups"):
        smallest_ratio(0.1, replications, groups)


def test_the_spread_within_cells_is_pooled_and_free_of_their_means() -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    groups = [[mean * math.exp(rng.gauss(0, 0.2)) for _ in range(4000)] for mean in (1.0, 50.0)]
    spread = pooled_spread([*groups, [7.0], [0.0, 1.0]])
    assert spread == pytest.approx(0.2, rel=0.06)
    assert pooled_spread([[1.0], [0.0, 2.0]]) is None
    assert spread_of(0.1) == pytest.approx(0.1, rel=0.01)
