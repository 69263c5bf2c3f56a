"""The settings durability and replication_factor, translated to each server's own settings."""

from __future__ import annotations

import dataclasses
import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest

from edgejoule.database_servers import SERVERS
from edgejoule.database_servers.cassandra import Cassandra
from edgejoule.database_servers.mongodb import MongoDB
from edgejoule.databases import checks
from edgejoule.databases import driver as databases
from edgejoule.databases.checks import check_plan
from edgejoule.databases.driver import adapters
from edgejoule.databases.snapshots import Snapshots
from edgejoule.databases.system_under_test import Served, system_of
from edgejoule.errors import DatabaseError, UsageError
from edgejoule.experiment.model import Spec
from edgejoule.experiment.plan import PlannedRun, make_plan
from edgejoule.experiment.read import load_spec

EXPERIMENTS = Path(__file__).resolve().parents[3] / "experiments"
CLUSTER = {"cassandra.nodes": 3, "hbase.region_servers": 3, "postgres.workers": 3}


@pytest.fixture(autouse=True)
def all_are_here(monkeypatch: pytest.MonkeyPatch) -> None:
    here(monkeypatch, list(SERVERS))


def here(monkeypatch: pytest.MonkeyPatch, names: list[str]) -> None:
    """Only these servers, with their clients; starting none, it matters to no test what the machine has."""
    properties = {
        name: dataclasses.replace(a, available=name in names, fix=None if name in names else f"no {name}: install it")
        for name, a in adapters().items()
        if name in SERVERS
    }
    monkeypatch.setattr(databases, "adapters", lambda: adapters() | properties)


def plan_of(database: str | list[str], **fixed: Any) -> tuple[Spec, list[PlannedRun]]:
    names = [database] if isinstance(database, str) else database
    spec = Spec.model_validate({
        "name": "p", "question": "?", "factors": {"database": names, "workload": ["workloada"]},
        "fixed": {"recordcount": 10, "operationcount": 5, **fixed}, "design": {"replications": 1},
    })  # fmt: skip
    return spec, make_plan(spec)


def settings_of(database: str, **fixed: Any) -> dict[str, str]:
    _, (run,) = plan_of(database, **fixed)
    return dict(system_of(run).server(Path("/nowhere")).settings)


@pytest.mark.parametrize(("class_", "persistence"), [("none", "none"), ("process", "aof-no"), ("power", "aof-always")])
def test_the_durability_of_a_study_is_redis_s_persistence(class_: str, persistence: str) -> None:
    assert settings_of("redis", durability=class_)["persistence"] == persistence


@pytest.mark.parametrize(("class_", "value"), [("none", "off"), ("process", "on"), ("power", "on")])
def test_the_durability_of_a_study_is_postgresql_s_commit_and_fsync(class_: str, value: str) -> None:
    settings = settings_of("postgres", durability=class_)
    assert (settings["synchronous_commit"], settings["fsync"]) == (value, value)


def test_a_study_without_durability_leaves_every_server_as_it_is_by_default() -> None:
    for name, kind in SERVERS.items():
        assert settings_of(name) == {option: o.default for option, o in kind.options.items()}


@pytest.mark.parametrize(("asked", "journal"), [({}, "false"), ({"durability": "power"}, None)])
def test_only_a_study_that_asks_for_durability_waits_for_mongodb_s_journal(
    asked: dict[str, Any], journal: str | None
) -> None:
    assert system_of(plan_of("mongodb", **asked)[1][0]).options.get("journal") == journal
    assert system_of(plan_of("mongodb", **asked, **{"mongodb.journal": "true"})[1][0]).options["journal"] == "true"


def test_an_option_by_its_own_name_wins_over_the_durability() -> None:
    assert settings_of("redis", durability="power", **{"redis.persistence": "rdb"})["persistence"] == "rdb"


