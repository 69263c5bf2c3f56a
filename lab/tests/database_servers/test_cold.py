"""A run on a server begins with its tables on storage alone, or it says that it may not have."""

from __future__ import annotations

import contextlib
import json
import mmap
import re
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from edgejoule.database_servers import SERVERS, DatabaseServer
from edgejoule.database_servers.cold import ColdStart, TablePages, cool, table_pages
from edgejoule.database_servers.mongodb import MongoDB, wired_tiger_cache
from edgejoule.database_servers.postgres import Postgres
from edgejoule.database_servers.server import NotReadyError, OwnCache, Settled
from edgejoule.database_servers.serving import serving
from edgejoule.errors import DatabaseError
from edgejoule.store import Run
from edgejoule.study.execute import _cold_caches

from .studies import Study

SCHEMAS = Path(__file__).resolve().parents[3] / "schemas"
MB = 1_000_000
COLD = ColdStart(TablePages(100 * MB, 0), 90 * MB, OwnCache(0, "its counter"), Settled(True, "idle"))


@pytest.fixture
def on_disk() -> Iterator[Path]:
    """Files in a tmpfs, which /tmp may be, are always in memory."""
    with tempfile.TemporaryDirectory(prefix="edgejoule-cold-", dir="/var/tmp") as folder:
        yield Path(folder)


def test_a_cold_start_has_both_caches_as_facts_and_no_doubts() -> None:
    assert COLD.doubts() == []
    assert COLD.facts() == {
        "resident_bytes_before": 90 * MB, "resident_bytes_after": 0, "table_bytes": 100 * MB, "own_cache_bytes": 0,
        "own_cache": "its counter",
    }  # fmt: skip
    assert replace(COLD, pages=TablePages(100 * MB, MB - 1)).doubts() == []
    assert replace(COLD, own=OwnCache(2 * MB, "its counter", catalog_bytes_max=2 * MB)).doubts() == []


@pytest.mark.parametrize(
    ("changes", "doubt"),
    [
        (
            {"pages": TablePages(100 * MB, MB)},
            r"not cold: 1\.0% of the tables' files \(1\.0 of 100\.0 MB\) were in mem",
        ),
        ({"pages": TablePages(0, 0)}, "unknown whether the cache was cold: the server has no file of a table"),
        ({"own": OwnCache(MB, "its counter")}, r"own cache was not cold: it had 1\.0 MB .* \(its counter\)"),
        ({"own": OwnCache(None, "no answer")}, "unknown whether the server's own cache was cold: no answer"),
        ({"settled": Settled(False, "2 tasks")}, "had not settled before its files were dropped from memory: 2 tasks"),
    ],
)
def test_a_start_that_may_not_be_cold_is_flagged_with_the_reason(changes: dict[str, Any], doubt: str) -> None:
    (said,) = replace(COLD, **changes).doubts()
    assert re.search(doubt, said), said


@pytest.mark.parametrize(
    ("name", "options", "tables", "others"),
    [
        (
            "postgres", {}, ["base/5/16385", "base/5/16385.1", "base/5/16385_fsm", "pg_tblspc/16390/PG_15_1/5/16401"],
            ["base/5/2619", "base/5/PG_VERSION", "base/5/t3_16400", "global/1262", "pg_wal/000000010000000000000001"],
        ),
        (
            "mongodb", {"server": "mongod"}, ["collection-0--12.wt", "ycsb/index-1--12.wt"],
            ["WiredTiger.wt", "WiredTigerHS.wt", "_mdb_catalog.wt", "journal/WiredTigerLog.0000000001"],
        ),
        (
            "cassandra", {"nodes": 2},
            ["node1/data/ycsb/usertable-1/nb-1-big-Data.db", "node2/data/ycsb/usertable-1/nb-1-big-Index.db"],
            ["node1/data/system/local-7/nb-1-big-Data.db", "node1/commitlog/CommitLog-8-1.log", "node2/caches/x.db"],
        ),
        (
            "hbase", {}, ["hbase/data/default/usertable/1/f/2", "hbase/data/default/usertable/1/f/.2.crc"],
            ["hbase/data/hbase/meta/1588230740/info/3", "hbase/WALs/localhost,1,1/a", "hbase/MasterData/data/x"],
        ),
        (
            "hbase", {"region_servers": 1}, ["blocks1/current/BP-1/current/finalized/subdir0/subdir0/blk_1"],
            ["blocks1/current/BP-1/current/rbw/blk_2", "name/current/fsimage_1"],
        ),
    ],
)  # fmt: skip
def test_the_tables_files_are_without_log_and_catalog(
    tmp_path: Path, name: str, options: dict[str, Any], tables: list[str], others: list[str]
) -> None:
    server = SERVERS[name](tmp_path, options)
    server.ports = {"port": 1}
    for path in [*tables, *others]:
        (server.data / path).parent.mkdir(parents=True, exist_ok=True)
        (server.data / path).touch()
    assert sorted(server.table_files()) == sorted(server.data / path for path in tables)


