"""The command that installs an optional package is one that works here."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest

from edgejoule import extras


def test_a_source_tree_installs_itself(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    pip, *arguments = shlex.split(extras.install_command("serial"))
    assert arguments[:2] == ["install", "-e"]
    source, extra = arguments[2].rstrip("]").split("[")
    assert (Path(source) / "pyproject.toml").is_file()
    assert extra == "serial"
    assert subprocess.run([pip, "--version"], capture_output=True, check=False).returncode == 0


def test_a_package_comes_from_the_index(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(extras, "_SOURCE", tmp_path)
    assert extras.install_command("serial").endswith("pip install 'edgejoule[serial]'")


def test_paths_below_the_present_folder_are_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(extras._SOURCE.parent)
    assert "'lab[serial]'" in extras.install_command("serial")
