"""What `analyse` says of data that are scaled, blocked, incomplete, or too few."""

from __future__ import annotations

import itertools
import json
import math
import random
from collections.abc import Iterator, Sequence

import pytest

from edgejoule.errors import DataError, UsageError
from edgejoule.stats import Scale, analyse, regression, verdict

Table = dict[str, list[object]]


def study(seed: int = 1, *, sd: float = 0.05, replications: int = 5) -> Table:
    """Two databases under three workloads; B costs 1.5 times A, and far more under W2."""
    rng = random.Random(seed)
    table: Table = {"energy_j": [], "database": [], "workload": [], "block": []}
    for block, database, workload in itertools.product(range(replications), "AB", ["W0", "W1", "W2"]):
        cost = {"A": 10.0, "B": 15.0}[database] * (4.0 if (database, workload) == ("B", "W2") else 1.0)
        table["energy_j"].append(cost * math.exp(rng.gauss(0, sd) + 0.2 * block))
        table["database"].append(database)
        table["workload"].append(workload)
        table["block"].append(block)
    return table


FACTORS = ["database", "workload"]


def test_json_has_the_documented_form_and_no_nan() -> None:
    document = analyse(study(), "energy_j", FACTORS, block="block").to_json()
    json.dumps(document, allow_nan=False)
    assert set(document["anova"][0]) == {"source", "df", "ss", "ms", "F", "p", "eta2", "omega2"}  # type: ignore[index]
    assert [row["source"] for row in document["anova"]] == [  # type: ignore[attr-defined]
        "block",
        "database",
        "workload",
        "database:workload",
        "residual",
        "total",
    ]
    assert set(document["groups"][0]) >= {"levels", "n", "mean", "ci95", "letters"}  # type: ignore[index]
    assert len(document["pairs"]) == 15  # type: ignore[arg-type]


class Labelled:
    """A column of a data frame after a selection or a sort: [] takes a label, iteration is by position."""

    def __init__(self, values: Sequence[object]) -> None:
        self._values = {f"row-{len(values) - at}": value for at, value in enumerate(values)}

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[object]:
        return iter(self._values.values())

    def __getitem__(self, label: str) -> object:
        return self._values[label]


def test_a_data_frame_may_have_any_index() -> None:
    lists = study()
    frame = {name: Labelled(values) for name, values in lists.items()}
    for options in ({"block": "block"}, {"by": "workload"}):
        factors = [name for name in FACTORS if name != options.get("by")]
        assert analyse(frame, "energy_j", factors, **options) == analyse(lists, "energy_j", factors, **options)  # type: ignore[call-overload]
    drawn = regression(frame, "energy_j", "block", ["database"])  # type: ignore[arg-type]
    assert drawn == regression(lists, "energy_j", "block", ["database"])


def test_levels_of_different_types_that_are_equal_numbers_are_one_level() -> None:
    table: Table = {"y": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "f": [1, "1.0", "01", True, True, 2**53 + 1]}
    result = analyse(table, "y", ["f"])
    assert {group.levels["f"]: group.n for group in result.groups} == {"1": 3, "True": 2, str(2**53 + 1): 1}
    assert result.notes[0] == "f: 1 and 1.0 and 01 are the same number and one level"
    near: Table = {"y": [1.0, 2.0, 3.0, 4.0], "f": [2**53, 2**53, 2**53 + 1, 2**53 + 1]}
    assert len(analyse(near, "y", ["f"]).groups) == 2


def test_log_scale_finds_the_ratio_and_does_not_depend_on_the_unit() -> None:
    table = study()
    joules = analyse(table, "energy_j", FACTORS)
    table["energy_j"] = [1e6 * value for value in table["energy_j"]]  # type: ignore[operator]
    microjoules = analyse(table, "energy_j", FACTORS)
    for ours, theirs in zip(joules.pairs, microjoules.pairs, strict=True):
        assert ours.p_adj == pytest.approx(theirs.p_adj, rel=1e-6)
        assert ours.ratio == pytest.approx(theirs.ratio, rel=1e-9)
    worst = next(p for p in joules.pairs if p.a == {"database": "B", "workload": "W2"} and p.b["database"] == "A")
    assert worst.ratio == pytest.approx(6, rel=0.15)
    assert worst.ratio_ci is not None
    assert worst.ratio_ci[0] < 6 < worst.ratio_ci[1]


def test_a_block_takes_its_variation_out_of_the_error() -> None:
    without = analyse(study(), "energy_j", FACTORS)
    blocked = analyse(study(), "energy_j", FACTORS, block="block")
    assert blocked.anova.error_ms < without.anova.error_ms / 5
    assert [group.mean for group in blocked.groups] == pytest.approx([group.mean for group in without.groups])


