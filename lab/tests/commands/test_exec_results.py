"""What `edgejoule exec` shows: bars, figures, the noise floor and one verdict, at every width and in every case."""

from __future__ import annotations

import csv
import io
import json
import re
import statistics
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from exec_study import request, result
from rich.console import Console

from edgejoule.exec.export import exported, to_json
from edgejoule.exec.results import NoiseFloor, Result, label_of
from edgejoule.exec.verdict import TEMPLATES, WORDS_MAX, share_words, short_names, verdict
from edgejoule.exec.view import bar_of, shortened, show, with_half
from edgejoule.meters.base import Method
from edgejoule.stats import aa
from edgejoule.stats.describe import describe


@pytest.fixture(autouse=True)
def _without_random_halves() -> Iterator[None]:
    """The A/A comparison within each analysis costs more than all else, and none of it is shown here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(aa, "_SPLITS", 1)
        yield


LONG = ("gzip -k -9 --force /some/long/path/input.bin", "zstd -q -k --force /some/long/path/input.bin")


def shown(result: Result, width: int, *, terminal: bool = True) -> str:
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=terminal, color_system=None, highlight=False)
    show(console, result)
    return out.getvalue()


def case(folder: Path, costs: Mapping[str, float], **given: Any) -> Result:
    options = {key: given.pop(key) for key in ("control", "setup", "lists", "runs", "names") if key in given}
    commands = [name for name in costs if not name.endswith("(control)")]
    return result(folder, request(commands, **options), costs, **given)


SAME = {"a one": 0.5, "b one": 0.5}
TWO = {"a one": 0.5, "b one": 0.2}
MANY = {"a": 0.5, "b": 0.2, "c": 0.4, "d": 0.6}
LEAD = {"a": 0.2, "b": 0.2, "c": 0.4, "d": 0.6}
ALIKE = {"a": 0.5, "b": 0.5, "c": 0.5}
TURN = {"setup": ("make a", "make b")}


@pytest.mark.parametrize(
    ("costs", "given", "expected"),
    [
        ({"a": 0.5}, {}, "a takes # J of energy (counted), ± # % (# %), from # runs."),
        ({"a": 0.5}, {"runs": 1}, "a took # J of energy (counted) in one run, so there is no interval."),
        (TWO, {}, "b one takes the least energy (counted); a one takes #× as much."),
        (TWO, TURN, "b one takes the least energy (counted); a one takes #× as much; they ran one after another."),
        (TWO, {"runs": 1}, "b one took the least energy (counted); nothing is tested."),
        (SAME, {}, "No difference in energy (counted) between a one and b one shows; the runs resolve # %."),
        (SAME, TURN, "No difference in energy (counted) between a one and b one shows; they ran one after another."),
        (MANY, {}, "b takes the least energy (counted); the next, c, takes #× as much."),
        (LEAD, {}, "# of # commands tie for the least energy (counted); the others take #× or more."),
        (ALIKE, {"runs": 5}, "No difference in energy (counted) between # commands shows; the runs resolve # %."),
        ({"a": 0.5}, {"values": False}, "No run has a value of energy (counted), so there is no verdict."),
        ({"a": 0.5}, {"method": Method.MODELLED}, "a takes # ms of CPU time, ± # % (# %), from # runs."),
    ],
)
def test_every_case_has_its_sentence(
    tmp_path: Path, costs: Mapping[str, float], given: dict[str, Any], expected: str
) -> None:
    """A # stands for a figure."""
    assert re.sub(r"[\d.]*\d", "#", verdict(case(tmp_path, costs, **given))) == expected


def test_figures_without_a_ratio_are_compared_in_a_sentence(tmp_path: Path) -> None:
    result = case(tmp_path, TWO)
    alike = replace(result, rows=tuple(replace(row, ratio=None, ratio_ci=None, tied=True) for row in result.rows))
    assert verdict(alike).endswith("between 2 commands shows, in figures that have no ratio.")


def test_other_programs_and_a_control_that_differs_leave_no_verdict(tmp_path: Path) -> None:
    result = case(tmp_path, TWO)
    assert result.decides is not None
    disturbed = replace(result, decides=replace(result.decides, unusable="other programs"))
    assert verdict(disturbed) == "Other programs disturbed these runs, so energy (counted) is not compared."
    differs = replace(result, floor=NoiseFloor(1.1, (1.05, 1.15), differs=True))
    assert (
        verdict(differs) == "The control differs from its own command in energy (counted): these runs decide nothing."
    )


