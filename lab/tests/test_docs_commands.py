"""The command blocks of the pages: each command exists, and is run here or labelled in doc_commands.toml."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from click.testing import CliRunner
from doc_commands import (
    COMMANDS,
    MARKED,
    OTHER,
    PARSED,
    ROOT,
    RUN,
    Command,
    all_blocks,
    all_commands,
    blocks_of,
    commands_of,
    complaint,
    listing,
    rule_of,
    rules,
    simple_commands,
    table,
)
from source_files import source_files

from edgejoule.cli.main import main
from edgejoule.experiment.read import load_spec

PLACES = r"(?<![\w.$}/-])/(?=(?:data|etc|tmp|path)/)"  # absolute paths of the reader's machine: below the folder here
ECO_KEYS = "docs/tutorials/federation.md"  # its TOML is ecod's and the preload library's: federation/test_guide.py


def pages_with(label: str) -> list[str]:
    return sorted({command.page for command in all_commands() if rule_of(command).label == label})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What a reader has after `make build`, in an empty folder: the programs, the experiments, the sources of lunar."""
    for name in ("build", "driver", "eco", "experiments", "schemas"):
        (tmp_path / name).symlink_to(ROOT / name)
    for name in source_files(ROOT):
        if name.startswith("lunar/"):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).symlink_to(ROOT / name)
    for name in ("data", "etc", "tmp"):
        (tmp_path / name).mkdir()
    programs = tmp_path / ".venv/bin"
    programs.mkdir(parents=True)
    for name, text in {
        "edgejoule": f'exec {sys.executable} -c "from edgejoule.cli.main import main; main()" "$@"',
        "python": f'exec {sys.executable} "$@"',
        "sudo": 'exec env "$@"',
    }.items():
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)
    return tmp_path


def run_commands(folder: Path, page: str, label: str) -> None:
    """Runs the page's commands of that label in order, after its preparation."""
    env = os.environ | {
        "PATH": f"{folder / '.venv/bin'}:{ROOT / 'build/bin'}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "lab/src"),
        "HOME": str(folder),
        "PAGES": str(ROOT / "lab/tests"),
        "EDGEJOULE_STORE": str(folder / "results/store.db"),
    }

    def run(text: str, exits: list[int]) -> None:
        done = subprocess.run(
            ["bash", "-c", f"set -o pipefail; {text}"],
            cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=1000, check=False,
        )  # fmt: skip
        print(f"{page}: {text}: exit {done.returncode}")
        assert done.returncode in exits, (text, done.stdout[-2000:], done.stderr[-2000:])

    if page in table()["prepare"]:
        run(table()["prepare"][page], [0])
    for command in all_commands():
        rule = rule_of(command)
        if command.page == page and rule.label == label:
            run(re.sub(PLACES, f"{folder}/", f"{command.text} {rule.add}".strip()), rule.exits)


@pytest.mark.parametrize("page", pages_with(RUN))
def test_the_commands_of_a_page_run(folder: Path, page: str) -> None:
    run_commands(folder, page, RUN)


@pytest.mark.slow
@pytest.mark.parametrize("page", pages_with("slow"))
def test_the_slow_commands_of_a_page_run(folder: Path, page: str) -> None:
    run_commands(folder, page, "slow")


@pytest.mark.root
@pytest.mark.parametrize("page", pages_with("root"))
def test_the_commands_of_a_page_that_need_root_run(folder: Path, page: str) -> None:
    run_commands(folder, page, "root")


@pytest.mark.server
@pytest.mark.parametrize("page", pages_with("server"))
def test_the_commands_of_a_page_that_need_servers_run(folder: Path, page: str) -> None:
    run_commands(folder, page, "server")


def test_what_commands_name_exists() -> None:
    print(listing())
    assert [f"{c.page}:{c.line}: {c.text}: {fault}" for c in all_commands() if (fault := complaint(c))] == []


def planned_studies() -> list[Command]:
    return [
        command
        for command in all_commands()
        if re.search(r"edgejoule run experiments/", command.text) and "--dry-run" not in command.text
    ]