def test_every_server_is_either_never_cold_or_names_its_tables_files() -> None:
    never = {name for name, kind in SERVERS.items() if kind.never_cold}
    assert never == {"redis"}
    assert all(
        "table_files" in vars(kind) and "own_cache" in vars(kind) for n, kind in SERVERS.items() if n not in never
    )


def test_wired_tiger_s_cache_is_that_of_server_status() -> None:
    """The answer has the form of MongoDB's manual; no mongod is here."""
    cache = {"bytes currently in the cache": 73_214, "maximum bytes configured": 268_435_456}
    small = wired_tiger_cache({"wiredTiger": {"cache": cache}})
    assert small.cached_bytes == 73_214
    assert "bytes currently in the cache" in small.how
    assert replace(COLD, own=small).doubts() == [], "mongod has read its catalog"
    full = wired_tiger_cache({"wiredTiger": {"cache": cache | {"bytes currently in the cache": 60 * MB}}})
    assert "own cache was not cold: it had 60.0 MB" in replace(COLD, own=full).doubts()[0]
    assert wired_tiger_cache({"opcounters": {}}).cached_bytes is None


def test_the_stand_in_for_mongodb_has_one_file(tmp_path: Path) -> None:
    server = MongoDB(tmp_path, {"server": "stand-in"})
    server.data.mkdir()
    (server.data / "store").touch()
    assert server.table_files() == [server.data / "store"]


def test_files_in_memory_are_never_cold() -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        server = SERVERS["postgres"](Path(folder))
        with pytest.raises(DatabaseError, match=r"in memory \(tmpfs\), which is never cold; put the data on a disk"):
            cool(server, 1)


# Servers themselves.

ROWS = 20_000  # of 1 KB


@pytest.fixture
def restarted(on_disk: Path) -> Iterator[Postgres]:
    """A restarted PostgreSQL whose tables are in the page cache alone."""
    server = Postgres(on_disk / "server")
    if not (here := server.installation()).available:
        pytest.fail(f"{here.why}: {here.fix}")
    with server:
        server.sql("CREATE TABLE usertable (ycsb_key text PRIMARY KEY, field0 text)")
        server.sql(f"INSERT INTO usertable SELECT i, repeat(md5(i::text), 32) FROM generate_series(1, {ROWS}) i")
    with Postgres(on_disk / "server") as again:
        for path in again.table_files():
            path.read_bytes()
        yield again


def read_all(server: Postgres) -> None:
    assert server.sql("SELECT count(*) FROM usertable WHERE length(field0) = 1024") == str(ROWS)


@pytest.mark.server
def test_a_restarted_server_is_cold_only_when_its_files_have_been_dropped(restarted: Postgres) -> None:
    warm = table_pages(restarted.table_files())
    assert warm.table_bytes > ROWS * 1024
    assert "not cold" in replace(COLD, pages=warm).doubts()[0], "without the drop the check must flag it"
    cold = cool(restarted, 60)
    assert cold.doubts() == []
    assert (cold.pages.resident_bytes, cold.own.cached_bytes) == (0, 0)
    assert cold.resident_bytes_before > 0
    read_all(restarted)
    assert not table_pages(restarted.table_files()).cold


@pytest.mark.server
def test_tables_in_the_server_s_own_cache_are_noticed(restarted: Postgres) -> None:
    read_all(restarted)
    cold = cool(restarted, 60)
    assert cold.pages.cold
    (doubt,) = cold.doubts()
    assert "the server's own cache was not cold" in doubt
    assert "pg_buffercache" in doubt


