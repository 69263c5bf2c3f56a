"""What all servers share, with a stand-in that answers when it wants to."""

from __future__ import annotations

import errno
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from edgejoule.database_servers import SERVERS, snapshots
from edgejoule.database_servers.options import Option, effective
from edgejoule.database_servers.processes import started_ticks, state_of
from edgejoule.database_servers.record import FILE, Record, remove_leftovers
from edgejoule.database_servers.server import DatabaseServer, Installation, Node, NotReadyError, Settled, free_ports
from edgejoule.databases.driver import adapters
from edgejoule.errors import DatabaseError, StoreError, UsageError


class Sleeper(DatabaseServer):
    """Sleeps; answers once its file `answer` is there."""

    name = "sleeper"
    summary = "sleeps"
    options: Mapping[str, Option] = {"program": Option("shell words", "exec sleep 60")}
    start_s = 5.0
    stop_s = 0.5

    @classmethod
    def installation(cls) -> Installation:
        return Installation(True, "1")

    def prepare(self) -> None:
        pass

    def nodes(self) -> Sequence[Node]:
        return [Node("sleeper", ["sh", "-c", self.settings["program"]])]

    def ask_version(self) -> str:
        if self.settings["program"].startswith("never"):
            raise NotReadyError("it says nothing")
        return "1"

    def connection(self) -> Mapping[str, object]:
        return {}

    def settled(self) -> Settled:
        return Settled(False, "never")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "server"


def test_stopping_leaves_no_process_and_no_record(folder: Path) -> None:
    with Sleeper(folder) as server:
        (process,) = server.processes
        assert state_of(process.pid) is not None
        assert (folder / FILE).exists()
    assert not process.runs()
    assert not (folder / FILE).exists()


def test_one_that_does_not_end_when_asked_is_killed_within_its_time(folder: Path) -> None:
    server = Sleeper(folder, {"program": "trap '' TERM; while :; do sleep 0.05; done"}).start()
    time.sleep(0.2)  # until the trap is set
    message = server.stop()
    assert message == "killed: sleeper did not end within 0.5 s"
    assert not server.processes[0].runs()


def test_one_that_stands_still_is_reported_and_stopped(folder: Path) -> None:
    server = Sleeper(folder).start()
    os.kill(server.processes[0].pid, signal.SIGSTOP)
    while state_of(server.processes[0].pid) != "T":
        time.sleep(0.01)
    assert server.trouble() == "sleeper stands still (SIGSTOP)"
    server.stop()
    assert not server.processes[0].runs()


def test_one_that_is_killed_is_reported(folder: Path) -> None:
    with Sleeper(folder) as server:
        os.kill(server.processes[0].pid, signal.SIGKILL)
        server.processes[0].wait(time.monotonic() + 60)
        assert server.trouble() == "sleeper was killed by SIGKILL"


def test_one_that_ends_while_it_starts_is_reported_with_the_end_of_its_log(folder: Path) -> None:
    with pytest.raises(
        DatabaseError, match=r"sleeper ended with code 3 while it started; its log ends: .*no such knob"
    ):
        Sleeper(folder, {"program": "never() { echo no such knob; exit 3; }; never"}).start()
    assert not (folder / FILE).exists()


def test_an_error_before_the_end_of_the_log_is_reported_too(folder: Path) -> None:
    lines = ["java.lang.RuntimeException: no peers", "at Main", "closing", "closed", "done"]
    with pytest.raises(
        DatabaseError, match=r"its log ends: closing \| closed \| done; its last error: java.* no peers$"
    ):
        Sleeper(folder, {"program": f"never() {{ printf '%s\\n' {shlex.join(lines)}; exit 3; }}; never"}).start()


def test_one_that_does_not_answer_in_time_is_reported_and_stopped(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Sleeper, "start_s", 0.3)
    server = Sleeper(folder, {"program": "never() { exec sleep 60; }; never"})
    with pytest.raises(DatabaseError, match=r"did not answer within 0.3 s: it says nothing; its log is empty"):
        server.start()
    assert not server.processes[0].runs()


def test_settling_ends_with_its_time_limit(folder: Path) -> None:
    with Sleeper(folder) as server:
        assert server.await_settled(0.1) == Settled(False, "never")


def test_two_do_not_run_in_one_folder(folder: Path) -> None:
    with Sleeper(folder), pytest.raises(UsageError, match="a sleeper server runs there already"):
        Sleeper(folder).start()


def test_what_a_killed_program_started_is_killed_with_it(folder: Path) -> None:
    program = (
        "import sys, time; from pathlib import Path; from edgejoule.database_servers import SERVERS\n"
        "from edgejoule.database_servers.processes import NodeProcess\n"
        "from edgejoule.database_servers.record import Record, this_program\n"
        "f = Path(sys.argv[1]); f.mkdir()\n"
        "p = NodeProcess.start('n', ['sleep', '60'], f / 'log', {}, f, outlives=False)\n"
        "q = NodeProcess.start('n', ['sleep', '60'], f / 'log', {}, f, outlives=True)\n"
        "Record('redis', {}, {}, [p, q], this_program()).write(f)\n"
        "print(p.pid, q.pid, flush=True); time.sleep(60)"
    )
    owner = subprocess.Popen([sys.executable, "-c", program, str(folder)], stdout=subprocess.PIPE, text=True)
    assert owner.stdout
    dependent, survivor = map(int, owner.stdout.readline().split())
    survivor_started = started_ticks(survivor)
    owner.kill()
    owner.wait()
    end = time.monotonic() + 60
    while state_of(dependent) not in (None, "Z") and time.monotonic() < end:
        time.sleep(0.01)
    assert state_of(dependent) in (None, "Z")  # by its parent's death
    assert state_of(survivor) not in (None, "Z")
    assert remove_leftovers(folder.parent) == ["n"]  # by its record
    assert state_of(survivor) in (None, "Z") or started_ticks(survivor) != survivor_started
    assert not (folder / FILE).exists()


