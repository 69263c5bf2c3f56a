"""Real ecods and db_bench on loopback."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from edgejoule.eco.federation import Federation, FederationServer, Programs, Unlimited
from edgejoule.errors import FederationError, UsageError
from edgejoule.machine.processes import files_of_processes

BUILD = Path(__file__).resolve().parents[3] / "build"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (BUILD / "bin/ecod").exists(), reason="make eco builds ecod"),
    pytest.mark.skipif(shutil.which("db_bench") is None, reason="db_bench is not installed"),
]
SERVERS = [FederationServer("low", 0.2, 1.5, 8), FederationServer("high", 0.4, 10, 30)]
FILL = ["db_bench", "--benchmarks=fillrandom,waitforcompaction", "--write_buffer_size=524288"]


@pytest.fixture
def folder() -> Iterator[Path]:
    """Short: sockets lie in it."""
    made = Path(tempfile.mkdtemp(prefix="eco-"))
    yield made
    shutil.rmtree(made)


def places_of(federation: Federation) -> list[str]:
    """Fill a database on the first server; where each of its compactions was done, by the decisions."""
    begun_s, folder = time.time(), federation.place("low").folder
    arguments = [*FILL, "--num=30000", f"--db={folder}/db"]
    program = federation.start("low", arguments, folder / "db.log", federation.with_preload("low"))
    assert program.wait() == 0, program.text()
    decided = federation.decisions("low", begun_s)
    return [each["placement"]["server"] if each.get("outcome") == "installed" else "low" for each in decided]


def of_folder(folder: Path) -> list[str]:
    """Command lines of processes that name it."""
    result = []
    for file in files_of_processes("cmdline"):
        try:
            argv = file.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(folder) in argv:
            result.append(argv)
    return result


@pytest.mark.parametrize("elected", [False, True], ids=["static master", "NATS with certificates"])
def test_a_program_is_offloaded_and_everything_is_stopped(folder: Path, elected: bool) -> None:
    nats = ["high"] if elected else []
    with Federation(SERVERS, Programs.of(BUILD), folder, shares=Unlimited(), nats=nats, keys=elected) as federation:
        if elected:
            assert 'urls = ["tls://' in (folder / "low/ecod.toml").read_text()
        federation.set_policy("static:high")
        assert "high" in places_of(federation)
        assert all(federation.cpu_s(server.name) > 0 for server in SERVERS)
        federation.set_policy("eco", shadow=True)
        assert set(places_of(federation)) == {"low"}
        assert len(of_folder(folder)) >= len(SERVERS)
    assert of_folder(folder) == []


def test_ctrl_c_leaves_nothing_behind(folder: Path) -> None:
    script = f"""
import pathlib
from edgejoule.eco.federation import *
servers = [FederationServer("low", 0.1, 1.5, 8), FederationServer("high", 0.4, 10, 30)]
with Federation(servers, Programs.of(pathlib.Path({str(BUILD)!r})), pathlib.Path({str(folder)!r})) as federation:
    folder = federation.place("low").folder
    command = [*{FILL!r}, "--num=10000000", f"--db={{folder}}/db"]
    program = federation.start("low", command, folder / "db.log")
    print("up", flush=True)
    program.wait()
"""
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n", process.stderr and process.stderr.read()
    assert len(of_folder(folder)) > len(SERVERS)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in said
    assert process.returncode != 0
    assert of_folder(folder) == []


def test_a_server_that_cannot_start_is_reported_with_its_message(folder: Path) -> None:
    with pytest.raises(FederationError, match=r"policy\.name: no policy is named"):
        Federation(SERVERS, Programs.of(BUILD), folder, shares=Unlimited(), policy={"name": "best"}).__enter__()
    assert of_folder(folder) == []


def test_impossible_settings_are_refused(folder: Path) -> None:
    with pytest.raises(FederationError, match="`make eco` builds it"):
        Programs.of(folder)
    programs = Programs.of(BUILD)
    for servers, nats, why in (
        ([SERVERS[0], SERVERS[0]], [], "one name"),
        (SERVERS, ["low", "high"], "one server or three"),
        (SERVERS, ["medium"], "no server is named medium"),
    ):
        with pytest.raises(UsageError, match=why):
            Federation(servers, programs, folder, nats=nats)
    with pytest.raises(UsageError, match="too long"):
        Federation(SERVERS, programs, folder / ("x" * 100))
