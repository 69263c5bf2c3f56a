"""PostgreSQL itself, on loopback."""

from __future__ import annotations

import os
import pwd
import signal
import time
from pathlib import Path

import pytest

from edgejoule.database_servers import postgres, snapshots
from edgejoule.database_servers.postgres import Postgres
from edgejoule.errors import DatabaseError, UsageError

from .conftest import Start

pytestmark = pytest.mark.server


def sql(server: object, statement: str) -> str:
    assert isinstance(server, Postgres)
    return server.sql(statement)


def test_runs_with_its_settings_and_never_as_root(start: Start) -> None:
    server = start("postgres", synchronous_commit="off", shared_buffers="32MB", conf__work_mem="3MB")
    assert server.version == sql(server, "SHOW server_version").split(" ")[0]
    shown = [sql(server, f"SHOW {name}") for name in ("synchronous_commit", "shared_buffers", "work_mem")]
    assert shown == ["off", "32MB", "3MB"]
    owner = Path(f"/proc/{server.processes[0].pid}").stat().st_uid
    assert owner == (pwd.getpwnam("postgres").pw_uid if os.geteuid() == 0 else os.geteuid())


def test_rows_are_there_after_a_restart_and_after_a_restore(start: Start, tmp_path: Path) -> None:
    server = start("postgres")
    sql(server, "CREATE TABLE usertable (y_id text PRIMARY KEY)")
    sql(server, "INSERT INTO usertable SELECT 'user' || i FROM generate_series(1, 1000) i")
    assert server.operations()["n_tup_ins"] == 1000
    server.stop()
    snapshots.keep(server, tmp_path / "kept")
    again = start("postgres")
    assert sql(again, "SELECT count(*) FROM usertable") == "1000"
    sql(again, "DELETE FROM usertable")
    again.stop()
    snapshots.put_back(again, tmp_path / "kept")
    assert sql(start("postgres"), "SELECT count(*) FROM usertable") == "1000"


def test_settling_makes_a_checkpoint_which_is_reported_as_work(start: Start) -> None:
    server = start("postgres")
    begin = time.time_ns()
    sql(server, "CREATE TABLE t AS SELECT i FROM generate_series(1, 20000) i")
    assert server.await_settled(60).complete
    work = [w for w in server.work() if w.begin_realtime_ns > begin - 10**6]
    assert [w.kind for w in work] == ["checkpoint"]
    assert work[0].duration_ns is not None
    assert server.usage().write_bytes > 20_000 * 4


def test_a_wrong_server_setting_is_reported_by_its_log(start: Start) -> None:
    with pytest.raises(DatabaseError, match=r"postgres ended with code 1 while it started; its log ends: .*nonsense"):
        start("postgres", conf__nonsense="1")


def test_one_that_is_killed_leaves_no_backend(start: Start) -> None:
    server = start("postgres")
    (process,) = server.processes
    children = [int(p) for p in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]
    assert children
    os.kill(process.pid, signal.SIGSTOP)
    server.kill()
    assert not any(Path(f"/proc/{pid}/exe").exists() for pid in children)


def test_workers_want_citus(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres, "_has_citus", lambda: False)
    with pytest.raises(
        DatabaseError, match="Citus is not available, because PostgreSQL has no extension citus; install"
    ):
        start("postgres", workers=2)
    with pytest.raises(UsageError, match="workers: at most 9, got 10"):
        start("postgres", workers=10)


@pytest.mark.skipif(not postgres._has_citus(), reason="PostgreSQL has no extension citus here")
def test_a_restored_citus_finds_its_workers_at_other_ports(start: Start, tmp_path: Path) -> None:
    server = start("postgres", workers=2)
    assert "with Citus" in server.version
    assert [process.name for process in server.processes] == ["coordinator", "worker1", "worker2"]
    sql(server, "CREATE TABLE usertable (ycsb_key text PRIMARY KEY)")
    sql(server, "SELECT create_distributed_table('usertable', 'ycsb_key')")
    sql(server, "INSERT INTO usertable SELECT 'user' || i FROM generate_series(1, 1000) i")
    assert server.await_settled(60).complete
    server.stop()
    snapshots.keep(server, tmp_path / "kept")
    snapshots.put_back(server, tmp_path / "kept")
    again = start("postgres", workers=2)
    assert again.ports != server.ports
    assert sql(again, "SELECT count(*) FROM usertable") == "1000"
    assert sql(again, "SELECT count(DISTINCT nodeport) FROM pg_dist_shard_placement") == "2"
