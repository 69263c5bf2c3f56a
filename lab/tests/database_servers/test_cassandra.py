"""Cassandra itself: one node, and three that replicate."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from edgejoule.database_servers import DatabaseServer, snapshots
from edgejoule.database_servers.cql import CqlError, connected

from .conftest import Start

pytestmark = [pytest.mark.server, pytest.mark.slow]
KEYSPACE = "CREATE KEYSPACE ycsb WITH replication = {'class': 'SimpleStrategy', 'replication_factor': %d}"
TABLE = "CREATE TABLE ycsb.usertable (y_id varchar PRIMARY KEY, field0 varchar)"
SCHEMA = "SELECT schema_version FROM system.local"
SELECT = "SELECT field0 FROM ycsb.usertable WHERE y_id = 'user1'"


def ask(server: DatabaseServer, query: str, node: int = 1) -> list[dict[str, object]]:
    with connected(f"127.0.0.{node}", server.ports["native"]) as connection:
        return [dict(row) for row in connection.ask(query)]


def fill(server: DatabaseServer, replicas: int) -> None:
    ask(server, KEYSPACE % replicas)
    ask(server, TABLE)
    ask(server, "INSERT INTO ycsb.usertable (y_id, field0) VALUES ('user1', 'before')")


def eventually(holds: Callable[[], bool], most_s: float = 60) -> None:
    end = time.monotonic() + most_s
    while True:
        with contextlib.suppress(CqlError):
            if holds():
                return
        assert time.monotonic() < end
        time.sleep(0.1)


def test_one_node_keeps_its_rows_over_a_restart_and_a_restore(start: Start, tmp_path: Path) -> None:
    server = start("cassandra", preset="1gb-board", commitlog_sync="batch")
    assert server.version == "5.0.2"
    fill(server, 1)
    assert ask(server, SELECT) == [{"field0": "before"}]
    assert server.operations() == {"read": 1, "scan": 0, "write": 1}
    with pytest.raises(CqlError, match="line 1"):
        ask(server, "SELEKT 1")
    assert server.await_settled(60).complete
    assert {work.kind for work in server.work()} >= {"flush"}
    argv = Path(f"/proc/{server.processes[0].pid}/cmdline").read_bytes().decode().split("\0")
    assert {"-Xmx430m", "-Xmn142m"} <= set(argv)
    timeout = "SELECT value FROM system_views.settings WHERE name = 'read_request_timeout'"
    assert ask(server, timeout) == [{"value": "60000ms"}]
    usage = server.usage()
    assert usage.cpu_s > 1
    assert usage.rss_bytes > 200e6
    assert server.stop().startswith("stopped")
    snapshots.keep(server, tmp_path / "kept")

    again = start("cassandra", commitlog_sync="batch")
    ask(again, "UPDATE ycsb.usertable SET field0 = 'after' WHERE y_id = 'user1'")
    again.stop()
    snapshots.put_back(again, tmp_path / "kept")
    assert ask(start("cassandra"), SELECT) == [{"field0": "before"}]


def test_three_nodes_have_every_row_three_times(start: Start) -> None:
    server = start("cassandra", nodes=3, preset="1gb-board")
    fill(server, 3)
    eventually(lambda: len({str(ask(server, SCHEMA, node)) for node in (1, 2, 3)}) == 1)
    eventually(lambda: ask(server, SELECT, node=3) == [{"field0": "before"}])
    peers = {str(row["peer"]) for row in ask(server, "SELECT peer FROM system.peers_v2", node=2)}
    assert len(peers) == 2
    os.kill(server.processes[2].pid, signal.SIGKILL)
    server.processes[2].wait(float("inf"))
    assert server.trouble() == "cassandra's node3 was killed by SIGKILL"
    eventually(lambda: ask(server, SELECT, node=2) == [{"field0": "before"}])
    pids = [process.pid for process in server.processes]
    server.stop()
    assert not any(Path(f"/proc/{pid}/exe").exists() for pid in pids)
