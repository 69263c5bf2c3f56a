"""Lines, margins, precision, looks, order, A/A, distributions and the best; and the limits for modelled values."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from edgejoule.errors import DataError, UsageError
from edgejoule.stats import AnalysisBy, analyse, looks, regression, runs_needed, stein, verdict
from edgejoule.stats.aa import same_against_same, share_interval
from edgejoule.stats.autocorrelation import lag1
from edgejoule.stats.declared import DeclaredTest
from edgejoule.stats.distribution import distribution
from edgejoule.stats.effect_size import cliffs_delta
from edgejoule.stats.hsu import one_sided_dunnett

Columns = dict[str, list[object]]
TESTS = ["tukey", "games-howell", "kruskal-dunn-holm"]


def study(seed: int = 1, *, n: int = 8, name: str = "energy_j", ratio: float = 1.5) -> Columns:
    rng = np.random.default_rng(seed)
    costs = {"a": 10.0, "b": 10.0 * ratio, "c": 30.0}
    rows = [(cost * math.exp(rng.normal(0, 0.05)), level) for level, cost in costs.items() for _ in range(n)]
    return {name: [float(y) for y, _ in rows], "f": [level for _, level in rows], "run": [*range(len(rows))]}


@pytest.mark.parametrize("test", TESTS)
def test_the_declared_test_is_used_whatever_the_checks_say(test: str) -> None:
    skewed = study()
    skewed["energy_j"][0] = 5000.0
    result = analyse(skewed, "energy_j", ["f"], test=test)
    assert result.diagnostics.shapiro_wilk.p is not None
    assert result.diagnostics.shapiro_wilk.p < 0.001
    assert result.to_json()["test"] == test
    assert (result.omnibus is None) == (test == "tukey")
    json.dumps(result.to_json(), allow_nan=False)


@pytest.mark.parametrize("test", TESTS)
def test_letters_share_exactly_where_pairs_do_not_differ(test: str) -> None:
    for seed in range(10):
        result = analyse(study(seed, ratio=1.06), "energy_j", ["f"], test=test)
        letters = {group.levels["f"]: set(group.letters or "") for group in result.groups}
        for pair in result.pairs:
            assert bool(letters[pair.a["f"]] & letters[pair.b["f"]]) != pair.significant, seed


@pytest.mark.parametrize("test", TESTS)
def test_modelled_values_get_no_letters_by_any_test_and_are_never_the_same_or_the_best(test: str) -> None:
    margin = {} if test == "kruskal-dunn-holm" else {"margin": 2.0}
    table = study(name="energy_j.modelled")
    result = analyse(table, "energy_j.modelled", ["f"], test=test, precision=1.01, **margin)  # type: ignore[call-overload]
    assert {group.letters for group in result.groups} == {None}
    assert not any(pair.significant for pair in result.pairs)
    assert {pair.equivalent for pair in result.pairs} == {None}
    assert result.to_best == ()
    assert result.precision is None
    assert "modelled" in verdict(result)
    resolved = analyse(table, "energy_j.modelled", ["f"], test=test, min_ratio=1.77)
    differ = {(pair.a["f"], pair.b["f"]): pair.significant for pair in resolved.pairs}
    assert differ == {("b", "a"): False, ("c", "a"): True, ("c", "b"): True}


def test_no_line_goes_through_modelled_values() -> None:
    table: Columns = {"energy_j.modelled": [1.0, 2.0, 3.0], "settled_s": [1.0, 2.0, 3.0]}
    with pytest.raises(UsageError, match="near 1 by construction"):
        regression(table, "energy_j.modelled", "settled_s", [])
    table["energy_j"] = table.pop("energy_j.modelled")
    assert regression(table, "energy_j", "settled_s", []).lines[0].slope == pytest.approx(1.0)
    with pytest.raises(UsageError, match="no line through modelled"):
        regression(table, "energy_j", "settled_s", [], modelled=True)


@pytest.mark.parametrize(
    ("table", "x", "message"),
    [
        ({"y": [1.0, 2.0, 3.0], "x": [2.0, 2.0, 2.0]}, "x", "two different values of x"),
        ({"y": [1.0, 2.0], "x": [2.0, 3.0]}, "z", "no column 'z'"),
        ({"y": [1.0, 2.0], "x": [2.0, 3.0]}, "y", "on itself"),
    ],
)
def test_lines_that_do_not_exist_are_refused(table: Columns, x: str, message: str) -> None:
    with pytest.raises((UsageError, DataError), match=message):
        regression(table, "y", x, [])


def test_repetitions_on_a_load_are_one_point_of_a_line() -> None:
    table: Columns = {"y": [1.0, 3.0, 5.0, 7.0, 9.5], "x": [1.0, 3.0, 4.0, 6.0, 9.0], "load": list("ppqqr")}
    result = regression(table, "y", "x", [], repeated=["load"])
    plain = regression({"y": [2.0, 6.0, 9.5], "x": [2.0, 5.0, 9.0]}, "y", "x", [])
    assert result.lines == plain.lines
    assert result.notes == ("5 runs averaged to 3 points, one for each load",)


def test_two_points_make_a_line_without_an_interval() -> None:
    line = regression({"y": [1.0, 3.0], "x": [1.0, 2.0]}, "y", "x", []).lines[0]
    assert (line.slope, line.intercept, line.r2) == pytest.approx((2.0, -1.0, 1.0))
    assert (line.slope_ci, line.residual_sd) == (None, None)


def test_the_margin_distinguishes_equal_from_not_shown_to_differ() -> None:
    table = study(n=12, ratio=1.005)
    wide = analyse(table, "energy_j", ["f"], margin=1.10).pairs[0]
    narrow = analyse(table, "energy_j", ["f"], margin=1.01).pairs[0]
    assert not wide.significant
    assert wide.equivalent
    assert not narrow.equivalent
    far = next(p for p in analyse(table, "energy_j", ["f"], margin=1.10).pairs if p.a["f"] == "c")
    assert far.p_equivalent == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"margin": 0.9}, "ratio above 1"),
        ({"margin": 0.0, "scale": "raw"}, "difference above 0"),
        ({"margin": 1.1, "test": "kruskal-dunn-holm"}, "ranks have no distances"),
        ({"precision": 1.0}, "ratio above 1"),
        ({"precision": -1.0, "scale": "raw"}, "half width above 0"),
        ({"test": "anova"}, "test: expected one of tukey, games-howell, kruskal-dunn-holm"),
        ({"look": 1}, "name both"),
        ({"looks": looks((8, 16)), "look": 3}, "expected 1 to 2"),
    ],
)
def test_contradictions_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        analyse(study(), "energy_j", ["f"], **options)  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("runs", "spending", "message"),
    [((5, 5), "pocock", "rising"), ((1, 5), "pocock", "rising"), ((), "pocock", "rising"), ((5,), "even", "spending")],
)
def test_invalid_looks_are_refused(runs: tuple[int, ...], spending: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        looks(runs, spending=spending)


def test_a_look_uses_its_own_level_and_reports_whether_to_continue() -> None:
    plan = looks((8, 16), spending="obrien-fleming")
    result = analyse(study(ratio=1.02), "energy_j", ["f"], looks=plan, look=1)
    assert result.alpha == plan.level[0] < 0.01
    assert result.sequential is not None
    assert not result.sequential.stop
    assert result.sequential.decided == 2
    assert analyse(study(ratio=1.5), "energy_j", ["f"], looks=plan, look=1).to_json()["sequential"]["stop"]  # type: ignore[index]
    with pytest.raises(DataError, match="another time than declared"):
        analyse(study(n=9), "energy_j", ["f"], looks=plan, look=1)


def test_more_runs_is_an_estimate_with_a_range() -> None:
    result = analyse(study(), "energy_j", ["f"], precision=1.01)
    assert result.precision is not None
    needed, more = result.precision.needed, result.precision.needed.more(8)
    assert 8 < needed.low < needed.estimate < needed.high
    assert more.estimate == needed.estimate - 8
    assert result.precision.stein.half_width <= math.log(1.01)
    assert runs_needed(1.0, 10, 100.0).estimate == 2


def test_runs_needed_is_the_least_that_is_enough() -> None:
    from scipy import stats

    for ms, width in ((1.0, 0.3), (4.0, 0.5), (0.01, 0.09)):
        n = runs_needed(ms, 9, width).estimate

        def reach(count: int, ms: float = ms) -> float:
            return float(stats.t.ppf(0.975, count - 1)) * math.sqrt(ms / count)

        assert reach(n) <= width
        assert n == 2 or reach(n - 1) > width


def test_steins_second_stage_must_be_run_in_full() -> None:
    first = np.array([10.0, 11.0, 9.5])
    plan = stein(first, 1.05)
    with pytest.raises(DataError, match=f"promised {plan.total} runs, got 3"):
        plan.interval(first)
    with pytest.raises(DataError, match="at least two runs that differ"):
        stein(np.array([1.0, 1.0]), 1.05)


def test_neighbours_that_resemble_each_other_show_in_the_autocorrelation() -> None:
    rng = np.random.default_rng(2)
    noise = rng.normal(size=60)
    drifting = np.convolve(noise, [1, 0.9, 0.8], mode="valid")
    order = np.arange(drifting.size, dtype=float)
    result, shuffled = lag1(drifting, order), lag1(drifting, rng.permutation(order))
    assert result is not None
    assert shuffled is not None
    assert result.p < 0.01 < shuffled.p
    assert result.lag1 > 0.4
    assert result.expected == pytest.approx(-1 / drifting.size, abs=0.01)
    assert lag1(np.zeros(9), np.arange(9.0)) is None


def test_residuals_of_blocks_alone_are_no_autocorrelation() -> None:
    """They sum to zero in each block, so neighbours differ; the expectation knows it."""
    low, seen = 0, 120
    for seed in range(seen):
        rng = np.random.default_rng(seed)
        y = rng.normal(size=(10, 4))
        residuals = (y - y.mean(axis=1, keepdims=True)).ravel()
        result = lag1(residuals, np.arange(40.0), np.repeat(np.arange(10), 4))
        assert result is not None
        assert result.expected < -0.15
        low += result.p < 0.05
    assert low / seen <= 0.08


def test_order_adds_the_autocorrelation_to_the_checks() -> None:
    document = analyse(study(), "energy_j", ["f"], order="run").to_json()
    assert set(document["diagnostics"]["autocorrelation"]) == {"lag1", "expected", "p", "n"}  # type: ignore[index]
    assert analyse(study(), "energy_j", ["f"]).to_json()["diagnostics"]["autocorrelation"] is None  # type: ignore[index]


@pytest.mark.parametrize("test", list(DeclaredTest))
def test_the_same_against_the_same_raises_as_many_alarms_as_declared(test: DeclaredTest) -> None:
    rng = np.random.default_rng(3)
    y, member = rng.normal(size=60), np.repeat([0, 1, 2], 20)
    result = same_against_same(y, member, np.arange(60.0), test, alpha=0.05, seed=1)
    assert result is not None
    assert result.false_alarms <= 0.08
    assert result.ci95[0] <= 0.05
    assert all(drift.p > 0.01 for drift in result.drifts)


def test_a_drift_shows_between_halves() -> None:
    table = study(n=10)
    for row in range(5, 10):
        table["energy_j"][row] *= 1.5  # type: ignore[operator]
    result = analyse(table, "energy_j", ["f"], order="run", same_against_same=True)
    assert result.same is not None
    drift = {result.groups[d.group].levels["f"]: d.p for d in result.same.drifts}
    assert drift["a"] < 0.001
    assert min(drift["b"], drift["c"]) > 0.01


def test_share_interval_is_clopper_and_pearsons() -> None:
    assert share_interval(0, 10) == pytest.approx((0.0, 0.3084971), abs=1e-6)
    assert share_interval(3, 10) == pytest.approx((0.0667395, 0.6524529), abs=1e-6)


def test_distribution_steps_end_at_one_and_quantiles_are_type_7() -> None:
    result = distribution(np.array([3.0, 1.0, 2.0, 2.0]))
    assert result.value == (1.0, 2.0, 3.0)
    assert result.share == (0.25, 0.75, 1.0)
    assert result.quantiles[0.25] == pytest.approx(1.75)
    many = distribution(np.random.default_rng(1).normal(size=50_000))
    assert len(many.value) <= 1000
    assert many.share[-1] == 1.0
    document = analyse(study(), "energy_j", ["f"], distributions=True).to_json()
    assert set(document["groups"][0]["distribution"]) == {"value", "share", "band95", "quantiles"}  # type: ignore[index]


def test_cliffs_delta_counts_who_is_above() -> None:
    assert cliffs_delta(np.array([2.0, 3.0]), np.array([1.0])) == 1.0
    assert cliffs_delta(np.array([1.0, 2.0]), np.array([1.0, 2.0])) == 0.0


def test_the_best_is_named_where_it_is_sure_and_only_there() -> None:
    sure = analyse(study(), "energy_j", ["f"]).to_best
    assert [(best.levels["f"], best.is_best, best.can_be_best) for best in sure] == [
        ("a", True, True),
        ("b", False, False),
        ("c", False, False),
    ]
    assert sure[0].ratio_ci is not None
    assert sure[0].ratio_ci[1] == pytest.approx(1.0)
    close = analyse(study(ratio=1.01), "energy_j", ["f"]).to_best
    assert [best.can_be_best for best in close] == [True, True, False]
    assert not close[0].is_best
    held = analyse(study(), "energy_j", ["f"], min_ratio=1.6).to_best
    assert not held[0].is_best


@pytest.mark.parametrize("alpha", [0.4, 0.05, 1e-4, 5e-10])
def test_the_critical_value_of_one_comparison_is_students_at_any_level(alpha: float) -> None:
    from scipy import stats

    for df in (1, 3, 40):
        one = one_sided_dunnett(np.array([0.0]), df, alpha)
        assert one == pytest.approx(float(stats.t.isf(alpha, df)), rel=1e-6)
        three = one_sided_dunnett(np.sqrt([0.5, 0.5, 0.5]), df, alpha)
        assert one < three < float(stats.t.isf(alpha / 3, df)) * (1 + 1e-7)


def test_higher_is_better_turns_the_best_around() -> None:
    result = analyse(study(), "energy_j", ["f"], better="higher").to_best
    assert (result[0].levels["f"], result[0].is_best) == ("c", True)
    assert result[0].difference > 0
    assert result[-1].ci[1] == 0.0


def test_extremes_of_medians_by_level() -> None:
    table = study()
    table["w"] = ["x" if row % 2 else "y" for row in range(24)]
    result = analyse(table, "energy_j", ["f"], by="w")
    assert isinstance(result, AnalysisBy)
    assert [(e.level, e.lowest.levels["f"], e.highest.levels["f"]) for e in result.extremes] == [
        ("y", "a", "c"),
        ("x", "a", "c"),
    ]


@pytest.mark.parametrize(
    ("values", "levels", "test", "message"),
    [
        ([1.0, 2.0, 3.0], "aab", "games-howell", "f b: one value has no variance"),
        ([1.0, 2.0, 3.0, 3.0], "aabb", "games-howell", "f b: all values are equal"),
    ],
)
def test_groups_without_variance_are_refused_by_tests_that_need_it(
    values: list[object], levels: str, test: str, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        analyse({"y": values, "f": list(levels)}, "y", ["f"], test=test)
    result = analyse({"y": values, "f": list(levels)}, "y", ["f"], test="kruskal-dunn-holm")
    json.dumps(result.to_json(), allow_nan=False)


def test_ranks_over_unevenly_filled_cells_are_refused() -> None:
    table: Columns = {"y": [1.0, 2, 3, 4, 5, 6, 7.5], "a": list("ppppqqq"), "b": list("uuvvuvv")}
    with pytest.raises(DataError, match="evenly spread"):
        analyse(table, "y", ["a", "b"], test="kruskal-dunn-holm", compare=["a"])


@pytest.mark.parametrize("test", TESTS[1:])
def test_a_block_that_the_test_cannot_take_is_reported(test: str) -> None:
    table = study()
    table["block"] = [row % 8 for row in range(24)]
    result = analyse(table, "energy_j", ["f"], block="block", test=test)
    assert any(f"{test} takes no block" in note for note in result.notes)
    assert result.anova.rows[0].source == "block"
