"""The command lines of eco's programs: wrong usage, messages, and standard files that are closed or full."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

BIN = Path(__file__).resolve().parents[2] / "build" / "bin"
PROGRAMS = ["ecoctl", "ecod", "eco-sim", "eco-calibrate"]


def called(command: str, redirection: str = "") -> subprocess.CompletedProcess[str]:
    program = BIN / command.split()[0]
    if not program.exists():
        pytest.skip(f"{program.name} is not built")
    line = ["bash", "-c", f"{BIN}/{command} {redirection}"]
    return subprocess.run(line, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("ecoctl foo", "ecoctl: unknown command foo; expected one of servers, decisions, policy, drain, "),
        ("ecoctl --foo", "ecoctl: unknown option --foo; see --help\n"),
        ("ecoctl", "ecoctl: A subcommand is required; see --help\n"),
        ("ecoctl drain", "ecoctl: server is required; see --help\n"),
        ("ecoctl estimate LOG --speed inf", "ecoctl: --speed: expected a number above 0, found inf; see --help\n"),
        ("ecoctl kill --wait-s -1", "ecoctl: --wait-s: expected a number of at least 0, found -1; see --help\n"),
        ("eco-sim foo", "eco-sim: unknown command foo; expected one of run, watts; see --help\n"),
        ("eco-sim run x --duration 0", "eco-sim: --duration: expected a number above 0, found 0; see --help\n"),
        ("ecod foo", "ecod: The following argument was not expected: foo; see --help\n"),
        ("eco-calibrate --rounds 0", "eco-calibrate: --rounds: Value 0 not in range 1 to 100; see --help\n"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(command: str, message: str) -> None:
    done = called(command)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(message)
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("redirection", ["> /dev/full", ">&-"])
def test_help_that_cannot_be_written_is_an_error(program: str, redirection: str) -> None:
    done = called(f"{program} --help", redirection)
    assert done.returncode == 1
    assert done.stderr.startswith(f"{program}: standard output: ")


@pytest.mark.parametrize("command", ["ecoctl estimate missing", "ecod --config missing", "eco-sim run missing"])
@pytest.mark.parametrize("redirection", ["2>&-", "2>/dev/full", "<&- >&- 2>&-"])
def test_a_message_that_cannot_be_written_ends_nothing(command: str, redirection: str) -> None:
    assert called(command, redirection).returncode == 1


def test_a_file_never_gets_the_output(tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    sim = f"eco-sim run {BIN.parents[1]}/experiments/eco-paper/sim/fillrandom.toml --policy local --seed 1 --duration 1"
    assert called(f"{sim} --json {figures}", ">&- 2>&-").returncode == 1  # its table is lost
    assert figures.read_text().startswith('{\n "schema_version"')


def test_a_folder_in_place_of_an_experiment_is_named() -> None:
    assert called("eco-sim run /tmp").stderr == "eco-sim: /tmp: is a directory\n"