@pytest.mark.parametrize("template", TEMPLATES.values(), ids=list(TEMPLATES))
def test_no_sentence_has_more_than_20_words(template: str) -> None:
    first, second = short_names([*LONG])
    values = {
        "what": "energy (modelled)", "first": first, "second": second, "value": "1.50 mJ", "precision": "4.2",
        "vague": first, "n": 59, "times": "2.48", "resolved": "2.5×", "all": 10, "tied": 3,
    }  # fmt: skip
    sentence = template.format_map(values)
    assert len(sentence.split()) <= WORDS_MAX, sentence


LOPSIDED = [0.005, 2.58, 0.004, 2.61]


def test_a_mean_is_arithmetic_everywhere_and_energy_is_mean_power_times_wall_time(tmp_path: Path) -> None:
    result = case(tmp_path, {"a": 1.0}, runs=4, series={"a": LOPSIDED}, watts=(1, 3, 1, 2))
    (row,) = to_json(result)["results"]
    responses = row["responses"]
    assert responses["cpu_s"]["mean"] == pytest.approx(sum(LOPSIDED) / 4)
    assert row["mean"] == responses["active_s"]["mean"] == pytest.approx(1.1 * sum(LOPSIDED) / 4)
    assert responses["power_mean_w"]["mean"] * row["mean"] == pytest.approx(responses["energy_j"]["mean"])
    (line,) = csv.DictReader(io.StringIO(exported(result, "csv")))
    assert float(line["cpu_s"]) == pytest.approx(sum(LOPSIDED) / 4)
    assert "1.4 ± 2.6" in shown(result, 200), "wall time, with two digits of the mean at least"
    assert "make more runs" in verdict(result)


def test_the_interval_of_a_mean_has_the_spread_of_the_first_stage_alone(tmp_path: Path) -> None:
    result = case(tmp_path, {"a": 0.5}, runs=None, spread=0.1)
    values = [value for run in result.runs_of(result.rows[0]) if (value := run.value("active_s")) is not None]
    assert len(values) > 10
    first = describe(values[:10]).sd
    assert first is not None
    mean, (low, high) = result.rows[0].mean("active_s") or 0, result.rows[0].cells["active_s"].ci or (0, 0)
    assert mean == pytest.approx(statistics.fmean(values))
    assert high - mean == pytest.approx(mean - low)
    assert high - mean == pytest.approx(2.262157 * first / len(values) ** 0.5)


def test_a_ratio_is_that_of_geometric_means_and_the_page_reports_it(tmp_path: Path) -> None:
    result = case(tmp_path, TWO, runs=4, series={"a one": [2, 3, 2, 3], "b one": [1, 1, 1.1, 0.9]})
    geometric = statistics.geometric_mean([2, 3, 2, 3]) / statistics.geometric_mean([1, 1, 1.1, 0.9])
    assert result.rows[0].ratio == pytest.approx(geometric)
    assert "Means are arithmetic, so amounts add up; ratios are those of geometric means." in shown(result, 120)
    assert "geometric" in to_json(result)["definitions"]["ratio_to_best"]


SHELL = {"shell": "/bin/sh", "start_s": 1e-3, "cpu_s": 8e-4}


@pytest.mark.parametrize(
    "short", [[0.0, 0.0, 0.0, 0.0], [1e-20, -1e-20, 0.0, -4e-20], [2e-5, -1e-5, 4e-5, -2e-5], [1e-5, 9e-4, 1e-5, 1e-5]]
)
def test_a_command_not_distinguishable_from_its_shells_start_has_no_ratio_and_no_letter(
    tmp_path: Path, short: list[float]
) -> None:
    result = case(tmp_path, TWO, runs=4, series={"a one": [0.5, 0.51, 0.52, 0.5], "b one": short}, shell=SHELL)
    document = to_json(result)
    assert [(r["ratio_to_best"], r["ratio_ci"]) for r in document["results"]] == [(None, None)] * 2
    assert [r["resolved"] for r in document["results"]] == [True, False]
    assert document["results"][1]["letters"] is None
    rows = list(csv.DictReader(io.StringIO(exported(result, "csv"))))
    assert [row["ratio_to_best"] for row in rows] == ["", ""]
    assert verdict(result) == (
        "No ratio of energy (counted): b one is shorter than its shell's start resolves; use -N or repeat more."
    )
    assert "×" not in shown(result, 120)
    alone = case(tmp_path / "x", {"b one": 1}, runs=4, series={"b one": short}, shell=SHELL)
    assert verdict(alone) == "b one is shorter than its shell's start resolves; use -N or repeat more."