@pytest.mark.server
def test_tables_that_another_program_has_mapped_are_noticed(restarted: Postgres) -> None:
    with contextlib.ExitStack() as mapped:
        for path in restarted.table_files():
            hold(path, mapped)
        (doubt,) = cool(restarted, 60).doubts()
    assert "the cache was not cold" in doubt


@pytest.mark.server
def test_a_client_that_does_not_wait_fails_the_run(restarted: Postgres) -> None:
    restarted.stop()
    with serving(Postgres(restarted.folder)) as served:
        with pytest.raises(DatabaseError, match="older than this lab; run make servers"):
            _cold_caches(served)
        served.cool(60)
        assert _cold_caches(served)["dropped"] is True


def hold(path: Path, until: contextlib.ExitStack) -> None:
    """Maps a file and reads it, as another program might."""
    if path.stat().st_size:
        file = until.enter_context(path.open("rb"))
        mapped = until.enter_context(mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ))
        sum(mapped[i] for i in range(0, len(mapped), mmap.PAGESIZE))


class Holder(threading.Thread):
    """Another program that maps PostgreSQL's tables below a folder as soon as they are there."""

    def __init__(self, folder: Path) -> None:
        super().__init__(daemon=True)
        self._folder, self.over = folder, threading.Event()

    def run(self) -> None:
        with contextlib.ExitStack() as held:
            known: set[tuple[Path, int]] = set()
            while not self.over.wait(0.02):
                with contextlib.suppress(OSError):  # restoring has not made it yet, or removes it again
                    for path in self._folder.rglob("base/*/*"):
                        state = (path, path.stat().st_size)
                        if state[1] > MB and state not in known:
                            known.add(state)
                            hold(path, held)


# Studies.


def cold_run(study: Study, *arguments: str) -> Run:
    """The only run of a study with enough rows for 1 % of them to be many pages; its record and events are valid."""
    code, said = study.run("--set", "fixed.recordcount=20000", *arguments)
    assert code in (0, 3), said
    (run,) = study.runs()
    jsonschema.validate(study.record(run), json.loads((SCHEMAS / "run-record.schema.json").read_text()))
    schema = json.loads((SCHEMAS / "driver-event.schema.json").read_text())
    for event in study.events(run):
        jsonschema.validate(event, schema)
    assert study.left() == []
    print(run.facts["cache"])
    return run


def about_caches(run: Run) -> list[str]:
    return [flag for flag in run.flags if "cold" in flag or "dropped" in flag]


def assert_cold(run: Run) -> None:
    cache = run.facts["cache"]
    assert about_caches(run) == []
    assert cache["state"] == "cold"
    assert cache["table_bytes"] > 10 * MB
    assert cache["resident_bytes_after"] < 0.01 * cache["table_bytes"]


@pytest.mark.server
@pytest.mark.parametrize("quiet_s", [0, 0.3])
def test_a_cold_study_on_postgres_reads_its_tables_from_storage(on_disk: Path, quiet_s: float) -> None:
    study = Study(on_disk, "postgres", fixed='cache = "cold"')
    run = cold_run(study, "--set", f"timing.quiet_s={quiet_s}")
    assert_cold(run)
    assert run.facts["cache"]["own_cache_bytes"] < 0.01 * run.facts["cache"]["table_bytes"]
    assert (run.value("device_read_bytes") or 0) > MB
    events = study.events(run)
    quiet = [event["place"] for event in events if event["event"] == "quiet_end"]
    assert quiet == (["before", "after"] if quiet_s else [])
    names = [event.get("phase", event["event"]) for event in events]
    assert not quiet_s or names.index("quiet_end") < names.index("active")


@pytest.mark.server
def test_a_study_whose_tables_another_program_holds_in_memory_is_flagged(on_disk: Path) -> None:
    holder = Holder(on_disk / "results/data/run")
    holder.start()
    try:
        run = cold_run(Study(on_disk, "postgres", fixed='cache = "cold"'))
    finally:
        holder.over.set()
        holder.join()
    (flag,) = about_caches(run)
    assert "the cache was not cold" in flag