@pytest.mark.parametrize(
    ("database", "classes", "option", "value"),
    [
        ("mongodb", ("process", "power"), "journal", "false"),
        ("mongodb", ("process", "power"), "server_journal", "off"),
        ("mongodb", ("process", "power"), "conf.storage.journal.enabled", "false"),
        ("cassandra", ("power",), "commitlog_sync", "periodic"),
        ("cassandra", ("power",), "conf.commitlog_sync", "periodic"),
        ("hbase", ("process", "power"), "durability", "SKIP_WAL"),
        ("hbase", ("process", "power"), "durability", "ASYNC_WAL"),
        ("hbase", ("power",), "conf.hbase.wal.hsync", "false"),
        ("hbase", ("power",), "durability", "SYNC_WAL"),
        ("hbase", ("power",), "region_servers", "0"),
    ],
)
def test_an_option_that_breaks_the_promise_of_the_durability_is_refused_under_that_class_alone(
    monkeypatch: pytest.MonkeyPatch, database: str, classes: tuple[str, ...], option: str, value: str
) -> None:
    monkeypatch.setattr("edgejoule.database_servers.mongodb.program", lambda name: "/bin/true")  # not the stand-in
    for class_ in ("none", "process", "power"):
        nodes = {"hbase.region_servers": 1} if database == "hbase" else {}
        study = plan_of(database, durability=class_, **{**nodes, f"{database}.{option}": value})
        if class_ not in classes:
            check_plan(*study)
            continue
        why = f"{database}.{option} excludes durability: {option} = {value} breaks the promise of durability {class_}"
        with pytest.raises(UsageError, match=re.escape(why)):
            check_plan(*study)


def test_a_default_that_breaks_the_promise_of_the_durability_is_refused() -> None:
    check_plan(*plan_of("hbase", durability="process"))
    with pytest.raises(UsageError, match=r"hbase.region_servers is 0 and breaks its promise; set hbase.region_servers"):
        check_plan(*plan_of("hbase", durability="power"))


def test_durability_decides_what_a_load_is_kept_as(tmp_path: Path) -> None:
    keys = set()
    for asked in ({}, {"durability": "process"}, {"durability": "power"}):
        _, (run,) = plan_of("redis", **asked)
        keys.add(Snapshots(tmp_path).key(run))
    assert len(keys) == 3, "Redis with a log does not read what Redis without one has kept"


@pytest.mark.parametrize(
    ("database", "option"),
    [("cassandra", "replication_factor"), ("hbase", "dfs_replication"), ("postgres", "shard_replication_factor")],
)
def test_the_replication_factor_of_a_study_is_each_server_s_own_option(database: str, option: str) -> None:
    own = {name: value for name, value in CLUSTER.items() if name.startswith(database)}
    spec, (run,) = plan_of(database, replication_factor=3, **own)
    check_plan(spec, [run])
    assert system_of(run).options[option] == 3


@pytest.mark.parametrize("database", ["cassandra", "hbase", "postgres", "redis"])
def test_more_copies_than_nodes_are_refused(database: str) -> None:
    spec, plan = plan_of(database, replication_factor=2)
    with pytest.raises(UsageError, match="2 copies of each row, and 1 to keep them"):
        check_plan(spec, plan)


@pytest.mark.parametrize(("database", "package"), [("redis", "redis"), ("mongodb", "pymongo")])
def test_a_study_of_a_server_whose_python_package_is_missing_names_the_extra(
    monkeypatch: pytest.MonkeyPatch, database: str, package: str
) -> None:
    find_spec = importlib.util.find_spec
    monkeypatch.undo()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == package else find_spec(name))
    monkeypatch.setattr(f"edgejoule.database_servers.{database}.program", lambda name: "/bin/true")
    adapters.cache_clear()
    try:
        with pytest.raises(DatabaseError, match=rf"package {package} is missing: .*pip install -e .*\[servers\]"):
            check_plan(*plan_of(database))
        _, (run,) = plan_of(database, **{f"{database}.host": "127.0.0.1"})
        assert "package" not in str(system_of(run).missing()), "the driver alone asks a server that the user runs"
    finally:
        adapters.cache_clear()


