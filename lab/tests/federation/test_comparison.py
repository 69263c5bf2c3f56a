"""Rounds in an order, effects with intervals, and what is said of them."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from edgejoule.federation import Energy, Fill, Filled
from edgejoule.federation.comparison import QUANTITIES, SERVERS, Comparison, Round, plan
from edgejoule.federation.page import page, spread
from edgejoule.federation.words import caveats, headline, statements

THROUGHPUT, STALLED, MARGINAL, TOTAL = QUANTITIES


def a_round(
    policy: str, number: int, ops_s: float, *, stall_s: float = 1.0, cpu_s: float = 2.0, jobs: int = 3
) -> Round:
    offloaded = {} if policy == "local" else {"medium": jobs}
    filled = Filled(ops_s, 1000 / ops_s, stall_s, offloaded, 1, 0, 1e6, 2e6, {"low": 5e6} if offloaded else {})
    energies = {s.name: Energy(cpu_s, cpu_s * s.busy_core_w, 0.1, s.idle_w * 1000 / ops_s) for s in SERVERS}
    return Round(policy, number, 1000, filled, energies)


def a_comparison(local: Sequence[float], eco: Sequence[float], **more: float) -> Comparison:
    rounds = [a_round("local", 0, 1.0)]
    for number, (a, b) in enumerate(zip(local, eco, strict=True), 1):
        rounds += [a_round("eco", number, b, **more), a_round("local", number, a)]
    return Comparison(SERVERS, Fill(), ["local", "eco"], rounds, 1, 2, "signals", "loopback", 0.02)


def test_the_models_learn_of_each_server_before_each_round_has_its_own_order() -> None:
    policies = ["local", "edgepilot", "eco", "eco-plus"]
    turns = list(plan(policies, SERVERS, 6, seed=3))
    assert turns[:3] == [(0, "local"), (0, "static:medium"), (0, "static:high")]
    orders = [[policy for number, policy in turns if number == round_] for round_ in range(1, 7)]
    assert all(sorted(order) == sorted(policies) for order in orders)
    assert len({tuple(order) for order in orders}) > 1
    assert turns == list(plan(policies, SERVERS, 6, seed=3)), "the same seed gives the same order"


def test_an_effect_is_that_of_a_paired_t_test_on_logarithms() -> None:
    local, eco = [100.0, 120.0, 80.0, 110.0], [118.0, 131.0, 100.0, 121.0]
    effect = a_comparison(local, eco).effect("eco", THROUGHPUT)
    assert effect is not None
    oracle = stats.ttest_rel(np.log(eco), np.log(local)).confidence_interval(0.95)
    assert effect.low == pytest.approx(100 * (np.exp(oracle.low) - 1))
    assert effect.high == pytest.approx(100 * (np.exp(oracle.high) - 1))
    assert effect.told
    assert effect.better


def test_a_share_of_time_is_compared_by_difference_so_that_it_may_be_zero() -> None:
    effect = a_comparison([100, 101, 99], [100, 101, 99], stall_s=0).effect("eco", STALLED)
    assert effect is not None
    assert effect.mean == pytest.approx(-10)
    assert effect.told
    assert effect.better
    assert effect.words() == "−10 points (−10 to −10)"


def test_a_single_round_tells_nothing() -> None:
    one = a_comparison([100], [200])
    assert one.effect("eco", THROUGHPUT) is None
    assert "nothing can be told" in headline(one)


def test_what_is_better_worse_and_not_told_is_said() -> None:
    found = a_comparison([100, 110, 90], [120, 133, 109], cpu_s=3.0)
    assert headline(found) == "low writes more than with local compactions: 21 % under eco."
    ((policy, said),) = statements(found)
    assert policy == "eco"
    assert said.startswith("9 of 12 compactions of level 0 offloaded. Better: throughput +21 %")
    assert "Worse: writes stalled" in said
    assert "energy above idle +" in said
    noisy = a_comparison([100, 110, 90], [50, 133, 109])
    assert headline(noisy) == "No policy can be told from local by the throughput of low, with 3 rounds."
    assert "Not told from local: throughput" in statements(noisy)[0][1]


def test_a_policy_that_offloaded_nothing_is_given_no_effect() -> None:
    ((_, said),) = statements(a_comparison([100, 110, 90], [120, 133, 109], jobs=0))
    assert said.endswith("What sets it apart from local here is noise.")


def test_a_busy_machine_is_told() -> None:
    quiet = a_comparison([100, 110], [100, 110])
    assert not any("Other programs" in said for said in caveats(quiet))
    assert any("used 40 % of this machine" in said for said in caveats(replace(quiet, busy_by_others=0.4)))


def test_the_page_has_every_quantity_with_its_method_and_stands_alone() -> None:
    html = page(a_comparison([100, 110, 90], [120, 133, 109]))
    for quantity in QUANTITIES:
        assert quantity.title in html.lower()
    assert len(re.findall("<svg", html)) == len(QUANTITIES) + 2
    assert not re.search(r'(src|href)="(?!#)', html), "nothing is fetched"
    for joules in re.findall(r"[^<>]*µJ/op[^<>]*", html):
        assert "modelled" in joules


def test_the_page_of_a_single_round_is_drawn_without_effects() -> None:
    assert "Against local: mean" not in page(a_comparison([100], [200]))


def test_rounds_are_json_with_their_method() -> None:
    told = json.loads(json.dumps(a_comparison([100, 110], [120, 130]).to_json()))
    assert len(told["rounds"]) == 5
    assert {one["energy_method"] for one in told["rounds"]} == {"modelled"}
    assert told["rounds"][1]["offloaded"] == {"medium": 3}


def test_energies_with_idle_are_those_above_it_and_all_idle_watts_while_it_filled() -> None:
    one = a_round("eco", 1, 50)
    assert one.total_uj_per_op - one.marginal_uj_per_op == pytest.approx(1e6 * (8 + 18 + 30) * 20 / 1000)


def test_a_spread_is_median_least_and_most() -> None:
    assert spread([3, 1, 2], 1) == "2.0 (1.0–3.0)"
    assert spread([3], 0) == "3"