def test_a_run_missing_from_a_slow_block_does_not_favour_its_cell() -> None:
    whole = analyse(study(sd=0.001), "energy_j", FACTORS, block="block").groups
    table = study(sd=0.001)
    table["energy_j"][-1] = None
    thinned = analyse(table, "energy_j", FACTORS, block="block")
    for group in thinned.groups:
        same = next(other for other in whole if other.levels == group.levels)
        assert group.mean == pytest.approx(same.mean, rel=0.003)
    assert "1 of 30 rows dropped: a value is missing" in thinned.notes


def test_by_gives_one_analysis_per_level() -> None:
    result = analyse(study(), "energy_j", FACTORS, by="workload")
    assert list(result.analyses) == ["W0", "W1", "W2"]
    assert result.analyses["W2"].factors == ("database",)
    assert result.to_json()["analyses"][2]["level"] == "W2"  # type: ignore[index]


def test_lower_is_better_for_energy_and_higher_for_throughput() -> None:
    table = study()
    assert analyse(table, "energy_j", FACTORS).groups[0].levels["database"] == "A"
    table["throughput_ops_s"] = table.pop("energy_j")
    best = analyse(table, "throughput_ops_s", FACTORS).groups[0]
    assert (best.levels, best.letters) == ({"database": "B", "workload": "W2"}, "a")


def test_differences_within_min_ratio_are_never_significant_but_keep_their_p() -> None:
    free = analyse(study(), "energy_j", ["database"], block="block", by="workload").analyses["W0"]
    held = analyse(study(), "energy_j", ["database"], block="block", by="workload", min_ratio=1.6).analyses["W0"]
    assert free.pairs[0].significant
    assert not held.pairs[0].significant
    assert held.pairs[0].p_adj == free.pairs[0].p_adj < 0.001
    assert "within a factor of 1.6" in str(held.pairs[0].why_not)
    assert [group.letters for group in held.groups] == ["a", "a"]
    assert "not significantly below the other group (1 more by too little" in verdict(held)


def modelled(**study_fields: object) -> Table:
    table = study(**study_fields)  # type: ignore[arg-type]
    return {"energy_j.modelled" if name == "energy_j" else name: column for name, column in table.items()}


def test_modelled_values_are_never_called_different_without_what_the_model_resolves() -> None:
    result = analyse(modelled(sd=0.001), "energy_j.modelled", FACTORS, block="block")
    assert result.modelled
    assert all(pair.p_adj < 0.05 for pair in result.pairs if pair.a["database"] != pair.b["database"])
    assert not any(pair.significant for pair in result.pairs)
    assert all("model" in (pair.why_not or "") for pair in result.pairs)
    assert {group.letters for group in result.groups} == {None}
    assert any("--min-ratio" in note for note in result.notes)
    text = verdict(result)
    assert text.startswith("energy_j (modelled) depends on")
    assert "lowest modelled mean" in text
    assert "significantly" not in text
    document = result.to_json()
    assert document["modelled"] is True
    assert [group["letters"] for group in document["groups"]] == [None] * 6  # type: ignore[attr-defined]


def test_modelled_values_with_what_the_model_resolves_get_letters_by_it() -> None:
    parts = analyse(modelled(), "energy_j.modelled", ["database"], by="workload", min_ratio=1.77).analyses
    assert [group.letters for group in parts["W0"].groups] == ["a", "a"]
    assert [group.letters for group in parts["W2"].groups] == ["a", "b"]
    assert "as far as a model that resolves 1.77× shows" in verdict(parts["W2"])


def test_the_caller_can_report_that_a_response_is_modelled_or_that_it_is_not() -> None:
    assert not analyse(study(), "energy_j", FACTORS, modelled=True).judged
    assert analyse(modelled(), "energy_j.modelled", FACTORS, modelled=False).judged
    assert analyse(study(), "energy_j", FACTORS).judged


def test_a_method_in_the_name_does_not_hide_which_way_is_better() -> None:
    table = study()
    table["throughput_ops_s.counted"] = table.pop("energy_j")
    result = analyse(table, "throughput_ops_s.counted", ["database"])
    assert result.groups[0].levels == {"database": "B"}


def test_min_ratio_lets_larger_differences_pass() -> None:
    held = analyse(study(), "energy_j", ["database"], by="workload", block="block", min_ratio=1.6).analyses["W2"]
    assert held.pairs[0].significant


