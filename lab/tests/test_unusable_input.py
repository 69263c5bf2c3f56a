"""Names, numbers and files that no command can use: one line and an exit code, never a traceback."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import edgejoule
from small_store import finished, small_spec, with_experiment

LONG = 300 * "x"
HUGE = "99999999999999999999"
SPEC = """\
name = "small"
question = "?"
[factors]
database = ["noop"]
workload = ["workloada"]
[analysis]
responses = ["throughput_ops_s"]
[fixed]
recordcount = 100
operationcount = 100
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    store, experiment = with_experiment(tmp_path / "s.db", small_spec())
    for index in range(3):
        store.record(experiment, *finished(index))
    store.close()
    (tmp_path / "spec.toml").write_text(SPEC)
    (tmp_path / "deep.json").write_text(100_000 * "[" + 100_000 * "]")
    (tmp_path / "latin.toml").write_bytes(b'name = "\xe4"')
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "bundle.zip").write_bytes(b"PK")
    return tmp_path


def refusal(folder: Path, *arguments: str) -> str:
    """Returns the message of a command that must end with exit code 2."""
    done = edgejoule(folder, *arguments)
    assert done.returncode == 2, done.stderr
    return " ".join(done.stderr.split())


@pytest.mark.parametrize(
    "command",
    [
        ("run", LONG), ("list", "--store", LONG), ("run", "spec.toml", "--store", "s.db", "--data", LONG, "--dry-run"),
        ("report", "--store", "s.db", "-o", LONG), ("exec", "--input", LONG, "--", "true"),
        ("exec", "--export-json", LONG, "--", "true"), ("calibrate", "--dry-run", "-o", f"{LONG}.toml"),
    ],
)  # fmt: skip
def test_a_name_that_is_too_long(folder: Path, command: tuple[str, ...]) -> None:
    assert refusal(folder, *command).endswith("File name too long")


@pytest.mark.parametrize("which", [HUGE, 5000 * "9"])
@pytest.mark.parametrize("command", [("show",), ("note",), ("export",), ("report",), ("delete", "--yes")])
def test_a_number_that_no_experiment_has(folder: Path, command: tuple[str, ...], which: str) -> None:
    assert "no experiment" in refusal(folder, *command, which, "--store", "s.db")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("eco", "sweep", "latin.toml"), "latin.toml: not valid TOML: 'utf-8' codec"),
        (("eco", "calibration", "deep.json"), "deep.json: not JSON: it is nested too deep"),
        (("clock", "compare", "127.0.0.1:9", "--since", "deep.json"), "nested too deep"),
        (
            ("calibrate", "--trace", "t.csv", "--gain-rel", "0", "--offset-w", "0", "--stages", "deep.json"),
            "nested too deep",
        ),
        (("clock", "compare", f"{LONG}:7123"), "cannot be a host's name"),
        (("clock", "compare", f"h:{5000 * '9'}"), "expected HOST:PORT"),
    ],
)
def test_a_file_or_address_of_another_form(folder: Path, command: tuple[str, ...], message: str) -> None:
    assert message in refusal(folder, *command)


@pytest.mark.parametrize(
    "command",
    [
        ("analyse", "missing.csv", "--response", "y", "--factors", "f"),
        ("analyse", "empty.csv", "--response", "y", "--factors", "f"),
        ("import", "missing.csv", "--gain-rel", "0", "--offset-w", "0"),
        ("import", "empty.csv", "--gain-rel", "0", "--offset-w", "0"),
        ("import", "bundle.zip"),
        ("import", "missing.zip"),
        ("run", "missing.toml"),
        ("clock", "compare", "127.0.0.1:9", "--since", "missing.json"),
        ("show", "--store", "missing.db"),
        ("show", "--store", "spec.toml"),
        ("show", "missing", "--store", "s.db"),
    ],
)
def test_a_missing_or_empty_input_has_one_exit_code(folder: Path, command: tuple[str, ...]) -> None:
    assert refusal(folder, *command)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("import", "bundle.zip", "--attach", "x"), "--attach: of a power trace"),
        (("import", "bundle.zip", "--gain-rel", "0.1", "--from", "1"), "--gain-rel, --from: of a power trace"),
        (("conformance", "--all", "rapl"), "leave rapl out"),
        (("export", "--store", "s.db", "--bundle", "a.zip", "--csv"), "leave --csv out"),
    ],
)
def test_an_option_without_effect(folder: Path, command: tuple[str, ...], message: str) -> None:
    assert message in refusal(folder, *command)


@pytest.mark.parametrize(
    ("option", "place"), [("--data", "/proc/x"), ("--store", "/proc/x/s.db"), ("--store", "spec.toml")]
)
def test_a_plan_checks_where_the_study_writes(folder: Path, option: str, place: str) -> None:
    done = edgejoule(folder, "run", "spec.toml", "--dry-run", option, place)
    assert done.returncode == (2 if place == "spec.toml" else 1)
    assert place.split("/x")[0] in done.stderr
