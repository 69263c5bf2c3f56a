"""Runs that share a load: what counts as a replication, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from edgejoule.errors import DataError, UsageError
from edgejoule.stats import analyse, verdict

Columns = dict[str, list[object]]


def shared(*, loads: int = 4, repeats: int = 3, workloads: str = "XY", seed: int = 1, **dropped: object) -> Columns:
    """Databases A and B on `loads` loads each; block is the number of the load."""
    rng = np.random.default_rng(seed)
    table: Columns = {"y": [], "database": [], "workload": [], "load": [], "block": [], "run": []}
    for copy in range(loads):
        for database in "AB":
            luck = rng.normal(0, 0.5)
            for workload in workloads:
                for repeat in range(repeats):
                    if (database, copy, workload) in dropped.get("cells", ()):  # type: ignore[operator]
                        continue
                    row = (float(10 + luck + 0.5 * (workload == "X") + rng.normal(0, 0.2)), database, workload)
                    values = (*row, f"{database}{copy}", copy, repeat)
                    for name, value in zip(table, values, strict=True):
                        table[name].append(value)
    return table


FACTORS = ["database", "workload"]


def test_the_notes_list_the_effects_between_loads_and_on_them() -> None:
    result = analyse(shared(), "y", FACTORS, unit="load")
    assert result.notes[0].startswith(
        "48 runs on 8 loads (column load): database differs between them, workload changes"
    )
    assert result.unit == "load"
    assert [group.n for group in result.groups] == [4, 4, 4, 4]


def test_more_repetitions_add_no_degree_of_freedom() -> None:
    few, many = (analyse(shared(repeats=n), "y", FACTORS, unit="load") for n in (1, 9))
    assert [row.df for row in few.anova.table][:-1] == [row.df for row in many.anova.table][:-1] == [1, 6, 1, 1, 6]
    naive = analyse(shared(repeats=9), "y", FACTORS)
    assert naive.anova.error_df == 140


def test_with_all_factors_between_loads_one_value_per_load_is_analysed_by_any_test() -> None:
    table = shared(workloads="X")
    for test in ("tukey", "games-howell", "kruskal-dunn-holm"):
        result = analyse(table, "y", ["database"], unit="load", test=test)
        assert result.n == 8
        assert result.unit == "load"
        assert result.to_json()["unit"] == "load"
    tukey = analyse(table, "y", ["database"], unit="load", scale="raw")
    means: Columns = {"y": [], "database": []}
    for load in dict.fromkeys(table["load"]):
        rows = [i for i, name in enumerate(table["load"]) if name == load]
        means["y"].append(float(np.mean([table["y"][i] for i in rows])))  # type: ignore[arg-type]
        means["database"].append(table["database"][rows[0]])
    plain = analyse(means, "y", ["database"], scale="raw")
    assert tukey.pairs[0].p_adj == pytest.approx(plain.pairs[0].p_adj, rel=1e-9)


def test_a_factor_that_changes_on_loads_is_compared_more_exactly_than_one_between_them() -> None:
    result = analyse(shared(seed=3), "y", FACTORS, unit="load")
    width = {}
    for compare in FACTORS:
        pair = analyse(shared(seed=3), "y", FACTORS, unit="load", compare=[compare]).pairs[0]
        assert pair.ci is not None
        width[compare] = pair.ci[1] - pair.ci[0]
    assert width["workload"] < width["database"] / 2
    assert result.anova.rows[0].error == "residual between load"
    assert result.anova.rows[1].error == "residual within load"


def test_with_all_factors_on_loads_a_load_is_a_block() -> None:
    table = shared(repeats=1, workloads="XYZ")
    loads = analyse(table, "y", ["workload"], unit="load", precision=1.1)
    blocks = analyse(table, "y", ["workload"], block="load")
    ours, theirs = loads.anova.rows[0], blocks.anova.rows[1]
    assert (ours.source, ours.df) == ("workload", 2)
    assert ours.f == pytest.approx(theirs.f, rel=1e-9)
    assert [p.p_adj for p in loads.pairs] == pytest.approx([p.p_adj for p in blocks.pairs], rel=1e-9)
    assert loads.groups[0].ci95[0] < blocks.groups[0].ci95[0], "the luck of the loads is in a mean's interval"
    assert any("not estimated" in note for note in loads.notes)


def test_blocks_of_loads_leave_the_error_between_loads() -> None:
    result = analyse(shared(), "y", FACTORS, unit="load", block="block")
    assert [(row.source, row.df) for row in result.anova.table][:3] == [
        ("block", 3),
        ("database", 1),
        ("residual between load", 3),
    ]


def test_a_block_that_changes_on_a_load_is_averaged_over_and_reported() -> None:
    result = analyse(shared(), "y", FACTORS, unit="load", block="run")
    assert any("run changes on a load" in note for note in result.notes)
    assert result.block is None


def test_a_load_without_some_runs_is_used_and_reported() -> None:
    table = shared(cells={("A", 1, "X"), ("B", 2, "Y")})
    result = analyse(table, "y", FACTORS, unit="load")
    assert any("2 of 16 combinations of load and cell have no run" in note for note in result.notes)
    assert result.anova.error_df == 4


def test_by_leaves_one_analysis_per_level() -> None:
    result = analyse(shared(), "y", FACTORS, unit="load", by="workload", test="games-howell")
    assert [part.n for part in result.analyses.values()] == [8, 8]


def test_the_verdict_uses_each_rows_own_error() -> None:
    text = verdict(analyse(shared(seed=3), "y", FACTORS, unit="load"))
    assert text.startswith("y depends on workload")
    assert "database (" not in text.split(";")[0]


@pytest.mark.parametrize(
    ("table", "factors", "options", "error", "message"),
    [
        (shared(loads=1), FACTORS, {}, DataError, "2 loads for 2 combinations of database leave nothing"),
        (shared(loads=1, workloads="X"), ["database"], {}, DataError, "repetitions on one load are not replications"),
        (shared(), FACTORS, {"test": "games-howell"}, UsageError, "knows one kind of error, and workload changes"),
        (shared(), FACTORS, {"order": "run"}, UsageError, "use single runs"),
        (shared(), FACTORS, {"unit": "database"}, UsageError, "named twice"),
        (
            shared(cells={("A", copy, "X") for copy in range(4)}),
            FACTORS,
            {},
            DataError,
            "1 of 4 cells have no data, and a split plot",
        ),
        (
            shared(cells={("A", 0, "X"), ("A", 1, "X"), ("A", 2, "Y"), ("A", 3, "Y")}),
            FACTORS,
            {},
            DataError,
            "never share a load",
        ),
    ],
)
def test_effects_that_loads_cannot_separate_are_refused_with_a_message(
    table: Columns, factors: list[str], options: dict[str, str], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        analyse(table, "y", factors, **({"unit": "load"} | options))  # type: ignore[call-overload]