def test_empty_cells_reduce_the_interaction_and_are_reported() -> None:
    table = study()
    rows = [r for r in range(30) if not (table["database"][r] == "B" and table["workload"][r] == "W2")]
    part: Table = {name: [column[r] for r in rows] for name, column in table.items()}
    analysis = analyse(part, "energy_j", FACTORS)
    assert [row.df for row in analysis.anova.rows] == [1, 2, 1]
    assert any("1 of 6 cells have no data" in note for note in analysis.notes)
    assert any("database:workload has 1 of 2" in note for note in analysis.notes)
    assert len(analysis.groups) == 5
    with pytest.raises(DataError, match="type III"):
        analyse(part, "energy_j", FACTORS, ss_type="III")
    with pytest.raises(DataError, match="average over all other factors"):
        analyse(part, "energy_j", FACTORS, compare=["database"])


def test_shares_of_balanced_data_add_up_to_the_whole() -> None:
    table = analyse(study(), "energy_j", FACTORS, block="block").anova
    assert sum(row.eta2 or 0 for row in (*table.rows, table.residual)) == pytest.approx(1.0)


def test_a_source_without_effect_has_omega2_around_zero() -> None:
    rng = random.Random(5)
    omega2 = []
    for _ in range(200):
        table: Table = {"y": [rng.gauss(0, 1) for _ in range(12)], "f": list("abc" * 4)}
        omega2.append(analyse(table, "y", ["f"], scale="raw").anova.rows[0].omega2 or 0.0)
    assert abs(sum(omega2) / len(omega2)) < 0.03


def test_a_factor_with_one_level_is_left_out_and_reported() -> None:
    table = study()
    table["host"] = ["pi"] * 30
    analysis = analyse(table, "energy_j", [*FACTORS, "host"])
    assert analysis.factors == ("database", "workload")
    assert "host has one level only (pi) and is left out" in analysis.notes


def test_verdict_names_shares_best_group_and_what_it_beats() -> None:
    text = verdict(analyse(study(), "energy_j", FACTORS, block="block"))
    assert text.startswith("energy_j depends on database (")
    assert "the lowest mean is" in text
    assert text.endswith("significantly below 3 of the 5 other groups.")


def test_verdict_without_effect_claims_no_equality() -> None:
    table: Table = {"y": [1.0, 2.0, 3.0, 2.0, 1.0, 3.0], "f": ["a", "a", "a", "b", "b", "b"]}
    assert verdict(analyse(table, "y", ["f"])).endswith("which does not prove that there is none.")


def three_groups(*means: float) -> Table:
    rng = random.Random(3)
    values = [mean * math.exp(rng.gauss(0, 0.01)) for mean in means for _ in range(20)]
    return {"y": values, "f": [level for level in "abc"[: len(means)] for _ in range(20)]}


def test_the_verdict_reports_that_groups_are_equal_where_a_declared_margin_shows_it() -> None:
    for test in ("tukey", "games-howell"):
        text = verdict(analyse(three_groups(5, 5, 5), "y", ["f"], margin=1.05, test=test))
        assert text.startswith(
            "y is equal within 5 % in all 3 groups of f: equivalence is shown at α = 0.05 (p < 0.0001"
        )
        assert "does not prove" not in text
    assert "both groups" in verdict(analyse(three_groups(5, 5), "y", ["f"], margin=1.05))
    assert "within a factor of 2 in" in verdict(analyse(three_groups(5, 5), "y", ["f"], margin=2.0))
    assert "within ± 0.2 in" in verdict(analyse(three_groups(5, 5), "y", ["f"], margin=0.2, scale="raw"))


def test_the_verdict_reports_pairs_not_shown_to_be_equal() -> None:
    few = {name: column[:2] + column[20:22] for name, column in three_groups(5, 5).items()}
    text = verdict(analyse(few, "y", ["f"], margin=1.001))
    assert text.endswith("does not prove that there is none; no pair is shown to be equal within 0.1 %.")


def test_the_verdict_names_pairs_that_are_equal_beside_a_difference() -> None:
    text = verdict(analyse(three_groups(5, 5, 9), "y", ["f"], margin=1.05))
    assert text.startswith("y depends on f")
    assert text.endswith("; 1 of 3 pairs are shown to be equal within 5 %.")


def test_a_raw_margin_above_the_smallest_mean_calls_nothing_equal() -> None:
    joules = {"energy_j": [0.20, 0.21, 0.19, 0.90, 0.91, 0.89], "f": list("aaabbb")}
    result = analyse(joules, "energy_j", ["f"], margin=1.05, scale="raw")
    assert result.pairs[0].significant
    assert result.pairs[0].equivalent is None
    assert "equal" not in verdict(result)
    assert any("the margin of ± 1.05 is not below the smallest mean, 0.2" in note for note in result.notes)
    assert analyse(joules, "energy_j", ["f"], margin=0.19, scale="raw").pairs[0].equivalent is False