def test_a_control_with_an_interval_that_holds_0_gives_no_noise_floor(tmp_path: Path) -> None:
    series = {"a one": [0.01, 5.0, 0.02], "b one": [0.5, 0.51, 0.52], "a one (control)": [4.0, 0.01, 0.02]}
    result = case(tmp_path, {**TWO, "a one (control)": 1}, control=True, runs=3, series=series)
    assert result.floor is None
    assert verdict(result) == "No ratio of energy (counted): the 95 % interval of a one holds 0; make more runs."


def test_the_start_of_the_shell_is_shown_with_its_cpu_time(tmp_path: Path) -> None:
    text = shown(case(tmp_path, TWO, shell=SHELL), 200)
    assert "The start of /bin/sh is subtracted: 1.00 ms of wall time, 0.800 ms of CPU time." in text.replace(
        "800 µs", "0.800 ms"
    )
    assert "no interval holds its uncertainty" in text


def test_means_that_disagree_with_the_ratios_decide_nothing(tmp_path: Path) -> None:
    series = {"a one": [1.0, 1.01, 1.0, 1.01, 1.0, 1.01, 1.0, 1.01], "b one": [0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 8.0]}
    result = case(tmp_path, TWO, runs=8, series=series)
    worse = replace(result, rows=tuple(replace(r, tied=r.label != "a one", resolved=True) for r in result.rows))
    assert verdict(worse).endswith("arithmetic and geometric means disagree.")


def test_wall_time_that_differs_where_cpu_time_does_not_is_reported_in_a_second_line(tmp_path: Path) -> None:
    result = case(tmp_path, SAME, method=Method.MODELLED, wall={"b one": 1.4})
    text = shown(result, 120)
    assert "No difference in CPU time between a one and b one shows" in text
    assert "a one takes the least wall time; b one takes 1.4" in text
    assert to_json(result)["verdict_wall_time"] == text.strip().splitlines()[-1]
    assert to_json(case(tmp_path / "x", SAME))["verdict_wall_time"] is None


def test_flags_of_one_kind_are_one_line_with_their_range(tmp_path: Path) -> None:
    result = case(tmp_path, {"a": 0.5}, runs=3)
    runs = [
        replace(run, flags=(f"other programs took {share}% of the CPU", "throttled")[: 1 + i])
        for i, (run, share) in enumerate(zip(result.runs, ("83", "98", "9.5"), strict=True))
    ]
    result = replace(result, runs=runs)
    line = "other programs took 9.5–98% of the CPU"
    assert to_json(result)["flags"] == [{"flag": line, "runs": 3}, {"flag": "throttled", "runs": 2}]
    assert f"! 3 of 3 runs: {line}\n! 2 of 3 runs: throttled" in shown(result, 120)


def test_a_difference_above_100_percent_is_a_factor() -> None:
    assert share_words(0.025) == "2.5 %"
    assert share_words(229) == "230×"


def test_names_that_begin_alike_are_numbered() -> None:
    assert short_names(["gzip -k a", "gzip -k b"]) == ["gzip -k a", "gzip -k b"]
    assert short_names(["python3 -m app one", "python3 -m app two"]) == ["command 1", "command 2"]


def test_the_noise_floor_is_what_the_same_command_may_differ_by(tmp_path: Path) -> None:
    result = case(tmp_path, {**TWO, "a one (control)": 0.5}, control=True)
    assert result.floor is not None
    assert not result.floor.differs
    assert result.floor.share == pytest.approx(max(result.floor.ratio_ci[1], 1 / result.floor.ratio_ci[0]) - 1)
    assert "Noise floor: 2." in shown(result, 120)
    assert f"the {result.decides.label} of the command that it repeats" in " ".join(shown(result, 120).split())
    assert [row.control for row in result.rows] == [False, False, True]
    assert "b one takes the least" in verdict(result), "the control is no candidate"


@pytest.mark.parametrize("width", [80, 120, 200])
def test_a_line_a_command_is_as_wide_as_the_terminal(tmp_path: Path, width: int) -> None:
    names = (*LONG, f"{LONG[0]} (control)")
    result = case(tmp_path, dict(zip(names, (0.5, 0.2, 0.5), strict=True)), control=True)
    lines = shown(result, width).splitlines()
    assert max(map(len, lines)) <= width, max(lines, key=len)
    bars = [line for line in lines if "█" in line]
    assert len(bars) == 3
    assert len(bars[0]) >= width - 2
    assert bars[1].rstrip().endswith("best")


def test_energy_has_its_method_and_uncertainty_and_the_bytes_say_whose_they_are(tmp_path: Path) -> None:
    text = shown(case(tmp_path, TWO), 200)
    heading = text[: text.index("a one", text.index("above idle"))]
    assert heading.count("counted") >= 3
    assert "J k = 2" in heading
    for word in ("CPU", "wall", "context", "switches", "peak", "memory", "tree", "device", "reads", "writes"):
        assert word in heading, word
    assert re.search(r"1\.\d\d ± 0\.1\d ", text), text


