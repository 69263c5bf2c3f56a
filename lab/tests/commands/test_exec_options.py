"""`edgejoule exec` understands its options as hyperfine's users expect, and makes an experiment of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import edgejoule
from exec_study import request
from hypothesis import given
from hypothesis import strategies as st

from edgejoule import toml_text
from edgejoule.errors import UsageError
from edgejoule.exec import options as exec_options
from edgejoule.exec.options import commands_of, parameters_of, shell_of
from edgejoule.exec.spec import spec_text
from edgejoule.experiment.command import filled, unescaped
from edgejoule.experiment.plan import make_plan
from edgejoule.experiment.read import spec_of_text
from edgejoule.meters.base import Method


def dry(folder: Path, *arguments: str) -> dict[str, object]:
    """The experiment that the command line makes."""
    done = edgejoule(folder, "exec", "--dry-run", "--meter", "board-profile", *arguments)
    assert done.returncode == 0, done.stderr
    spec_of_text(done.stdout, folder / "exec.toml")
    return toml_text.loads(done.stdout)


def refused(folder: Path, *arguments: str) -> str:
    done = edgejoule(folder, "exec", "--dry-run", "--meter", "board-profile", *arguments)
    assert done.returncode == 2, (done.returncode, done.stdout, done.stderr)
    return done.stderr.strip().splitlines()[-1]


def test_behind_two_dashes_stands_one_argv_that_no_shell_reads(tmp_path: Path) -> None:
    made = dry(tmp_path, "-r", "3", "--", "echo", "$HOME", "{x}", "a b")
    assert made["workloads"]["echo '$HOME' '{x}' 'a b'"]["command"] == ["echo", "$HOME", "{{x}}", "a b"]  # type: ignore[index]


def test_a_quoted_command_is_a_text_for_the_shell(tmp_path: Path) -> None:
    made = dry(tmp_path, "echo a | wc -c", "true")
    assert made["factors"] == {"workload": ["echo a | wc -c", "true"]}
    assert made["workloads"]["echo a | wc -c"] == {"command": "echo a | wc -c", "cwd": "{folder}", "output": "discard"}  # type: ignore[index]


def test_without_a_number_of_runs_two_stages_end_within_the_budget(tmp_path: Path) -> None:
    made = dry(tmp_path, "--budget", "30", "true", "false")
    assert made["design"] == {
        "replications": 15,
        "sequential": {"kind": "stein", "first": 10, "precision": 1.05, "budget_s": 30.0},
    }
    assert dry(tmp_path, "--runs", "7", "true")["design"] == {"replications": 7}


def test_where_joules_are_modelled_cpu_time_decides(tmp_path: Path) -> None:
    asked = request(["true"])
    first = {m: spec_of_text(spec_text(asked, m), tmp_path / "e.toml").analysis.responses[0] for m in Method}
    assert first == {Method.MODELLED: "cpu_s", Method.COUNTED: "energy_j", Method.MEASURED: "energy_j"}


def test_parameters_become_factors_and_all_combinations_are_run(tmp_path: Path) -> None:
    made = dry(
        tmp_path, "-L", "level", "1,9", "-L", "kind", "a\\,b,c", "-r", "2", "run {level} {kind} {other} ${level}"
    )
    assert made["factors"] == {
        "workload": ["run {level} {kind} {other} ${level}"], "level": [1, 9], "kind": ["a,b", "c"],
    }  # fmt: skip
    (workload,) = made["workloads"].values()  # type: ignore[attr-defined]
    assert workload["command"] == "run {level} {kind} {{other}} ${level}"


@pytest.mark.parametrize(
    ("low", "high", "step", "values"),
    [
        ("1", "4", None, [1, 2, 3, 4]),
        ("0.3", "0.7", "0.2", [0.3, 0.5, 0.7]),
        ("-1", "1", "1", [-1, 0, 1]),
        ("1", "10", "4", [1, 5, 9]),
        ("1.0", "2.0", "0.50", ["1.00", "1.50", "2.00"]),
    ],
)
def test_a_scan_takes_decimal_steps_without_rounding(
    low: str, high: str, step: str | None, values: list[object]
) -> None:
    assert parameters_of([], ("x", low, high), step) == {"x": values}


@given(st.text(alphabet="ab{}$_ -.", max_size=30))
def test_whatever_stands_in_braces_arrives_as_typed_unless_it_is_a_parameter(text: str) -> None:
    if not text.strip():
        return
    (one,) = commands_of([text], None, [], {}, [], shell="/bin/sh", parameters=["p"])
    assert isinstance(one.command, str)
    assert unescaped(filled(one.command, {"p": 1})) == text


def test_setups_that_differ_put_the_commands_one_after_another(tmp_path: Path) -> None:
    same = ("--setup", "make", "--prepare", "sync", "--prepare", "true", "-r", "2", "a", "b")
    assert "order" not in dry(tmp_path, *same)["design"]  # type: ignore[operator]
    made = dry(tmp_path, "--setup", "make a", "--setup", "make b", "-r", "2", "a", "b")
    assert made["design"] == {"replications": 2, "order": "one-after-another"}
    assert [w["setup"] for w in made["workloads"].values()] == ["make a", "make b"]  # type: ignore[attr-defined]
    by_value = dry(tmp_path, "-L", "n", "1,2", "--cleanup", "rm {n}", "-r", "2", "a {n}")
    assert by_value["design"] == {"replications": 2, "order": "one-after-another"}


def test_a_control_is_the_first_command_once_more(tmp_path: Path) -> None:
    made = dry(tmp_path, "--control", "-n", "one", "-r", "2", "a", "b")
    assert made["factors"] == {"workload": ["one", "b", "one (control)"]}
    assert made["workloads"]["one"] == made["workloads"]["one (control)"]  # type: ignore[index]


def test_a_command_may_stand_beside_itself(tmp_path: Path) -> None:
    assert dry(tmp_path, "-r", "2", "a", "a")["factors"] == {"workload": ["a", "a (2)"]}


def test_without_a_shell_texts_are_split_into_words(tmp_path: Path) -> None:
    made = dry(tmp_path, "-N", "-r", "2", "--prepare", "sync -f .", "echo 'a b'")
    assert made["workloads"]["echo 'a b'"]["command"] == ["echo", "a b"]  # type: ignore[index]
    assert made["workloads"]["echo 'a b'"]["prepare"] == ["sync", "-f", "."]  # type: ignore[index]
    assert shell_of("default", no_shell=False) == "/bin/sh"
    bash = dry(tmp_path, "--shell", "bash --norc", "-r", "2", "a")
    assert bash["workloads"]["a"]["shell"] == "bash --norc"  # type: ignore[index]


def test_only_declared_variables_are_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINE", "here")
    monkeypatch.setenv("SECRET", "secret-4711")
    done = edgejoule(tmp_path, "exec", "--dry-run", "--meter", "board-profile", "--env", "MINE", "--env", "A=b=c", "x")
    assert toml_text.loads(done.stdout)["workloads"]["x"]["env"] == {"MINE": "here", "A": "b=c"}
    assert "secret-4711" not in done.stdout


@pytest.mark.parametrize(
    ("arguments", "phrase"),
    [
        ((), "no command: give 'COMMAND' in quotes"),
        (("a", "--", "b"), "not both"),
        (("--", ), "no command"),
        (("",), "an empty command"),
        (("-r", "2", "--budget", "9", "a"), "--runs and --budget exclude each other"),
        (("-L", "x", "1,2", "-P", "y", "1", "2", "a"), "exclude each other"),
        (("-L", "x", "1,1", "a"), "a value is given twice"),
        (("-L", "x", "1,,2", "a"), "an empty value"),
        (("-L", "x", "1", "-L", "x", "2", "a"), "given twice"),
        (("-L", "x y", "1", "a"), "expected a name of letters"),
        (("-L", "n", "1,2", "a"), "parameter n: no command uses {n}"),
        (("-L", "cache", "1,2", "a"), "parameter cache: no command uses {cache}"),
        (("--json", "--export-json", "-", "a"), "only one of them can write to standard output"),
        (("--export-csv", "-", "--export-json", "-", "a"), "only one of them can write to standard output"),
        (("-L", "x", "1,2", "a {x}", "b"), "does not contain {x}"),
        (("-P", "x", "3", "1", "a {x}"), "the range is empty, 3 is above 1"),
        (("-P", "x", "0.1", "0.9", "a {x}"), "need --parameter-step-size"),
        (("-P", "x", "1", "9", "-D", "0", "a {x}"), "expected a number above 0"),
        (("-P", "x", "1", "b", "a {x}"), "expected numbers"),
        (("-P", "x", "1", "99999", "a {x}"), "99,999 values"),
        (("-D", "2", "a"), "needs --parameter-scan"),
        (("-N", "-S", "bash", "a"), "--shell and -N exclude each other"),
        (("-S", " ", "a"), "expected a shell"),
        (("-S", "bash", "--", "a"), "is run without a shell"),
        (("-N", "echo 'a"), "cannot be split into arguments"),
        (("-n", "x", "-n", "y", "a"), "given 2 times, and there is 1 command"),
        (("-p", "x", "-p", "y", "a", "b", "c"), "expected once, or once for each of 3 commands"),
        (("--output", "file", "a"), "write ./file"),
        (("--output", "inherit", "a"), "give pipe or a file"),
        (("--min-runs", "5", "a"), "--runs fixes the number of runs"),
        (("--mni-runs", "5", "a"), "No such option"),
        (("--input", "no-such-file", "a"), "there is no such file"),
        (("--input", ".", "a"), "is a directory"),
        (("--output", "none/file", "a"), "no folder none"),
        (("--output", "./", "a"), "is a directory"),
        (("--", ""), "an empty command; expected a program"),
        (("-m", "3", "a"), "-m is not supported; --runs fixes"),
        (("--style", "full", "a"), "--style is not supported; NO_COLOR"),
        (("--sort", "command", "a"), "--sort is not supported; the table has"),
        (("--env", "NO_SUCH_VARIABLE", "a"), "is not set here"),
    ],
)  # fmt: skip
def test_invalid_options_are_refused_with_the_expected_form(
    tmp_path: Path, arguments: tuple[str, ...], phrase: str
) -> None:
    assert phrase in refused(tmp_path, *arguments)


def test_a_plan_of_three_commands_with_two_values_has_six_cells_in_each_block(tmp_path: Path) -> None:
    asked = request(["a {n}", "b {n}", "c {n}"], lists=[("n", "1,2")], runs=2)
    plan = make_plan(spec_of_text(spec_text(asked, Method.COUNTED), tmp_path / "e.toml"))
    assert [sum(run.block == block for run in plan) for block in (0, 1)] == [6, 6]


def test_a_value_is_a_number_only_where_it_is_written_as_one() -> None:
    assert exec_options.levels(["1", "02"], "x") == ["1", "02"]
    assert exec_options.levels(["0.5", "1.0"], "x") == [0.5, 1.0]
    with pytest.raises(UsageError, match="twice"):
        exec_options.levels(["a", "a"], "x")
