"""Redis itself, on loopback."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from redis import RedisError

from edgejoule.database_servers import DatabaseServer, snapshots
from edgejoule.database_servers.redis import connected
from edgejoule.errors import DatabaseError

from .conftest import Start

pytestmark = pytest.mark.server
PERSISTENCE = ["none", "rdb", "aof-no", "aof-everysec", "aof-always"]


def ask(server: DatabaseServer, *arguments: str) -> object:
    with connected(server.ports["port"]) as redis:
        answer: object = redis.execute_command(*arguments)
        return answer


def test_prints_its_version(start: Start) -> None:
    info = ask(start("redis", "other"), "INFO", "server")
    assert isinstance(info, dict)
    assert start("redis").version == info["redis_version"]


@pytest.mark.parametrize("persistence", PERSISTENCE)
def test_its_data_are_there_after_a_restart(start: Start, persistence: str) -> None:
    server = start("redis", persistence=persistence)
    ask(server, "HSET", "user1", "field0", "value")
    server.stop()
    assert ask(start("redis", persistence=persistence), "HGET", "user1", "field0") == "value"


@pytest.mark.parametrize(
    ("persistence", "expected"),
    [
        ("none", ("", "no", "everysec")),
        ("rdb", ("3600 1 300 100 60 10000", "no", "everysec")),
        ("aof-no", ("", "yes", "no")),
        ("aof-everysec", ("", "yes", "everysec")),
        ("aof-always", ("", "yes", "always")),
    ],
)
def test_persistence_is_as_the_server_reports(start: Start, persistence: str, expected: tuple[str, ...]) -> None:
    server = start("redis", persistence=persistence)
    with connected(server.ports["port"]) as redis:
        in_force = redis.config_get("save", "appendonly", "appendfsync")
    assert (in_force["save"], in_force["appendonly"], in_force["appendfsync"]) == expected


def test_a_snapshot_under_way_is_not_settled_and_is_reported_as_work(start: Start) -> None:
    server = start("redis", persistence="none", **{"conf__enable-debug-command": "yes"})
    for _ in range(3):
        ask(server, "DEBUG", "POPULATE", "300000", "key", "100")
    ask(server, "CONFIG", "SET", "rdb-key-save-delay", "20")  # microseconds for each key
    before = time.time_ns()
    ask(server, "BGSAVE")
    assert not server.settled().complete
    assert "RDB snapshot" in server.settled().how
    assert server.await_settled(60).complete
    (work,) = server.work()
    assert work.kind == "snapshot"
    assert work.duration_ns
    assert before - 10**9 < work.begin_realtime_ns < time.time_ns()
    assert work.duration_ns > 300_000 * 20_000 / 2


def test_a_rewrite_of_its_log_is_reported_as_work(start: Start) -> None:
    server = start("redis", persistence="aof-everysec")
    ask(server, "SET", "a", "b")
    ask(server, "BGREWRITEAOF")
    assert server.await_settled(20).complete
    assert [(work.kind, work.detail) for work in server.work()] == [("compaction", "AOF rewrite")]


def test_counts_its_clients_operations_and_not_ours(start: Start) -> None:
    server = start("redis")
    for number in range(7):
        ask(server, "SET", f"key{number}", "x")
    ask(server, "GET", "key1")
    server.usage()
    assert server.operations() == {"set": 7, "get": 1}


def test_a_wrong_server_setting_is_reported_by_its_log(start: Start) -> None:
    with pytest.raises(DatabaseError, match=r"redis ended with code 1 while it started; its log ends: .*nonsense"):
        start("redis", conf__nonsense="1")


def test_more_than_maxmemory_is_refused(start: Start) -> None:
    server = start("redis", maxmemory="3mb")
    for number in range(15):
        ask(server, "SET", f"key{number}", "x" * 100_000)
    with pytest.raises(RedisError, match="maxmemory"):
        ask(server, "MSET", *(word for number in range(30) for word in (f"more{number}", "x" * 100_000)))


def test_a_snapshot_brings_back_what_was_there(start: Start, tmp_path: Path) -> None:
    server = start("redis", persistence="none")
    ask(server, "SET", "a", "before")
    server.stop()
    snapshots.keep(server, tmp_path / "kept")
    again = start("redis", persistence="none")
    ask(again, "SET", "a", "after")
    again.stop()
    snapshots.put_back(again, tmp_path / "kept")
    assert ask(start("redis", persistence="none"), "GET", "a") == "before"
