"""HBase itself: one process, and three region servers on HDFS."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgejoule.errors import UsageError

from .conftest import Start

pytestmark = [pytest.mark.server, pytest.mark.slow]


def test_one_process_starts_prints_its_version_and_starts_again(start: Start) -> None:
    server = start("hbase", preset="1gb-board")
    assert server.version == "2.6.4"
    argv = Path(f"/proc/{server.processes[0].pid}/cmdline").read_bytes().decode().split("\0")
    assert {"-Xmx430m", "-Xmn142m"} <= set(argv)
    assert server.await_settled(60).complete
    assert server.stop().startswith("stopped")
    again = start("hbase")
    assert again.await_settled(60).complete
    assert {work.kind for work in again.work()} >= {"flush"}


def test_three_region_servers_run_on_hdfs(start: Start) -> None:
    server = start("hbase", region_servers=3, dfs_replication=3, preset="1gb-board")
    names = [process.name for process in server.processes]
    assert names == [
        "name-node", *(f"data-node{n}" for n in (1, 2, 3)), "zookeeper", "master",
        *(f"region-server{n}" for n in (1, 2, 3)),
    ]  # fmt: skip
    assert server.await_settled(60).complete
    assert list(server.data.glob("blocks3/**/blk_*"))  # every block is on every data node
    pids = [process.pid for process in server.processes]
    server.stop()
    assert not any(Path(f"/proc/{pid}/exe").exists() for pid in pids)


def test_more_copies_than_data_nodes_are_refused(start: Start) -> None:
    with pytest.raises(UsageError, match="dfs_replication: at most the 2 region servers"):
        start("hbase", region_servers=2, dfs_replication=3)
