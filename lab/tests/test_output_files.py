"""What a command writes never destroys its inputs, a store, a device or a link."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
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


def in_shell(folder: Path, call: str) -> subprocess.CompletedProcess[str]:
    program = f"{sys.executable} -c 'from edgejoule.cli.main import main; main()'"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(
        ["bash", "-c", call.replace("edgejoule", program)], cwd=folder, env=environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip


@pytest.mark.slow
def test_closed_standard_streams_are_no_error_where_no_result_is_lost(folder: Path) -> None:
    done = in_shell(folder, "edgejoule list --store s.db 2>&-")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout
    assert in_shell(folder, "edgejoule export --store s.db -o runs.csv <&- >&- 2>&-").returncode == 0
    assert (folder / "runs.csv").stat().st_size > 0


@pytest.mark.slow
@pytest.mark.parametrize("command", ["--help", "list --store s.db", "export --store s.db", "show --store s.db"])
def test_a_lost_result_is_an_error(folder: Path, command: str) -> None:
    closed = in_shell(folder, f"edgejoule {command} >&-")
    assert (closed.returncode, closed.stderr.count("\n")) == (1, 1)
    assert "standard output is closed" in closed.stderr
    assert in_shell(folder, f"edgejoule {command} >&- 2>&- <&-").returncode == 1
    full = in_shell(folder, f"edgejoule {command} > /dev/full")
    assert (full.returncode, full.stderr) == (1, "edgejoule: no space left on the device\n")
    left = in_shell(folder, f"edgejoule {command} | true; exit ${{PIPESTATUS[0]}}")
    assert (left.returncode, left.stderr) == (141, "")


@pytest.mark.slow
def test_an_interrupt_while_modules_are_imported_is_one_line(folder: Path) -> None:
    code = "import os, signal, edgejoule.cli; os.kill(os.getpid(), signal.SIGINT); import edgejoule.cli.main"
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "edgejoule: interrupted\n")


@pytest.mark.parametrize("forms", [("--csv", "--jsonl"), ("--csv", "--samples", "--jsonl"), ("--events", "--csv")])
def test_only_one_form_of_an_export_can_be_given(folder: Path, forms: tuple[str, ...]) -> None:
    done = edgejoule(folder, "export", "--store", "s.db", *forms)
    assert done.returncode == 2
    assert "expected one of them" in done.stderr
    assert done.stdout == ""


def test_a_dash_is_standard_output_or_refused(folder: Path) -> None:
    done = edgejoule(folder, "export", "--store", "s.db", "--csv", "-o", "-")
    assert done.returncode == 0
    assert done.stdout.startswith("run,block,")
    assert edgejoule(folder, "report", "--store", "s.db", "-o", "-").returncode == 2
    assert not (folder / "-").exists()
