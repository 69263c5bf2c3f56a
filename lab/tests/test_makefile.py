"""The Makefile where a tree is unusual: a path with a space, a source archive, a half-made environment."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from source_files import source_files

ROOT = Path(__file__).resolve().parents[2]


def commands(folder: Path, *arguments: str) -> list[list[str]]:
    """The arguments of the commands that make would run; the development environment counts as made."""
    done = subprocess.run(
        ["make", "-n", "-C", folder, "--no-print-directory", "-o", "setup-dev", "-o", "build/build.ninja", *arguments],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    return [shlex.split(line) for line in done.stdout.splitlines()]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tree = tmp_path / "a tree"
    tree.mkdir()
    shutil.copy(ROOT / "Makefile", tree)
    return tree


def write(*files: Path) -> None:
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()


def test_the_results_of_ctest_go_where_skips_are_read_also_below_a_folder_with_a_space(folder: Path) -> None:
    run = commands(folder, "test")
    (ctest,) = [command for command in run if command[0] == "ctest"]
    assert ctest[ctest.index("--output-junit") + 1] == str(folder / run[-1][-1] / "ctest.xml")


@pytest.mark.parametrize("above", [False, True], ids=["alone", "below another repository"])
def test_lint_checks_every_c_file_of_a_source_archive(folder: Path, above: bool) -> None:
    write(folder / "part/a.c", folder / "part/tests/b.cc", folder / "c.h", folder / "build/made.c", folder / "d.py")
    if above:
        subprocess.run(["git", "init", "-q", folder.parent], check=True, timeout=60)
    clang_format = commands(folder, "lint")[-1]
    assert {"part/a.c", "part/tests/b.cc", "c.h"} == {name for name in clang_format[1:] if not name.startswith("-")}


def test_lint_checks_every_python_file() -> None:
    ruff = [command for command in commands(ROOT, "lint") if "ruff" in command]
    assert len(ruff) == 2
    for command in ruff:
        missing = [
            name for name in source_files(ROOT) if name.endswith(".py") and name.split("/")[0] not in command[4:]
        ]
        assert missing == []


def test_an_environment_whose_making_was_killed_is_made_again(folder: Path) -> None:
    write(*(folder / "lab" / name for name in ("requirements.txt", "pyproject.toml", "fetch_web_assets.py")))
    write(folder / ".venv/bin/python")  # pip comes last
    assert ["python3", "-m", "venv", ".venv"] in commands(folder, ".venv/.runtime")


def test_an_archive_has_the_files_of_the_repository(tmp_path: Path) -> None:
    kept = [".ci/run", ".gitignore", "lab/src/a.py", "lunar/docs/a.md"]
    written = ["build/a.md", "results/a.md", ".venv/a.py", "lunar/build/a.c", "lab/__pycache__/a.pyc"]
    write(*(tmp_path / name for name in kept + written))
    shutil.copy(ROOT / ".gitignore", tmp_path)
    archive = source_files(tmp_path)
    subprocess.run(["git", "init", "-q", tmp_path], check=True, timeout=60)
    assert archive == source_files(tmp_path) == kept