@pytest.fixture
def in_repository(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("EDGEJOULE_STORE", str(tmp_path / "store.db"))


@pytest.mark.usefixtures("in_repository")
def test_the_studies_that_pages_name_can_be_planned() -> None:
    assert len(planned_studies()) >= 40
    runs = {tuple(argv[1:]): command for command in planned_studies() for argv in simple_commands(command.text)
            if argv[0].endswith("edgejoule") and argv[1] == "run"}  # fmt: skip
    for arguments, command in runs.items():
        whole = [word for word in arguments if word != "--resume"]  # there is no store
        done = CliRunner().invoke(main, [*whole, "--dry-run", "--json"])
        if re.search("is not available here|no such program here", done.output):  # the keys are examined nevertheless
            spec = Path(arguments[1])
            load_spec(spec / "experiment.toml" if spec.is_dir() else spec)
        else:
            assert done.exit_code == 0, (command, done.output)


def test_every_label_is_known_and_every_rule_is_used() -> None:
    first = [next((n for n, rule in enumerate(rules()) if rule.matches(c)), None) for c in all_commands()]
    assert [rule for n, rule in enumerate(rules()) if n not in first] == []
    assert {rule.label for rule in rules()} <= {RUN, *MARKED, *PARSED}
    assert set(table()["prepare"]) <= {command.page for command in all_commands()}
    for rule in rules():
        if rule.label == "elsewhere":
            (named,) = re.findall(r"\b(?:lab|lunar)/tests/\S*?\.py", rule.why)
            assert (ROOT / named).is_file(), rule


def test_every_block_has_a_known_language() -> None:
    assert [(b.page, b.line, b.language) for b in all_blocks() if b.language not in COMMANDS | OTHER] == []


def test_python_blocks_compile() -> None:
    blocks = [block for block in all_blocks() if block.language == "python"]
    assert blocks
    for block in blocks:
        compile(block.text, f"{block.page}:{block.line}", "exec")


def whole_experiment(block: dict[str, Any]) -> dict[str, Any]:
    """The block with what an experiment must have and the block leaves out."""
    whole: dict[str, Any] = {"schema_version": 1, "name": "block", "question": "Is it valid?"} | block
    whole["factors"] = {**block.get("factors", {})}
    if "database" not in {**whole["factors"], **block.get("fixed", {})}:
        whole["factors"]["database"] = ["sqlite"]
    if "workload" not in block.get("fixed", {}):
        whole["factors"].setdefault("workload", list(block.get("workloads", {"workloada": {}})))
    whole.setdefault("design", {"replications": 2})
    if "federation" in block:
        whole["factors"] |= {"database": ["rocksdb"], "eco.policy": ["local", "eco"]}
    return whole


def test_toml_blocks_are_experiments(tmp_path: Path) -> None:
    blocks = [block for block in all_blocks() if block.language == "toml" and block.page != ECO_KEYS]
    assert len(blocks) >= 9
    for workload in ROOT.glob("experiments/*/*.properties"):  # which blocks name
        shutil.copy(workload, tmp_path)
    for block in blocks:
        parsed = tomllib.loads(block.text)
        name = "experiment.toml" if "base" not in parsed else "variant.toml"
        whole = parsed if "base" in parsed else whole_experiment(parsed)
        (tmp_path / name).write_text(tomli_w.dumps(whole))
        load_spec(tmp_path / name)


# The parts of this test find faults.


def examined(text: str) -> str | None:
    (command,) = commands_of(blocks_of("page.md", f"```\n{text}\n```\n")[0])
    return complaint(command)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("edgejoule nurse", "nurse"),
        ("edgejoule run experiments/first-look --drie-run", "--drie-run"),
        ("edgejoule report a && edgejoule run --drie-run SPEC", "--drie-run"),
        ("edgejoule run experiments/absent", "experiments/absent"),
        ("make tset", "tset"),
        ("make bench-lunar ONYL=layers", "ONYL"),
        ("edgejoule-driver run -db nosuch -P workloada", "nosuch"),
        ("edgejoule-driver run -db sqlite -P workloadz", "workloadz"),
        ("edgejoule-driver run -db sqlite -p sqlite.jurnal=x", "sqlite.jurnal"),
        ("edgejoule-driver run -db sqlite --sede 1", "--sede"),
        ("sudo build/bin/ecoctl estimat LOG", "estimat"),
        ("A=1 ecod --cofig x > y", "--cofig"),
        ("python3 lunar/amalgamat.py F", "lunar/amalgamat.py"),
        ("edgejuole run x", "edgejuole"),
        ("echo 'a", "unexpected EOF"),
    ],
)
def test_a_mistake_in_a_command_is_detected(text: str, named: str) -> None:
    assert named in (examined(text) or "")


def test_commands_of_a_block_are_split() -> None:
    text = "$ a 'x' \\\n  -b   # why\nout\n$ for n in 1; do\n  c $n\ndone\nmore\n"
    result = commands_of(blocks_of("p.md", f"Text\n\n```\n{text}```\n")[0])
    assert [(c.line, c.text, c.output) for c in result] == [
        (4, "a 'x' -b", "out\n"), (7, "for n in 1; do\n c $n\ndone", "more\n"),
    ]  # fmt: skip


def test_a_failing_command_fails(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(run_commands.__globals__, "all_commands", lambda: (Command("x.md", 1, "false | cat"),))
    with pytest.raises(AssertionError, match="false"):
        run_commands(folder, "x.md", RUN)