def test_a_pipe_gets_whole_lines_and_no_colours(tmp_path: Path) -> None:
    text = shown(case(tmp_path, TWO, flags=["throttled"]), 10_000, terminal=False)
    assert "\x1b" not in text
    assert "! 24 of 24 runs: throttled" in text
    assert any(len(line) > 80 for line in text.splitlines()), "the figures stand in one table"


def test_the_precision_that_the_budget_gave_is_printed(tmp_path: Path) -> None:
    result = case(tmp_path, {"a": 0.5}, runs=None, spread=0.2)
    assert "the budget of 60 s holds 40, which gives ±" in shown(result, 200)
    (first, second) = result.looks
    assert (first["total"], second["capped"]) == (60, True)
    assert second["precision"] > 1.05


def test_a_bar_is_full_to_its_interval_and_shaded_within_it() -> None:
    assert bar_of(5, 8, 10, 10) == "█████▒▒▒  "
    assert bar_of(0, 0, 10, 4) == "    "
    assert bar_of(0.01, 0.01, 10, 4) == "█   ", "a value is never nothing"
    assert bar_of(5, 10, 10, 10, ascii_only=True) == "#####====="


def test_a_value_ends_at_the_second_digit_of_its_uncertainty() -> None:
    assert with_half(1.7654, 0.1123) == "1.77 ± 0.11"
    assert with_half(-0.1222, 290.4) == "−0.12 ± 290", "an uncertainty never hides the value"
    assert with_half(0.111, 36.2) == "0.11 ± 36"
    assert with_half(1e-20, 0.01) == "0.000000000 ± 0.010", "what rounding leaves of nothing"
    assert with_half(-12.34, 1.5) == "−12.3 ± 1.5"
    assert with_half(12345.6, 12.3) == "12,346 ± 12"
    assert with_half(0.5, None) == "0.500"


def test_the_phases_of_a_command_have_the_means_of_its_runs(tmp_path: Path) -> None:
    result = case(tmp_path, {"a": 0.5}, runs=2)
    phase = {
        "name": "load",
        "duration_s": 0.4,
        "energy_j": 2.0,
        "uncertainty_k2_j": 0.2,
        "read_bytes": 0,
        "write_bytes": 5e6,
    }
    runs = [
        replace(run, facts={**run.facts, "phases": [phase, {**phase, "name": "work", "duration_s": 0.2 * (i + 1)}]})
        for i, run in enumerate(result.runs)
    ]
    result = replace(result, runs=runs)
    load, work = result.phases(result.rows[0])
    assert (load.name, work.duration_s) == ("load", pytest.approx(0.3))
    lines = shown(result, 80).splitlines()
    start = lines.index("Phases, the mean of all runs")
    assert [line.split()[0] for line in lines[start + 5 : start + 7]] == ["load", "work"]
    assert "2.00 ± 0.20" in lines[start + 5]
    assert to_json(result)["results"][0]["phases"][0]["energy_j"] == 2.0


def test_a_long_command_keeps_its_begin_and_its_end() -> None:
    assert shortened("gzip -k /path/file.bin", 11) == "gzip …e.bin"
    assert label_of({"workload": "make -j {n}", "n": 4}) == "make -j 4"
    assert label_of({"workload": "build", "n": 4, "kind": "x"}) == "build (n = 4, kind = x)"


def test_the_exports_agree_with_what_is_shown(tmp_path: Path) -> None:
    result = case(tmp_path, {"make -j {n} | cat": 0.5}, lists=[("n", "1,2")])
    document = json.loads(exported(result, "json"))
    assert document == json.loads(json.dumps(to_json(result)))
    assert [r["command"] for r in document["results"]] == ["make -j 1 | cat", "make -j 2 | cat"]
    assert document["results"][1]["parameters"] == {"n": 2}
    assert len(document["results"][0]["times"]) == 12
    assert document["results"][0]["responses"]["energy_j"]["method"] == "counted"
    assert document["verdict"] == verdict(result)
    rows = list(csv.DictReader(io.StringIO(exported(result, "csv"))))
    assert [row["parameter_n"] for row in rows] == ["1", "2"]
    assert float(rows[0]["energy_j.counted"]) == document["results"][0]["responses"]["energy_j"]["mean"]
    table = exported(result, "markdown")
    assert "| energy counted [J k = 2] |" in table
    assert "`make -j 1 \\| cat`" in table
