"""Databases on a full disk: a small file system in memory, which needs root to be mounted."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from driving import drive

pytestmark = pytest.mark.root


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", tmp_path], check=True)
    yield tmp_path
    subprocess.run(["umount", tmp_path], check=True)


@pytest.mark.parametrize("durability", ["none", "process", "power"])
@pytest.mark.parametrize("database", ["leveldb", "lmdb", "lunar", "rocksdb", "sqlite"])
def test_a_full_disk_ends_a_load_with_the_database_s_message(database: str, durability: str, small_disk: Path) -> None:
    where = ("-db", database, "-p", f"{database}.path={small_disk / 'data'}", "--durability", durability)
    done = drive("load", *where, "-P", "workloada", "-p", "recordcount=20000", "--quiet")
    assert done.returncode == 1, done.stderr
    (line,) = done.stderr.splitlines()
    assert "No space left on device" in line or "disk is full" in line
    again = drive("run", *where, "-P", "workloada", "-p", "recordcount=20000", "--quiet")
    assert again.returncode in (0, 1), again.stderr  # opened with its contents, or refused; never killed