def test_a_pid_that_was_given_again_is_left_alone(folder: Path) -> None:
    other = subprocess.Popen(["sleep", "60"])
    try:
        folder.mkdir()
        (folder / FILE).write_text(
            f'{{"server": "redis", "settings": {{}}, "ports": {{}}, "owner": [1, 1],'
            f' "processes": [{{"name": "redis", "pid": {other.pid}, "started_ticks": 1}}]}}'
        )
        assert remove_leftovers(folder.parent) == []
        assert other.poll() is None
        assert Record.read(folder) is None
    finally:
        other.kill()
        other.wait()


def test_a_broken_record_is_none(folder: Path) -> None:
    folder.mkdir()
    (folder / FILE).write_text("{")
    assert Record.read(folder) is None


def test_usage_counts_the_cpu_time_of_a_child_that_has_ended(folder: Path) -> None:
    burn = "sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done'; echo done; exec sleep 60"
    with Sleeper(folder, {"program": burn}) as server:
        while not server.log_of("sleeper").read_text():
            time.sleep(0.01)
        usage = server.usage()
    assert usage.cpu_s > 0.01
    assert usage.rss_bytes > 100_000


def test_an_unknown_option_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"redis.persistance: unknown option; did you mean 'persistence'\?"):
        effective("redis", SERVERS["redis"].options, {}, {"persistance": "none"})


def test_a_value_that_is_no_choice_is_refused() -> None:
    with pytest.raises(UsageError, match=r"redis.persistence: expected none, rdb, .* got 'often'"):
        effective("redis", SERVERS["redis"].options, {}, {"persistence": "often"})


def test_a_preset_gives_defaults_that_a_setting_overrides() -> None:
    kind = SERVERS["cassandra"]
    settings = effective("cassandra", kind.options, kind.presets, {"preset": "1gb-board", "heap_mb": 300})
    assert (settings["heap_mb"], settings["new_mb"], settings["timeout_ms"]) == ("300", "142", "60000")


def test_settings_of_the_server_itself_pass_through() -> None:
    assert effective("redis", {}, {}, {"conf.hz": 20}) == {"conf.hz": "20"}


def test_an_invalid_number_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cassandra.nodes: expected a whole number from 1 on, got 'three'"):
        SERVERS["cassandra"](tmp_path, {"nodes": "three"})


def test_free_ports_differ() -> None:
    assert len(set(free_ports(20))) == 20


def test_options_of_servers_and_of_their_clients_have_different_names() -> None:
    for name, kind in SERVERS.items():
        known = adapters()[name].options
        assert set(kind.options) <= set(known)
        assert not set(kind.connection_options) & set(known)


def test_a_folder_that_is_no_snapshot_is_not_replaced(folder: Path, tmp_path: Path) -> None:
    server = Sleeper(folder)
    server.data.mkdir(parents=True)
    mine = tmp_path / "mine"
    mine.mkdir()
    with pytest.raises(UsageError, match="no snapshot of a server"):
        snapshots.keep(server, mine)
    assert mine.is_dir()


def kept_snapshot(folder: Path, target: Path) -> Sleeper:
    server = Sleeper(folder)
    server.data.mkdir(parents=True)
    (server.data / "rows").write_text("kept")
    snapshots.keep(server, target)
    (server.data / "rows").write_text("newer")
    return server


def test_a_snapshot_takes_the_place_of_the_data(folder: Path, tmp_path: Path) -> None:
    server = kept_snapshot(folder, tmp_path / "kept")
    snapshots.put_back(server, tmp_path / "kept")
    assert (server.data / "rows").read_text() == "kept"


def test_a_snapshot_that_cannot_be_put_back_leaves_the_data_alone(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = kept_snapshot(folder, tmp_path / "kept")

    def no_room(source: Path, target: Path, **how: bool) -> None:
        target.mkdir()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(shutil, "copytree", no_room)
    with pytest.raises(StoreError, match="No space left"):
        snapshots.put_back(server, tmp_path / "kept")
    assert (server.data / "rows").read_text() == "newer"
    assert [p.name for p in folder.iterdir() if p.name.endswith(".part")] == []


def test_what_is_put_back_must_be_of_that_server(folder: Path, tmp_path: Path) -> None:
    kept_snapshot(folder, tmp_path / "kept")
    with pytest.raises(UsageError, match="a snapshot of sleeper, not of redis"):
        snapshots.check(SERVERS["redis"](tmp_path / "other", {}), tmp_path / "kept")


def test_a_postgres_that_is_named_and_not_there_is_not_replaced_by_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDGEJOULE_POSTGRES", str(tmp_path))
    installed = SERVERS["postgres"].installation()
    assert not installed.available
    assert installed.why == f"EDGEJOULE_POSTGRES={tmp_path}: no program postgres there"
