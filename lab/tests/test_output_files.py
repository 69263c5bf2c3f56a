"""What a command writes never destroys its inputs, a store, a device or a link."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from command_line import edgejoule
from small_store import finished, small_spec, with_experiment

from edgejoule.errors import UsageError
from edgejoule.output_files import check_output, whole_file
from edgejoule.store import Store


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("s.db", "other.db"):
        store, experiment = with_experiment(tmp_path / name, small_spec())
        for index in range(3):
            store.record(experiment, *finished(index))
        store.close()
    return tmp_path


@pytest.mark.parametrize("target", ["s.db", "other.db", "link.db"])
@pytest.mark.parametrize("command", [("report", "-o"), ("export", "--csv", "-o"), ("export", "--parquet")])
def test_a_store_is_never_written_over(folder: Path, command: tuple[str, ...], target: str) -> None:
    (folder / "link.db").symlink_to("s.db")
    done = edgejoule(folder, command[0], "--store", "s.db", *command[1:], target)
    assert done.returncode == 2, done.stderr
    assert "reads that file" in done.stderr or "is an SQLite database" in done.stderr
    with Store.open(folder / target) as store:
        assert len(store.runs(1)) == 3


def test_a_spec_is_never_written_over(folder: Path) -> None:
    spec = folder / "spec.toml"
    spec.write_text('name = "n"\nquestion = "?"\n[factors]\ndatabase = ["sqlite"]\nworkload = ["workloadc"]\n')
    text = spec.read_text()
    with pytest.raises(UsageError, match="reads that file"):
        check_output("-o", spec, spec)
    done = edgejoule(folder, "run", "spec.toml", "--store", "s.db", "-o", "spec.toml")
    assert done.returncode == 2, done.stderr
    assert spec.read_text() == text


def test_a_pipe_is_written_to_and_stays(folder: Path) -> None:
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    got: list[str] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()))
    reader.start()
    done = edgejoule(folder, "export", "--csv", "--store", "s.db", "-o", "pipe")
    reader.join(30)
    assert done.returncode == 0, done.stderr
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert got[0].startswith("run,block,")


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    with whole_file(tmp_path / "link") as file:
        file.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_an_error_leaves_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "f"
    target.write_text("old")
    with contextlib.suppress(OSError), whole_file(target) as file:
        file.write(b"new")
        raise OSError(errno.ENOSPC, "full")
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def in_process(folder: Path, arguments: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from edgejoule.cli.main import main; main()", *arguments]
    with Path("/dev/full").open("w") as full:
        return subprocess.run(
            command, cwd=folder, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment}, text=True,
            stdout=full if not environment else subprocess.PIPE, stderr=subprocess.PIPE, check=False,
        )  # fmt: skip


@pytest.mark.parametrize("command", [["show"], ["export", "--csv"], ["list"]])
def test_a_full_output_is_one_line(folder: Path, command: list[str]) -> None:
    done = in_process(folder, [*command, "--store", "s.db"])
    assert (done.returncode, done.stderr) == (1, "edgejoule: no space left on the device\n")


def test_signs_that_an_encoding_lacks_are_written_plain(folder: Path) -> None:
    done = in_process(folder, ["show", "--store", "s.db", "--run", "1"], PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.returncode == 0, done.stderr
    assert "+-" in done.stdout
    assert done.stdout.isascii()


@pytest.mark.slow
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&- <&-"])
def test_closed_standard_streams_are_no_error(folder: Path, closed: str) -> None:
    command = f"exec {sys.executable} -c 'from edgejoule.cli.main import main; main()' list --store s.db {closed}"
    done = subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert bool(done.stdout) == (closed == "2>&-")
