"""The MongoDB in EDGEJOULE_MONGODB_URI; else a mongod where one is installed, else mongo-java-server, a stand-in."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest
from pymongo.errors import OperationFailure

from edgejoule.database_servers import SERVERS, DatabaseServer, snapshots
from edgejoule.database_servers.mongodb import MongoDB, nested, work_in
from edgejoule.database_servers.server import program
from edgejoule.databases.driver import adapters
from edgejoule.errors import DatabaseError, UsageError

from .conftest import GivenMongoDB, Start, needs_own_mongodb
from .studies import Study

REAL = program("mongod") is not None
needs_mongod = pytest.mark.skipif(not REAL, reason="no mongod on the PATH: the stand-in has nothing of it")
needs_stand_in = pytest.mark.skipif(REAL, reason="a mongod is on the PATH")


def ask(
    server: DatabaseServer, command: Mapping[str, object], database: str = GivenMongoDB.test_database
) -> dict[str, Any]:
    with cast(MongoDB, server).client() as client:
        return client[database].command(command)


def insert(server: DatabaseServer, *documents: Mapping[str, object]) -> None:
    assert ask(server, {"insert": "things", "documents": list(documents)})["n"] == len(documents)


def stored_documents(server: DatabaseServer) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = ask(server, {"find": "things", "filter": {}})["cursor"]["firstBatch"]
    return listed


def test_settings_with_dots_are_nested() -> None:
    assert nested({"a.b": 1, "a.c.d": 2, "e": 3}) == {"a": {"b": 1, "c": {"d": 2}}, "e": 3}


def test_the_log_of_mongod_shows_a_checkpoint() -> None:
    message = "saving checkpoint snapshot min: 99, snapshot max: 99 snapshot count: 0"
    line = {"t": {"$date": "2026-01-02T03:04:05.678+00:00"}, "s": "I", "msg": "WiredTiger message",
            "attr": {"message": {"ts_sec": 1, "msg": message}}}  # fmt: skip
    work = work_in(json.dumps(line))
    assert work is not None
    assert (work.kind, work.begin_realtime_ns, work.duration_ns) == ("checkpoint", 1767323045_678_000_000, None)
    assert work_in("saving checkpoint snapshot, in no JSON") is None
    assert work_in(json.dumps({"msg": "Waiting for connections"})) is None


@pytest.mark.parametrize("wrong", ["0.1", "much"])
def test_a_cache_that_mongod_would_refuse_is_refused(tmp_path: Path, wrong: str) -> None:
    with pytest.raises(UsageError, match=r"mongodb\.cache_gb: expected a number from 0\.25 on"):
        MongoDB(tmp_path, {"cache_gb": wrong})


def test_a_board_s_memory_limits_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("edgejoule.database_servers.mongodb.program", lambda name: f"/usr/bin/{name}")
    server = MongoDB(tmp_path, {"preset": "1gb-board", "server_journal": "off", "conf.storage.directoryPerDB": True})
    server.ports = {"port": 4711}
    server.prepare()
    settings = json.loads((tmp_path / "mongod.json").read_text())
    assert settings["storage"]["wiredTiger"]["engineConfig"]["cacheSizeGB"] == 0.25
    assert settings["storage"]["journal"]["enabled"] is False
    assert settings["storage"]["directoryPerDB"] is True
    assert settings["net"]["bindIp"] == "127.0.0.1"
    assert server.nodes()[0].argv[:2] == ["/usr/bin/mongod", "--config"]
    assert server.stand_in == ""


def test_without_mongod_and_stand_in_it_names_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("EDGEJOULE_SERVERS", str(tmp_path))
    monkeypatch.setattr("edgejoule.database_servers.mongodb.program", lambda name: None)
    here = MongoDB.installation()
    assert not here.available
    assert "no mongod on the PATH" in here.why
    assert here.fix == "make servers"
    for kind in ("mongod", "stand-in"):
        assert f"mongodb.server = {kind}" in str(MongoDB(tmp_path, {"server": kind}).missing())


@pytest.mark.server
def test_prints_its_version(start: Start) -> None:
    server = start("mongodb")
    said = ask(server, {"buildInfo": 1}, "admin")
    expected = f"stand-in: {said['standIn']}, not MongoDB" if server.stand_in else said["version"]
    assert server.version == expected


@pytest.mark.server
@needs_own_mongodb
def test_documents_are_there_after_a_restart_and_after_a_restore(start: Start, tmp_path: Path) -> None:
    server = start("mongodb")
    insert(server, {"_id": "a"}, {"_id": "b", "field0": b"value"})
    server.stop()
    snapshots.keep(server, tmp_path / "kept")
    again = start("mongodb")
    assert stored_documents(again) == [{"_id": "a"}, {"_id": "b", "field0": b"value"}]
    ask(again, {"delete": "things", "deletes": [{"q": {}, "limit": 0}]})
    again.stop()
    snapshots.put_back(again, tmp_path / "kept")
    assert len(stored_documents(start("mongodb"))) == 2


@pytest.mark.server
@needs_own_mongodb
def test_what_was_settled_is_there_after_kill(start: Start) -> None:
    server = start("mongodb")
    insert(server, *({"_id": f"user{i}"} for i in range(100)))
    assert server.await_settled(60).complete
    server.kill()
    assert len(stored_documents(start("mongodb"))) == 100


@pytest.mark.server
def test_counts_its_clients_operations_and_not_ours(start: Start) -> None:
    server = start("mongodb")
    before = server.operations()
    insert(server, *({"_id": f"user{i}"} for i in range(7)))
    stored_documents(server)
    server.usage()
    server.settled()
    counted = {name: n - before[name] for name, n in server.operations().items()}
    others = ("update", "delete", "getmore")
    assert {name: n for name, n in counted.items() if n} == {"insert": 7, "query": 1}
    assert set(others) <= set(counted)


@pytest.mark.server
def test_an_unknown_command_is_refused_with_its_message(start: Start) -> None:
    server = start("mongodb")
    with pytest.raises(OperationFailure, match="nonsense"):
        ask(server, {"nonsense": 1})


@pytest.mark.server
@needs_mongod
@needs_own_mongodb
def test_a_wrong_server_setting_is_reported_by_its_log(start: Start) -> None:
    with pytest.raises(DatabaseError, match=r"mongodb ended with code \d+ while it started; its log ends: .*nonsense"):
        start("mongodb", conf__storage__nonsense="1")


@pytest.mark.server
@needs_mongod
@needs_own_mongodb
def test_settling_makes_a_checkpoint_which_is_reported_as_work(start: Start) -> None:
    server = start("mongodb", checkpoint_s="3600")
    begin = time.time_ns()
    insert(server, *({"_id": f"user{i}"} for i in range(1000)))
    assert server.await_settled(60).complete
    assert "checkpoint" in {work.kind for work in server.work() if work.begin_realtime_ns > begin - 10**6}


@pytest.mark.server
@needs_mongod
@needs_own_mongodb
def test_the_cache_is_as_large_as_it_is_set(start: Start) -> None:
    status = ask(start("mongodb", cache_gb="0.5"), {"serverStatus": 1}, "admin")
    assert status["wiredTiger"]["cache"]["maximum bytes configured"] == 2**29


@pytest.mark.server
@needs_stand_in
def test_the_stand_in_is_called_one_wherever_it_is_listed() -> None:
    adapter = adapters()["mongodb"]
    assert adapter.version is not None
    assert adapter.version.startswith("stand-in: mongo-java-server ")
    assert adapter.summary.startswith("a stand-in for MongoDB")


@pytest.mark.server
@needs_stand_in
@pytest.mark.parametrize("option", ["cache_gb=1", "server_journal=off", "conf.storage.x=1", "preset=1gb-board"])
def test_the_stand_in_refuses_the_settings_of_mongod(tmp_path: Path, option: str) -> None:
    name, _, value = option.partition("=")
    with pytest.raises(UsageError, match=r"the stand-in has no such setting"):
        SERVERS["mongodb"](tmp_path, {name: value})


@pytest.mark.server
@needs_stand_in
def test_a_study_does_not_run_on_the_stand_in_under_the_name_of_mongodb(tmp_path: Path) -> None:
    study = Study(tmp_path, "mongodb")
    code, said = study.run()
    assert code == 1
    assert "stand-in: mongo-java-server" in said
    assert "[databases.mongodb-stand-in]" in said


@pytest.mark.server
def test_a_study_runs_to_its_end_and_names_the_server_wherever_it_shows(tmp_path: Path) -> None:
    study = Study(
        tmp_path, "mongodb", fixed="dataintegrity = true", workload="scanproportion = 0\ninsertproportion = 0"
    )
    name = "mongodb" if REAL else "mongodb-stand-in"
    text = (tmp_path / "experiment.toml").read_text().replace('["mongodb"]', f'["{name}"]')
    if not REAL:
        text += '[databases.mongodb-stand-in]\nadapter = "mongodb"\n'
    (tmp_path / "experiment.toml").write_text(text)
    code, said = study.run()
    assert code in (0, 3), said
    (run,) = study.runs()
    assert run.status == "finished"
    end = study.events(run)[-1]
    assert (end["failures"], end["not_found"], end["verify_failures"]) == (0, 0, 0)
    done = {x["operation"]: x["count"] for x in end["latencies"] if x["measure"] == "service"}
    counted = run.facts["server"]["operations"]
    assert counted["query"] == done["READ"] + 1  # the check whether the collection is empty
    assert counted["update"] == done["UPDATE"]
    if not REAL:
        (report,) = (tmp_path / "results").glob("*.html")
        page = report.read_text()
        assert "mongodb-stand-in" in page
        assert "stand-in: mongo-java-server 1.47.0, not MongoDB" in page
        assert str(run.facts["server"]["version"]).startswith("stand-in")
    assert study.left() == []
