"""A store on a full or read-only file system is read, and what cannot be written says why and what helps."""

from __future__ import annotations

import contextlib
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import edgejoule
from small_disk import small_disk
from small_store import finished, small_spec, with_experiment

from edgejoule.export.bundle import write_bundle
from edgejoule.store import Store

BULK_BYTES = 300_000


@contextlib.contextmanager
def files_end_at(size: int) -> Iterator[None]:
    """No file of this process grows beyond this size: the kernel refuses the write, as it does with a quota."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def fill(folder: Path, free: int = 0) -> Path:
    """Leaves this much space on the file system."""
    ballast, status = folder / "ballast", os.statvfs(folder)
    ballast.write_bytes(bytes(status.f_bavail * status.f_frsize - free))
    return ballast


def two_experiments(folder: Path) -> Path:
    """A store of the experiments 1 and 2, each with BULK_BYTES of events."""
    path = folder / "s.db"
    for seed in (1, 2):
        store, experiment = with_experiment(path, small_spec(seed))
        store.record(experiment, *finished(0))
        bulk = "x" * BULK_BYTES
        store.connection.execute(
            "INSERT INTO events SELECT id, 1, ? FROM runs WHERE experiment_id = ? LIMIT 1", (bulk, experiment)
        )
        store.close()
    return path


def left(path: Path) -> list[int]:
    with Store.open(path) as store:
        return [experiment.id for experiment in store.experiments()]


def test_where_sqlite_can_write_no_file_the_store_is_read(tmp_path: Path) -> None:
    path = two_experiments(tmp_path)
    with files_end_at(0):
        listed = edgejoule(tmp_path, "list", "--store", "s.db")
        noted = edgejoule(tmp_path, "note", "1", "heating was on", "--store", "s.db")
    assert listed.returncode == 0, listed.stderr
    assert "small" in listed.stdout
    assert noted.returncode == 1
    assert "s.db: cannot be written, nothing was changed" in noted.stderr
    assert left(path) == [1, 2]


def test_rows_in_the_log_are_never_left_out(tmp_path: Path) -> None:
    path = two_experiments(tmp_path)
    with Store.open(path) as store:
        store.add_note(1, "heating was on", "")
        assert path.with_name("s.db-wal").stat().st_size > 0
        for end in ("", "-wal"):
            path.with_name(f"copy.db{end}").write_bytes(path.with_name(f"s.db{end}").read_bytes())
    with files_end_at(0):
        listed = edgejoule(tmp_path, "list", "--store", "copy.db")
    assert listed.returncode == 1
    assert "copy.db: cannot be opened as a store: disk I/O error (SQLITE_IOERR" in listed.stderr


def test_a_deletion_is_complete_where_the_file_cannot_be_made_smaller(tmp_path: Path) -> None:
    path = two_experiments(tmp_path)
    size = path.stat().st_size
    with files_end_at(BULK_BYTES // 2):
        done = edgejoule(tmp_path, "delete", "1", "--yes", "--store", "s.db")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("deleted: small (1)\ns.db could not be made smaller: disk I/O error")
    assert "The next delete tries again" in done.stdout
    assert left(path) == [2]
    assert path.stat().st_size == size
    assert edgejoule(tmp_path, "delete", "2", "--yes", "--store", "s.db").returncode == 0
    assert path.stat().st_size < BULK_BYTES


@pytest.mark.root
def test_on_a_full_file_system(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 2) as disk:
        path = two_experiments(disk)
        with Store.open(path) as store:
            write_bundle(path, store.find("1"), tmp_path / "one.zip")
        ballast = fill(disk)
        full = f"no space is left on the file system of {disk}; free some there"
        for words in (["note", "1", "hello"], ["delete", "1", "--yes"]):
            done = edgejoule(disk, *words, "--store", "s.db")
            assert done.returncode == 1
            assert f"s.db: cannot be written, nothing was changed: {full}" in done.stderr
        done = edgejoule(disk, "import", "../one.zip", "--store", "s.db")
        assert f"s.db: cannot be opened as a store: {full}" in done.stderr
        assert edgejoule(disk, "list", "--store", "s.db").returncode == 0
        assert edgejoule(disk, "export", "--bundle", str(tmp_path / "two.zip"), "--store", "s.db").returncode == 0
        done = edgejoule(disk, "export", "--bundle", "two.zip", "--store", "s.db")
        assert f"two.zip: cannot be written: {full}" in done.stderr
        ballast.unlink()
        ballast = fill(disk, free=BULK_BYTES // 2)
        done = edgejoule(disk, "delete", "1", "--yes", "--store", "s.db")
        assert done.returncode == 0, done.stderr
        assert f"s.db could not be made smaller: {full}" in done.stdout
        ballast.unlink()
        assert left(path) == [2]


@pytest.mark.root
def test_on_a_read_only_file_system(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 2) as disk:
        two_experiments(disk)
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        protected = f"the file system of {disk} is read-only; mount it for writing, or use a copy elsewhere"
        for words in (["note", "1", "hello"], ["delete", "1", "--yes"]):
            done = edgejoule(disk, *words, "--store", "s.db")
            assert done.returncode == 1
            assert f"s.db: cannot be written, nothing was changed: {protected}" in done.stderr
        assert edgejoule(disk, "list", "--store", "s.db").returncode == 0
        assert sorted(file.name for file in disk.iterdir()) == ["s.db"]


@pytest.mark.root
def test_without_the_right_to_write(tmp_path: Path) -> None:
    """As root without the capability that ignores modes."""
    path = two_experiments(tmp_path)

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        program = "from edgejoule.cli.main import main; main(prog_name='edgejoule')"
        return subprocess.run(
            ["setpriv", "--bounding-set=-dac_override,-dac_read_search", sys.executable, "-c", program, *words,
             "--store", "s.db"],
            capture_output=True, text=True, cwd=tmp_path, check=False, timeout=60,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )  # fmt: skip

    path.chmod(0o444)
    try:
        done = run("exec", "--meter", "board-profile", "true")
        assert "s.db: cannot be opened as a store: you have no right to read and write it" in done.stderr
        assert left(path) == [1, 2]
        assert "s.db: cannot be written, nothing was changed: you have no right to" in run("note", "1", "hello").stderr
        tmp_path.chmod(0o555)
        assert run("list").returncode == 0
        path.chmod(0o644)
        message = f"nothing was changed: you have no right to write in {tmp_path}; change its owner or mode, or use a"
        assert message in run("delete", "1", "--yes").stderr
    finally:
        tmp_path.chmod(0o755)