def test_one_thing_by_two_names_is_refused() -> None:
    spec, plan = plan_of("hbase", replication_factor=2, **{"hbase.region_servers": 3, "hbase.dfs_replication": 1})
    with pytest.raises(
        UsageError, match=r"replication_factor excludes hbase\.dfs_replication: both set the number of copies"
    ):
        check_plan(spec, plan)


def test_an_embedded_database_keeps_one_copy() -> None:
    spec, plan = plan_of("sqlite", replication_factor=1)
    with pytest.raises(UsageError, match="sqlite keeps one copy"):
        check_plan(spec, plan)


def test_a_database_that_is_not_here_is_refused_unless_the_others_are_to_continue(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    here(monkeypatch, ["redis"])
    spec, plan = plan_of(["redis", "cassandra"])
    with pytest.raises(UsageError, match=r"cassandra is not available here: no cassandra: install it.*--keep-going"):
        check_plan(spec, plan)
    check_plan(spec, plan, keep_going=True)
    spec, plan = plan_of("cassandra")
    for keep_going in (False, True):
        with pytest.raises(DatabaseError, match="can be done here: cassandra is not available") as caught:
            check_plan(spec, plan, keep_going=keep_going)
        assert caught.value.exit_code == 1  # as of the dry-run


@pytest.mark.parametrize(
    ("study", "runs", "cells"),
    [
        ("emeter-nosql/experiment.toml", 3 * 3 * 3 * 75, 27),
        ("emeter-nosql/small.toml", 3 * 3 * 2 * 3, 18),
        ("cluster-replication/experiment.toml", 3 * 3 * 4 * 30, 36),
        ("cluster-replication/small.toml", 3 * 2 * 2 * 2, 12),
    ],
)
def test_the_studies_of_servers_plan_every_cell_of_their_papers(study: str, runs: int, cells: int) -> None:
    spec = load_spec(EXPERIMENTS / study)
    plan = make_plan(spec)
    check_plan(spec, plan, keep_going=True)
    assert len(plan) == runs
    assert len({run.label() for run in plan}) == cells
    assert {run.threads for run in plan} == {10 if "emeter" in study else 4}


def test_options_of_a_server_that_is_not_here_are_known_all_the_same(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.undo()
    monkeypatch.setenv("EDGEJOULE_SERVERS", str(tmp_path))
    adapters.cache_clear()
    try:
        spec, plan = plan_of(["redis", "cassandra"], **{"cassandra.consistency": "QUORUM"})
        monkeypatch.setattr(Served, "missing", lambda self: None if self.run.adapter == "redis" else "not here")
        assert not adapters()["cassandra"].available
        check_plan(spec, plan, keep_going=True)
        stand_in = MongoDB(tmp_path, {"server": "stand-in"})
        assert "make servers" in str(stand_in.missing())
    finally:
        adapters.cache_clear()


@pytest.mark.parametrize(
    ("options", "misses"),
    [
        ({}, False),
        ({"replication_factor": 3}, True),
        ({"replication_factor": 2}, True),
        ({"replication_factor": 3, "consistency": "QUORUM"}, False),
        ({"replication_factor": 3, "consistency": "LOCAL_ONE"}, True),
        ({"replication_factor": 3, "writeconsistencylevel": "ALL"}, False),
        ({"replication_factor": 3, "readconsistencylevel": "TWO"}, True),
    ],
)
def test_a_read_may_miss_a_row_where_too_few_copies_answer(options: dict[str, Any], misses: bool) -> None:
    assert bool(Cassandra.may_miss(options)) is misses


def test_the_real_ycsb_wants_the_operationcount_of_inserts_into_a_zipfian_workload() -> None:
    by_time = {"maxexecutiontime": 5, "operationcount": 0, "insertproportion": 0.1, "requestdistribution": "zipfian"}
    with pytest.raises(UsageError, match="maxexecutiontime excludes insertproportion: with inserts the real YCSB"):
        check_plan(*plan_of("cassandra", **by_time))
    check_plan(*plan_of("cassandra", **(by_time | {"insertproportion": 0})))
    check_plan(*plan_of("redis", **by_time))


def test_a_study_of_redis_java_opens_and_is_refused_with_the_name_of_the_replacement() -> None:
    spec, plan = plan_of("redis-java", **{"redis-java.persistence": "none"})
    with pytest.raises(UsageError, match=r"'redis-java' is no longer here; write database = .redis."):
        check_plan(spec, plan)


@pytest.mark.parametrize("database", ["postgres", "mongodb", "cassandra", "hbase"])
def test_a_server_with_tables_on_storage_may_begin_cold_without_root(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, database: str
) -> None:
    monkeypatch.setattr(Served, "missing", lambda self: None)
    monkeypatch.setattr(checks, "DROP_CACHES", tmp_path / "drop_caches")
    spec, plan = plan_of(database, cache="cold")
    check_plan(spec, plan)
    assert checks.not_here(plan) == []
    assert "needs root" in checks.not_here(plan_of([database, "sqlite"], cache="cold")[1])[0]


def test_a_cold_cassandra_maps_no_files_unless_the_study_says_so() -> None:
    name = "conf.disk_access_mode"
    assert name not in settings_of("cassandra")
    assert settings_of("cassandra", cache="cold")[name] == "standard"
    assert settings_of("cassandra", cache="cold", **{f"cassandra.{name}": "mmap"})[name] == "mmap"


def test_a_cold_run_and_a_warm_one_begin_with_the_same_loaded_data() -> None:
    _, (warm,) = plan_of("cassandra")
    _, (cold,) = plan_of("cassandra", cache="cold")
    assert system_of(cold).content() == system_of(warm).content()


def test_redis_is_refused_a_cold_cache_with_the_reason() -> None:
    with pytest.raises(
        UsageError, match=r"cache excludes database: redis is never cold: all of its data are in memory"
    ):
        check_plan(*plan_of("redis", cache="cold"))
    check_plan(*plan_of("redis", cache="warm"))


def test_the_cache_of_a_server_that_the_user_runs_is_left_alone() -> None:
    own = {"postgres.host": "127.0.0.1", "postgres.database": "ycsb"}
    with pytest.raises(UsageError, match=r"the study drops no cache on a server that you run; set cache = .warm., or"):
        check_plan(*plan_of("postgres", cache="cold", **own))


def test_a_server_is_never_asked_to_drop_caches_by_the_driver() -> None:
    _, (cold,) = plan_of("postgres", cache="cold")
    assert "--drop-caches" not in databases.driver_arguments("run", cold, {})
    _, (embedded,) = plan_of("sqlite", cache="cold")
    assert "--drop-caches" in databases.driver_arguments("run", embedded, {})


@pytest.mark.parametrize("study", ["access-pattern", "read-write-ratio", "value-size"])
@pytest.mark.parametrize("size", ["experiment", "small"])
def test_the_board_studies_measure_mongodb_cold(monkeypatch: pytest.MonkeyPatch, study: str, size: str) -> None:
    monkeypatch.setattr(Served, "missing", lambda self: None)
    spec = load_spec(EXPERIMENTS / f"sbc-{study}/{size}.toml")
    plan = make_plan(spec)
    check_plan(spec, plan)
    assert {run.cold for run in plan if run.adapter == "mongodb"} == {True}


@pytest.mark.parametrize("size", ["experiment", "small"])
def test_only_cassandra_begins_cold_in_the_nosql_study(size: str) -> None:
    plan = make_plan(load_spec(EXPERIMENTS / f"emeter-nosql/{size}.toml"))
    assert {run.adapter for run in plan if run.cold} == {"cassandra"}
    assert all(run.cold for run in plan if run.adapter == "cassandra")
