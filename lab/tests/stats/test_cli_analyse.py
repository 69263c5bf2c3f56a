"""`edgejoule analyse` on files as people have them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from edgejoule.cli.analyse import analyse
from edgejoule.cli.common import Commands
from edgejoule.findings.templates import WORDS_MAX

DATA = Path(__file__).parent / "data"
BREAKS = [str(DATA / "warpbreaks.csv"), "--response", "breaks", "--factors", "wool,tension"]


def run(*arguments: str) -> Result:
    group = Commands("edgejoule")
    group.add_command(analyse)
    return CliRunner().invoke(group, ["analyse", *arguments])


def written(folder: Path, text: str | bytes) -> str:
    path = folder / "data.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return str(path)


def test_json_is_the_documented_form() -> None:
    result = run(*BREAKS, "--json")
    document = json.loads(result.stdout)
    assert result.exit_code == 0
    assert document["anova"][2]["source"] == "wool:tension"
    assert document["anova"][2]["F"] == pytest.approx(4.189, abs=5e-4)
    assert document["groups"][0]["levels"] == {"wool": "B", "tension": "H"}
    assert document["scale"] == "raw"


def test_terminal_shows_verdict_tables_letters_and_checks() -> None:
    result = run(*BREAKS)
    assert result.exit_code == 0
    assert "breaks depends on tension (22.0 % of its variation) and wool × tension (10.9 %)" in result.stdout
    for text in (
        "Analysis of variance",
        "62.2 %",
        "18.78",
        "11.45 to 26.11",
        "Tukey-Kramer",
        "Shapiro-Wilk p =",
        "0.8162",
    ):
        assert text in result.stdout


def test_by_shows_one_analysis_for_each_level() -> None:
    result = run(str(DATA / "warpbreaks.csv"), "--response", "breaks", "--factors", "tension", "--by", "wool")
    assert result.exit_code == 0
    assert "wool A" in result.stdout
    assert "wool B" in result.stdout
    arguments = ["--response", "breaks", "--factors", "tension", "--by", "wool", "--json"]
    document = json.loads(run(str(DATA / "warpbreaks.csv"), *arguments).stdout)
    assert [part["level"] for part in document["analyses"]] == ["A", "B"]


def modelled_csv(folder: Path) -> str:
    rows = [f"{cost + 0.01 * i},{name}" for name, cost in (("a", 1), ("b", 1.5), ("c", 3)) for i in range(4)]
    return written(folder, "\n".join(["energy_j.modelled,f", *rows, ""]))


#: The verdict on a pair ends its line.
DIFFERENT = re.compile(r"\d +differ *$", re.MULTILINE)


def test_a_modelled_response_gets_no_letters_on_the_terminal_until_its_resolution_is_given(tmp_path: Path) -> None:
    arguments = [modelled_csv(tmp_path), "--response", "energy_j.modelled", "--factors", "f", "--scale", "log"]
    bare = run(*arguments).stdout
    assert "not judged" in bare
    assert not DIFFERENT.search(bare)
    assert "--min-ratio R" in bare
    assert "letters  " not in bare
    for output in (bare, run(*arguments, "--min-ratio", "1.77").stdout):
        tables = [line for line in output.splitlines() if line.startswith(("Analysis of", "Geometric", "All pairs"))]
        assert len(tables) == 3
        assert all("modelled" in line or "model resolves" in line for line in tables)
    given = run(*arguments, "--min-ratio", "1.77").stdout
    assert "too close" in given
    assert DIFFERENT.search(given)


def test_a_modelled_response_without_resolution_has_null_letters_in_json(tmp_path: Path) -> None:
    arguments = [modelled_csv(tmp_path), "--response", "energy_j.modelled", "--factors", "f", "--json"]
    document = json.loads(run(*arguments).stdout)
    assert [group["letters"] for group in document["groups"]] == [None, None, None]
    assert not any(pair["significant"] for pair in document["pairs"])
    assert all(pair["why_not"] for pair in document["pairs"])
    assert any("--min-ratio" in note for note in document["notes"])


def test_semicolons_a_byte_order_mark_and_crlf_are_read(tmp_path: Path) -> None:
    path = written(tmp_path, "\ufeffy;f\r\n1.5;a\r\n2.5;a\r\n4;b\r\n5;b\r\n")
    assert run(path, "--response", "y", "--factors", "f").exit_code == 0


@pytest.mark.parametrize("separator", [";", "\t"])
def test_decimal_commas_are_read_where_another_sign_separates(tmp_path: Path, separator: str) -> None:
    text = "\ufefff;y\r\na;1,5\r\na;2\r\nb;4,25\r\nb;5\r\n".replace(";", separator)
    document = json.loads(run(written(tmp_path, text), "--response", "y", "--factors", "f", "--json").stdout)
    assert {group["levels"]["f"]: group["mean"] for group in document["groups"]} == {"a": 1.75, "b": 4.625}
    mixed = run(written(tmp_path, "f;y\na;1,5\na;2.5\nb;4\nb;5\n"), "--response", "y", "--factors", "f")
    assert mixed.exit_code == 2
    assert ":2: column 'y': expected a number, got '1,5' (write all decimals of the column with a point" in mixed.stderr


def test_levels_that_are_equal_numbers_are_one_level(tmp_path: Path) -> None:
    rows = "8,1\n9,1.0\n10,01\n20,2\n21,2\n40,2.5\n41,none\n44,none\n"
    arguments = ["--response", "y", "--factors", "threads", "--json"]
    document = json.loads(run(written(tmp_path, f"y,threads\n{rows}"), *arguments).stdout)
    assert {group["levels"]["threads"]: group["n"] for group in document["groups"]} == {
        "1": 3,
        "2": 2,
        "2.5": 1,
        "none": 2,
    }
    assert document["notes"][0] == "threads: 1 and 1.0 and 01 are the same number and one level"
    lines = "x,y,f\n1,1,1\n2,2,01\n3,3.5,1.0\n1,2,b\n2,3,b\n3,4,b\n"
    fitted = run(written(tmp_path, lines), "--response", "y", "--factors", "f", "--line-on", "x", "--json").stdout
    assert [line["levels"]["f"] for line in json.loads(fitted)["regression"]["lines"]] == ["1", "b"]


def test_missing_cells_are_dropped_and_counted(tmp_path: Path) -> None:
    path = written(tmp_path, "y,f\n1.5,a\n2.5,a\nNA,a\n4,b\n5,b\n6,\n\n")
    result = run(path, "--response", "y", "--factors", "f", "--json")
    assert json.loads(result.stdout)["notes"][0] == "2 of 6 rows dropped: a value is missing"


def test_a_level_named_none_is_a_level(tmp_path: Path) -> None:
    path = written(tmp_path, "y,f\n1.5,none\n2.5,none\n4,sync\n5,sync\n")
    assert json.loads(run(path, "--response", "y", "--factors", "f", "--json").stdout)["n"] == 4


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("y,f\n1,a\n2x,a\n3,b\n", ":3: column 'y': expected a number, got '2x'"),
        ('y,f\n1,a\n"2,5",a\n3,b\n', ":3: column 'y': expected a number, got '2,5' (write decimals with a point)"),
        ("y,f\n1,a\ninf,a\n3,b\n", ":3: column 'y': expected a number, got 'inf'"),
        ("y,f\n1,a\n1_000,a\n", ":3: column 'y': expected a number"),
        ("y,f\n1,a\n2\n", ":3: 1 fields where the header has 2"),
        ('y,f\n"a\nb",c\n1,a,3\n', ":4: 3 fields where the header has 2"),
        ("y,f,y\n1,a,2\n", ":1: the header names 'y' twice"),
        ("", ":1: expected a header line"),
        ("y,f\n", "a header but no data"),
        (b"y,f\n1,a\n\xff,b\n", ":3: not UTF-8 text (byte 0xff)"),
        (b"y,f\n1,\0a\n", ":2: a zero byte"),
        ("y,f\n1,a\n2,b\n", "no degree of freedom"),
    ],
)
def test_files_that_cannot_be_analysed_name_file_line_and_column(
    tmp_path: Path, content: str | bytes, message: str
) -> None:
    path = written(tmp_path, content)
    result = run(path, "--response", "y", "--factors", "f", "--json")
    assert result.exit_code == (1 if message == "no degree of freedom" else 2)
    assert message in result.stderr
    assert result.stdout == ""
    assert len(result.stderr.strip().splitlines()) == 1


def test_a_missing_file_and_a_folder_are_reported(tmp_path: Path) -> None:
    for path in (tmp_path / "no.csv", tmp_path):
        result = run(str(path), "--response", "y", "--factors", "f")
        assert result.exit_code == 2
        assert f"{path}: cannot be read" in result.stderr


def test_an_unknown_column_suggests_the_nearest() -> None:
    result = run(str(DATA / "warpbreaks.csv"), "--response", "brakes", "--factors", "wool")
    assert result.exit_code == 2
    assert "no column 'brakes'; did you mean 'breaks'?" in result.stderr


def test_markup_in_the_data_is_shown_as_it_is(tmp_path: Path) -> None:
    path = written(tmp_path, "y[J],f\n1.5,[red]\n2.5,[red]\n4,[/b]\n5,[/b]\n")
    result = run(path, "--response", "y[J]", "--factors", "f")
    assert result.exit_code == 0
    assert "[red]" in result.stdout
    assert "[/b]" in result.stdout
    assert "y[J]" in result.stdout


def shared_loads_csv(folder: Path) -> str:
    lines = ["energy_j.counted,settled_s,database,workload,load,run"]
    for index in range(48):
        load, workload, database = index // 4, "xy"[index % 2], "ab"[index // 24]
        energy = 10 + (load * 7) % 5 + 3 * (database == "b") + 0.5 * (workload == "y") + 0.1 * ((index * 13) % 7)
        lines.append(f"{energy},{energy / 2 + 0.05 * ((index * 5) % 3)},{database},{workload},L{load},{index + 1}")
    return written(folder, "\n".join([*lines, ""]))


def test_loads_are_shown_as_replications_with_both_errors(tmp_path: Path) -> None:
    arguments = ["--response", "energy_j.counted", "--factors", "database,workload", "--unit", "load"]
    result = run(shared_loads_csv(tmp_path), *arguments)
    assert result.exit_code == 0, result.stderr
    for text in (
        "residual between load",
        "residual within load",
        "loads",
        "48 runs on 12 loads",
        "each pair its own df",
    ):
        assert text in result.stdout


@pytest.mark.parametrize(
    ("test", "texts"),
    [
        (
            "games-howell",
            ["Welch's F(5, 21.8) = 4.556, p = 0.0054", "Games-Howell, each pair its own df", "effect (Hedges' g)"],
        ),
        ("kruskal-dunn-holm", ["Kruskal-Wallis H(5) =", "Dunn, adjusted by Holm", "effect (Cliff's δ)"]),
    ],
)
def test_the_declared_test_is_offered_and_named(test: str, texts: list[str]) -> None:
    result = run(*BREAKS, "--test", test)
    assert result.exit_code == 0
    assert all(text in result.stdout for text in texts)
    document = json.loads(run(*BREAKS, "--test", test, "--json").stdout)
    assert document["test"] == test
    assert document["omnibus"]["p"] < 0.05


def test_a_line_per_group_stands_beside_the_analysis(tmp_path: Path) -> None:
    path = shared_loads_csv(tmp_path)
    arguments = [path, "--response", "energy_j.counted", "--factors", "database", "--line-on", "settled_s"]
    shown = run(*arguments).stdout
    assert "energy_j.counted = intercept + slope × settled_s, n = 48" in shown
    assert "equal slopes" in shown
    document = json.loads(run(*arguments, "--json").stdout)
    assert [line["levels"]["database"] for line in document["regression"]["lines"]] == ["a", "b"]


def test_a_line_through_modelled_energy_is_refused_before_anything_is_shown(tmp_path: Path) -> None:
    path = modelled_csv(tmp_path)
    result = run(path, "--response", "energy_j.modelled", "--factors", "f", "--line-on", "energy_j.modelled")
    assert result.exit_code == 2
    assert "near 1 by construction" in result.stderr
    assert result.stdout == ""


def test_margin_precision_looks_distribution_order_and_aa_are_reported(tmp_path: Path) -> None:
    options = [
        "--margin",
        "1.1",
        "--precision",
        "1.02",
        "--cdf",
        "--aa",
        "--order",
        "run",
        "--looks",
        "24,48",
        "--look",
        "1",
    ]
    arguments = [
        shared_loads_csv(tmp_path),
        "--response",
        "energy_j.counted",
        "--factors",
        "database",
        "--scale",
        "log",
    ]
    result = run(*arguments, *options)
    assert result.exit_code == 0, result.stderr
    for text in (
        "same: within 1.1×",
        "each mean within a factor of 1.02: about",
        "declared first stage of Stein's procedure",
        "Distribution of energy_j.counted",
        "A/A, random halves of each group",
        "look 1 of 2",
        "lag-1 autocorrelation",
    ):
        assert text in result.stdout, text
    document = json.loads(run(*arguments, *options, "--json").stdout)
    assert document["sequential"]["look"] == 1
    assert document["pairs"][0]["p_equivalent"] is not None


SYNCS = "database,workload,syncs_per_write,syncs\n" + "".join(
    f"{database},{workload},{syncs},{syncs}\n"
    for database, syncs in (("sqlite", "2.00"), ("leveldb", "1.00"), ("lmdb", "1"))
    for workload in ("read", "write")
    for _ in range(3)
)


def test_constant_counts_are_compared_exactly_as_in_a_study(tmp_path: Path) -> None:
    path = written(tmp_path, SYNCS)
    result = run(path, "--response", "syncs_per_write", "--factors", "database")
    assert result.exit_code == 0
    text = " ".join(result.stdout.split())
    assert text.startswith(
        "Lowest syncs of the database for each write with leveldb or lmdb (equal): 1.00; 2.0× as much with sqlite; "
        "exact."
    )
    assert "counts are constant in each cell and compared exactly" in text
    document = json.loads(run(path, "--response", "syncs_per_write", "--factors", "database", "--json").stdout)
    assert document["exact"] is True
    assert document["verdict"] in text
    assert [(group["n"], group["value"]) for group in document["groups"]] == [(6, 1.0), (6, 1.0), (6, 2.0)]


def test_constant_counts_are_compared_for_each_level_of_by(tmp_path: Path) -> None:
    arguments = [written(tmp_path, SYNCS), "--response", "syncs_per_write", "--factors", "database", "--by", "workload"]
    assert run(*arguments).stdout.count("; exact.") == 2
    assert [part["level"] for part in json.loads(run(*arguments, "--json").stdout)["analyses"]] == ["read", "write"]


def test_a_count_of_zero_is_compared_by_the_difference_and_equal_counts_are_equal(tmp_path: Path) -> None:
    arguments = ["--response", "syncs_per_write", "--factors", "f"]
    zero = run(written(tmp_path, "syncs_per_write,f\n0,a\n0,a\n3,b\n3,b\n"), *arguments).stdout
    assert "Lowest syncs of the database for each write with f a: 0; 3.00 more with f b; exact." in " ".join(
        zero.split()
    )
    equal = run(written(tmp_path, "syncs_per_write,f\n3,a\n3,a\n3,b\n3,b\n"), *arguments).stdout
    assert "Syncs of the database for each write: equal (exact) with f a and b." in " ".join(equal.split())


@pytest.mark.parametrize("column", ["syncs", "active_s"])
def test_identical_values_that_are_no_known_count_are_not_compared(tmp_path: Path, column: str) -> None:
    path = written(tmp_path, SYNCS.replace("write,syncs\n", f"write,{column}\n"))
    result = run(path, "--response", column, "--factors", "database")
    assert result.exit_code == 1
    assert "replications are identical" in result.stderr


def test_one_count_of_a_cell_is_not_compared_exactly(tmp_path: Path) -> None:
    path = written(tmp_path, "syncs_per_write,f\n1,a\n2,b\n")
    assert run(path, "--response", "syncs_per_write", "--factors", "f").exit_code == 1


def test_a_check_that_cannot_be_used_gives_the_reason(tmp_path: Path) -> None:
    def checks(text: str, *arguments: str) -> str:
        done = run(written(tmp_path, text), "--response", "y", "--factors", "f", *arguments)
        assert done.exit_code == 0
        assert "no p" not in done.stdout
        return " ".join(done.stdout.split())

    two = "y,f,b\n1,a,1\n2,a,2\n5,b,1\n7,b,2\n9,c,1\n12,c,2\n"
    assert "Brown-Forsythe cannot be used: it needs three values in a cell" in checks(two)
    blocks = "y,f,b\n" + "".join(f"{value},{'ab'[i % 2]},{i // 2}\n" for i, value in enumerate((1, 5, 2, 7, 2.5, 6)))
    reason = "Brown-Forsythe cannot be used: in blocks, two cells always have the same variance"
    assert reason in checks(blocks, "--block", "b")
    assert json.loads(run(written(tmp_path, two), "--response", "y", "--factors", "f", "--json").stdout)["diagnostics"][
        "brown_forsythe"
    ] == {"statistic": None, "p": None, "reason": "it needs three values in a cell"}


def test_sums_of_squares_of_large_figures_have_a_power_of_ten_in_the_heading(tmp_path: Path) -> None:
    rows = "".join(f"{(i % 7) * 40_000 + 200_000 * (i % 2)},{'ab'[i % 2]}\n" for i in range(20))
    arguments = [written(tmp_path, f"y,f\n{rows}"), "--response", "y", "--factors", "f"]
    text = run(*arguments).stdout
    assert "SS / 10⁹" in text
    assert not re.search(r"\de[+-]\d", text)
    full = json.loads(run(*arguments, "--json").stdout)["anova"][0]["ss"]
    assert f"{full / 1e9:#.4g}".rstrip(".") in text


LONG = ("of-the-machine-in-the-cellar", "with a name of several words", "x")


@pytest.mark.parametrize("test", ["tukey", "games-howell", "kruskal-dunn-holm"])
@pytest.mark.parametrize("options", [(), ("--margin", "50"), ("--scale", "log", "--min-ratio", "1.2")], ids=str)
@pytest.mark.parametrize("step", [0, 8])
def test_the_headline_has_at_most_25_words(tmp_path: Path, test: str, options: tuple[str, ...], step: int) -> None:
    response = "a response whose name has ten words and more, y"
    lines = [
        f"{10 + (i * 7) % 5 + step * (i % 3) + step * (i // 3 % 2)},{LONG[i % 3]},{LONG[i // 3 % 2]},{LONG[i // 6 % 2]}"
        for i in range(48)
    ]
    path = written(tmp_path, "\n".join([f'"{response}",first factor,second,third', *lines, ""]))
    if test == "kruskal-dunn-holm" and "--margin" in options:
        options = ()  # ranks have no margin
    arguments = ["--response", response, "--factors", "first factor,second,third", "--test", test, *options]
    result = run(path, *arguments)
    assert result.exit_code == 0, result.stderr
    first = result.stdout.strip().splitlines()[0]
    assert first.endswith(".")
    assert len(first.split()) <= WORDS_MAX
    assert "y" in first.replace(",", " ").split()


def test_a_headline_that_is_shortened_has_the_whole_verdict_below() -> None:
    first, second = run(*BREAKS).stdout.strip().splitlines()[:2]
    assert first == (
        "breaks depends on tension (22 %) and wool × tension (11 %); lowest mean 18.78 with wool B, tension H."
    )
    assert second.startswith("breaks depends on tension (22.0 % of its variation) and wool × tension (10.9 %)")


def test_by_ends_with_the_extremes_of_the_medians() -> None:
    result = run(str(DATA / "warpbreaks.csv"), "--response", "breaks", "--factors", "tension", "--by", "wool")
    assert "Lowest and highest median by wool" in result.stdout
    arguments = [str(DATA / "warpbreaks.csv"), "--response", "breaks", "--factors", "tension", "--by", "wool", "--json"]
    assert json.loads(run(*arguments).stdout)["extremes"][0]["lowest"] == {"levels": {"tension": "M"}, "median": 21.0}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--look", "1"], "--look needs --looks"),
        (["--looks", "5,10"], "name both the declared looks and which"),
        (["--looks", "5,x", "--look", "1"], "whole numbers separated by commas"),
        (["--looks", "5,10", "--look", "1"], "another time than declared"),
        (["--test", "t"], "is not one of"),
        (["--unit", "nobody"], "no column 'nobody'"),
    ],
)
def test_options_that_contradict_are_refused(options: list[str], message: str) -> None:
    result = run(*BREAKS, *options)
    assert result.exit_code in (1, 2)
    assert message in result.stderr


def test_positive_values_that_the_raw_scale_suits_badly_get_a_hint(tmp_path: Path) -> None:
    def shown(*values: float) -> str:
        text = "y,f\n" + "".join(f"{value},{'ab'[at % 2]}\n" for at, value in enumerate(values))
        result = run(written(tmp_path, text), "--response", "y", "--factors", "f")
        assert result.exit_code == 0
        return " ".join(result.stdout.split())

    below_zero = "all values of y are positive and an interval reaches below zero: --scale log compares ratios"
    assert below_zero in shown(100, 120, 9000, 130, 80, 90000, 140, 70)
    spread = "all values of y are positive and they differ by 10× or more within a group: --scale log compares ratios"
    assert spread in shown(1, 50, 12, 55, 12, 52, 12, 53, 12, 54, 12, 51, 12, 57)
    assert "--scale log" not in shown(100, 120, 110, 130, 105, 125)
    assert "--scale log" not in shown(-1, 120, 9000, 130, 80, 90000, 140, 70)


def test_a_small_share_of_the_variation_is_not_called_0(tmp_path: Path) -> None:
    rows = "".join(f"{'AB'[i % 2]},{i % 100 + 3 * (i % 2)}\n" for i in range(20_000))
    shown = run(written(tmp_path, "db,y\n" + rows), "--response", "y", "--factors", "db").stdout
    assert "y depends on db (0.5 %); lowest mean" in shown
    assert "Tukey-Kramer, 19,998 df" in shown


@pytest.mark.parametrize("scale", ["raw", "log"])
def test_a_value_whose_square_is_no_number_is_refused_on_each_scale(tmp_path: Path, scale: str) -> None:
    table = "db,y\nA,1e308\nA,1.1e308\nB,1e308\nB,1.2e308\n"
    result = run(written(tmp_path, table), "--response", "y", "--factors", "db", "--scale", scale)
    assert result.exit_code == 1
    assert "1.2e+308 is too large" in result.stderr
