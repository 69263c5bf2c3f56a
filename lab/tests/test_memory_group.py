"""A memory cgroup of either version; the trees are emulated, so that no root is needed."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from edgejoule.errors import UsageError
from edgejoule.machine.memory_group import MemoryGroup, limited, why_not


def version_1(root: Path) -> Path:
    (root / "memory").mkdir()
    (root / "memory/cgroup.procs").touch()
    return root / "memory"


def version_2(root: Path, base: str = ".") -> Path:
    (root / base).mkdir(exist_ok=True)
    (root / base / "cgroup.controllers").write_text("cpuset cpu io memory pids\n")
    (root / base / "cgroup.subtree_control").write_text("cpu\n")
    return root / base


def group_of(base: Path) -> Path:
    (group,) = base.glob("edgejoule-*")
    return group


def test_version_1_gets_its_limit(tmp_path: Path) -> None:
    base = version_1(tmp_path)
    with MemoryGroup(64 << 20, tmp_path) as group:
        assert (group_of(base) / "memory.limit_in_bytes").read_text() == str(64 << 20)
        (group_of(base) / "memory.max_usage_in_bytes").write_text("12345\n")
        assert group.peak_bytes() == 12345


@pytest.mark.parametrize("base", [".", "unified"])
def test_version_2_gets_its_limit_and_the_controller(tmp_path: Path, base: str) -> None:
    folder = version_2(tmp_path, base)
    with MemoryGroup(64 << 20, tmp_path) as group:
        assert (group_of(folder) / "memory.max").read_text() == str(64 << 20)
        assert (folder / "cgroup.subtree_control").read_text() == "+memory"
        assert group.peak_bytes() is None, "a kernel that does not say is not zero"


def test_a_command_joins_the_group_before_it_begins(tmp_path: Path) -> None:
    base = version_1(tmp_path)
    with MemoryGroup(64 << 20, tmp_path) as group:
        command = [*group.command(), "sh", "-c", "echo $$"]
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert (group_of(base) / "cgroup.procs").read_text() == output


def test_a_group_that_cannot_be_joined_ends_the_command(tmp_path: Path) -> None:
    version_1(tmp_path)
    group = MemoryGroup(64 << 20, tmp_path)
    done = subprocess.run([*group.command(), "true"], capture_output=True, check=False)
    assert done.returncode != 0, "a run outside its limit would be a wrong figure"


def test_no_controller_is_reported_with_the_remedy(tmp_path: Path) -> None:
    assert "no memory controller" in str(why_not(tmp_path))
    assert "leave memory_limit_mb out" in str(why_not(tmp_path))
    with pytest.raises(UsageError, match="no memory controller"), limited(1 << 30, tmp_path):
        pass
    with limited(None, tmp_path) as group:
        assert group is None


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_user_without_the_right_is_reported(tmp_path: Path) -> None:
    version_1(tmp_path).chmod(0o555)
    assert "run as root" in str(why_not(tmp_path))