@pytest.mark.server
def test_a_cold_study_on_the_stand_in_does_not_know_its_own_cache(on_disk: Path) -> None:
    study = Study(on_disk, "mongodb", fixed='cache = "cold"\n"mongodb.server" = "stand-in"')
    spec = on_disk / "experiment.toml"
    named = spec.read_text().replace('["mongodb"]', '["mongodb-stand-in"]')
    spec.write_text(f'{named}[databases.mongodb-stand-in]\nadapter = "mongodb"\n')
    (flag,) = about_caches(run := cold_run(study))
    assert "own cache was cold: serverStatus has no cache of WiredTiger" in flag
    assert run.facts["cache"]["resident_bytes_after"] < 0.01 * run.facts["cache"]["table_bytes"]


@pytest.mark.server
def test_a_command_finds_its_server_cold(on_disk: Path) -> None:
    study = Study(on_disk, "postgres", fixed='cache = "cold"')
    psql = '["psql", "-h", "{host}", "-p", "{port}", "-U", "postgres", "-d", "ycsb", "-c", '
    table = "CREATE TABLE t AS SELECT i, repeat(md5(i::text), 32) FROM generate_series(1, 20000) i"
    spec = on_disk / "experiment.toml"
    text = spec.read_text().partition("[workloads.mixed]")[0]
    for name in ("recordcount", "operationcount", "threads"):
        text = re.sub(rf"{name} = \d+\n", "", text)
    text += f'[workloads.mixed]\nload = {psql}"{table}"]\ncommand = {psql}"SELECT count(*) FROM t"]\n'
    spec.write_text(text + "[design]\nreplications = 1\n[timing]\nidle_s = 0.25\n[meter]\nrun_s_min = 0\n")
    code, said = study.run()
    assert code in (0, 3), said
    (run,) = study.runs()
    assert_cold(run)


@pytest.mark.server
@pytest.mark.slow
@pytest.mark.parametrize("fixed", ["", '"cassandra.nodes" = 2\n"cassandra.replication_factor" = 2'], ids=["one", "two"])
def test_a_cold_study_on_cassandra_maps_no_file(on_disk: Path, fixed: str) -> None:
    run = cold_run(Study(on_disk, "cassandra", fixed=f'cache = "cold"\n{fixed}'), "--set", "timing.quiet_s=0.3")
    assert_cold(run)
    assert run.facts["server"]["settings"]["conf.disk_access_mode"] == "standard"
    assert run.facts["cache"]["own_cache_bytes"] < 0.01 * run.facts["cache"]["table_bytes"]


@pytest.mark.server
@pytest.mark.slow
def test_a_cold_study_on_hbase_drops_its_hfiles(on_disk: Path) -> None:
    run = cold_run(Study(on_disk, "hbase", fixed='cache = "cold"'))
    assert_cold(run)
    assert run.facts["cache"]["own_cache_bytes"] > 0, "an empty block cache counts its own structures"


@pytest.mark.server
@pytest.mark.slow
def test_on_hdfs_the_blocks_of_the_data_nodes_are_dropped(on_disk: Path) -> None:
    with SERVERS["hbase"](on_disk / "server", {"region_servers": 1}) as server:
        assert server.await_settled(60).complete
        blocks = server.table_files()
        for path in blocks:
            path.read_bytes()
        assert not table_pages(blocks).cold
        assert cool(server, 60).doubts() == []


@pytest.mark.parametrize("back", [True, False])
def test_the_cache_of_hbase_is_read_although_its_metrics_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, back: bool
) -> None:
    server = SERVERS["hbase"](tmp_path)
    server.ports = {"region_info0": 1}
    beans = {"blockCacheSize": 2000, "memStoreSize": 5, "blockCacheFreeSize": 9_998_000}
    begin = time.monotonic()

    def page(_port: int, _path: str) -> str:
        return json.dumps({"beans": [beans] if back and time.monotonic() - begin > 0.5 else []})

    monkeypatch.setattr(server, "_page", page)
    monkeypatch.setattr("edgejoule.database_servers.hbase._RESTART_OF_METRICS_S", 60.0 if back else 0.2)
    if back:
        assert server.own_cache().cached_bytes == 2005
    else:
        with pytest.raises(NotReadyError, match="port 1: nothing about Hadoop:service=HBase,name=RegionServer"):
            server.own_cache()


def test_a_server_that_reports_no_cache_says_so(tmp_path: Path) -> None:
    server = SERVERS["redis"](tmp_path)
    assert isinstance(server, DatabaseServer)
    assert server.own_cache() == OwnCache(None, "redis does not report it")