def test_a_margin_on_values_that_may_be_negative_is_tested_as_it_is() -> None:
    net = {"energy_net_j": [-0.01, 0.0, 0.01, -0.011, 0.002, 0.012], "f": list("aaabbb")}
    assert analyse(net, "energy_net_j", ["f"], margin=0.1, scale="raw").pairs[0].equivalent is True


def test_the_verdict_does_not_call_equal_what_it_calls_different() -> None:
    text = verdict(analyse(three_groups(5, 5.15), "y", ["f"], margin=1.05))
    assert "significantly below the other group" in text
    assert text.endswith("; 1 of 1 pairs differ significantly, but are shown to lie within 5 % of each other.")


@pytest.mark.parametrize(
    ("values", "levels", "message"),
    [
        ([1.0, 2.0], ["a", "b"], "no degree of freedom"),
        ([1.0, 2.0, 3.0], ["a", "a", "a"], "single group"),
        ([2.0, 2.0, 2.0, 2.0], ["a", "a", "b", "b"], "all 4 values of the response are equal"),
        ([1.0, 1.0, 2.0, 2.0], ["a", "a", "b", "b"], "replications are identical"),
        ([1.1, 1.1, 2.3, 2.3, 0.7, 0.7], ["a", "a", "b", "b", "c", "c"], "replications are identical"),
        ([None, math.nan, 1.0], ["a", "b", "b"], "complete rows: 1 of 3"),
        ([1.0, math.inf, 1.0, 3.0], ["a", "a", "b", "b"], "row 2: expected a finite number"),
        ([1.0, "x", 1.0, 3.0], ["a", "a", "b", "b"], "row 2: expected a number, got 'x'"),
        ([1.0, 0.0, 1.0, 3.0], ["a", "a", "b", "b"], "1 of 4 values are zero or negative"),
    ],
)
def test_data_that_cannot_be_analysed_report_what_is_missing(
    values: list[object], levels: list[object], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        analyse({"y": values, "f": levels}, "y", ["f"])


def test_cells_confounded_with_blocks_are_refused() -> None:
    rng = random.Random(2)
    table: Table = {
        "y": [rng.gauss(5, 1) for _ in range(8)],
        "f": [*"aaaabbbb"],
        "block": [1, 1, 2, 2, 3, 3, 4, 4],
    }
    with pytest.raises(DataError, match="confounded"):
        analyse(table, "y", ["f"], block="block")


def test_an_identifier_taken_for_a_factor_is_refused_before_it_costs_memory() -> None:
    rng = random.Random(3)
    table: Table = {
        "y": [rng.gauss(5, 1) for _ in range(8000)],
        "a": [i % 2000 for i in range(8000)],
        "b": [i % 2 for i in range(8000)],
    }
    with pytest.raises(DataError, match="is it an identifier"):
        analyse(table, "y", ["a", "b"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"response": "energy"}, "no column 'energy'; did you mean 'energy_j'"),
        ({"factors": ["databse"]}, "did you mean 'database'"),
        ({"factors": []}, "no factor"),
        ({"factors": ["database", "database"]}, "named twice"),
        ({"block": "database"}, "named twice"),
        ({"compare": ["block"]}, "compare: 'block' must be one of the factors"),
        ({"alpha": 0.0}, "alpha"),
        ({"min_ratio": 0.9}, "min_ratio"),
        ({"scale": "ln"}, "scale: expected one of log, raw, got 'ln'"),
        ({"ss_type": "IV"}, "ss_type: expected one of I, II, III"),
    ],
)
def test_contradictory_options_are_refused(options: dict[str, object], message: str) -> None:
    arguments: dict[str, object] = {"response": "energy_j", "factors": FACTORS} | options
    with pytest.raises(UsageError, match=message):
        analyse(study(), **arguments)  # type: ignore[call-overload]


def test_sixty_groups_are_compared() -> None:
    rng = random.Random(9)
    table: Table = {"y": [], "f": []}
    for group in range(60):
        for _ in range(4):
            table["y"].append(100 + 3 * group + rng.gauss(0, 1))
            table["f"].append(f"g{group}")
    analysis = analyse(table, "y", ["f"], scale=Scale.RAW)
    assert len(analysis.pairs) == 1770
    assert analysis.groups[0].letters.startswith("a")
