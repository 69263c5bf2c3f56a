"""What printed tables of variance imply, and the command that says it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from edgejoule.cli.audit import audit as command
from edgejoule.cli.common import Commands
from edgejoule.errors import DataError, UsageError
from edgejoule.stats import analyse, audit, printed_table, read_printed

PAPER = Path(__file__).parent / "data" / "paper003.csv"
ROWS = ["--row", "DBMS=23.15,230.41", "--row", "Comm=9,89.55", "--row", "DBMS*Comm=30.78,153.16", "--error", "37.07"]


def run(*arguments: str) -> Result:
    group = Commands("edgejoule")
    group.add_command(command)
    return CliRunner().invoke(group, ["audit", *arguments])


def test_paper_003_states_75_replications_and_three_of_its_six_tables_imply_more() -> None:
    found = [audit(table, cells=9, replications=75) for table in read_printed(PAPER, (3, 3))]
    assert [(a.name, a.low, a.high, a.replications) for a in found] == [
        ("execution time, 1,000", 738, 738, (83, 83)),
        ("execution time, 10,000", 684, 684, (77, 77)),
        ("execution time, 100,000", 666, 666, (75, 75)),
        ("energy, 1,000", 747, 747, (84, 84)),
        ("energy, 10,000", 666, 666, (75, 75)),
        ("energy, 100,000", 666, 666, (75, 75)),
    ]
    assert [a.consistent for a in found] == [False, False, True, False, True, True]


def test_a_table_of_our_own_rounded_as_papers_round_implies_its_own_df() -> None:
    seeds = range(12)
    for seed in seeds:
        rng = np.random.default_rng(seed)
        runs = int(rng.integers(3, 90))
        columns: dict[str, list[object]] = {"y": [], "a": [], "b": []}
        for a in range(3):
            for b in range(4):
                mean = rng.normal(10, 2)
                for _ in range(runs):
                    columns["y"].append(float(rng.normal(mean, 2)))
                    columns["a"].append(a)
                    columns["b"].append(b)
        table = analyse(columns, "y", ["a", "b"], scale="raw").anova
        rows = [
            {"source": row.source, "share": f"{100 * (row.eta2 or 0):.2f}", "F": f"{row.f:.2f}" if row.f else ""}
            for row in (*table.rows, table.residual)
        ]
        if any(row["share"] in ("0.00",) or row["F"] == "0.00" for row in rows):
            continue
        found = audit(printed_table("ours", rows, (3, 4)), cells=12, replications=runs)
        assert found.consistent, (seed, found)
        assert found.low is not None
        assert found.high is not None
        assert found.low <= table.error_df <= found.high


def test_mutant_table_with_one_wrong_figure_disagrees() -> None:
    found = audit(
        printed_table(
            "swapped digits",
            [
                {"source": "DBMS", "share": "23.15", "F": "230.41"},
                {"source": "Comm", "share": "9.00", "F": "98.55"},
                {"source": "DBMS*Comm", "share": "30.78", "F": "153.16"},
                {"source": "Error", "share": "37.07", "F": ""},
            ],
            (3, 3),
        ),
        cells=9,
    )
    assert not found.consistent
    assert found.low is None
    assert "disagree" in found.findings[0]
    assert "Comm 811" in found.findings[0]


def test_mutant_df_is_caught() -> None:
    rows = [
        {"source": "a", "df": "2", "share": "20.00", "F": "50.00"},
        {"source": "b", "df": "3", "share": "30.00", "F": "50.00"},
        {"source": "Residuals", "df": "", "share": "50.00", "F": ""},
    ]
    assert audit(printed_table("right", rows)).low == 250
    rows[1]["df"] = "4"
    assert not audit(printed_table("wrong", rows)).consistent


def test_shares_that_miss_a_source_are_told() -> None:
    rows = [
        {"source": "a", "df": "2", "share": "20.00", "F": "50.00"},
        {"source": "Error", "df": "", "share": "50.00", "F": ""},
    ]
    found = audit(printed_table("half", rows))
    assert "add up to 70.00 %" in found.findings[-1]
    assert not found.consistent


def test_shares_above_a_hundred_are_misprints_and_no_missing_source() -> None:
    rows = [
        {"source": "a", "df": "2", "share": "60.00", "F": "50.00"},
        {"source": "Error", "df": "", "share": "50.00", "F": ""},
    ]
    assert "110.00 %, not to 100: at least one of them is misprinted" in audit(printed_table("much", rows)).findings[-1]


def test_replications_that_are_no_whole_number_mean_unbalanced_data() -> None:
    rows = [
        {"source": "a", "df": "2", "share": "20.00", "F": "50.00"},
        {"source": "Error", "df": "", "share": "50.00", "F": ""},
        {"source": "b", "df": "2", "share": "30.00", "F": "75.00"},
    ]
    found = audit(printed_table("odd", rows), cells=9)
    assert found.low == 250
    assert "not balanced" in found.findings[1]


def test_terminal_says_what_is_implied_and_the_exit_code_that_it_disagrees() -> None:
    result = run(*ROWS, "--levels", "3,3", "--replications", "75")
    assert result.exit_code == 3
    assert "all 3 rows agree on 738 error degrees of freedom" in result.stdout
    assert "747 runs, 83 of each cell; the 75 that are stated leave 666" in result.stdout
    assert run(*ROWS, "--levels", "3,3", "--replications", "83").exit_code == 0


def test_json_of_a_file_with_several_tables() -> None:
    result = run(str(PAPER), "--levels", "3,3", "--json")
    tables = json.loads(result.stdout)["tables"]
    assert result.exit_code == 0
    assert [table["error_df"] for table in tables] == [[738] * 2, [684] * 2, [666] * 2, [747] * 2, [666] * 2, [666] * 2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name either a FILE or the rows"),
        (ROWS[:2], "--row needs --error"),
        (["--row", "DBMS 23", "--error", "3"], "expected SOURCE=SHARE,F"),
        ([*ROWS, "--levels", "3"], "1 levels for 2 single factors"),
        ([*ROWS], "no df, and no levels known of DBMS"),
        ([*ROWS, "--replications", "75"], "--replications needs --levels"),
        ([*ROWS, "--levels", "3,x"], "expected the number of levels"),
        ([*ROWS[:-1], "x", "--levels", "3,3"], "expected a printed number"),
    ],
)
def test_what_cannot_be_audited_says_why(arguments: list[str], message: str) -> None:
    result = run(*arguments)
    assert result.exit_code in (1, 2)
    assert message in result.stderr


def test_figures_that_are_not_positive_are_refused() -> None:
    rows = [{"source": "a", "df": "2", "share": "0", "F": "1"}, {"source": "Error", "df": "", "share": "50", "F": ""}]
    with pytest.raises(DataError, match="must be above 0"):
        audit(printed_table("zero", rows))


def test_a_file_without_the_columns_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("source,F\na,1\n")
    with pytest.raises(UsageError, match="no column 'share'"):
        read_printed(path)
