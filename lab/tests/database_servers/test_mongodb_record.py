"""`edgejoule databases mongodb --record FILE`: what it writes, what it leaves out; and the records that others sent."""

from __future__ import annotations

import json
import socket
import sys
from copy import deepcopy
from pathlib import Path
from typing import Any, cast

import pytest
from command_line import edgejoule

from edgejoule.database_servers import jvm, mongodb, mongodb_record
from edgejoule.database_servers.mongodb import MongoDB, operations_in, settled_in
from edgejoule.database_servers.mongodb_record import URI, answer_in, differences, product_of
from edgejoule.database_servers.server import LOOPBACK, program
from edgejoule.errors import DatabaseError

from .conftest import GIVEN_MONGODB, Start, needs_own_mongodb
from .test_mongodb_processor import SKYLAKE, mongod_on_the_path

RECORDS = sorted((Path(__file__).parents[3] / "driver/adapters/tests/mongodb_records").glob("*.json"))
REFUSED = {"hello", "insert of an existing key", "batch with an existing key", "unknown command"}
SECRET = "the secret@%/"
OPERATIONS = {"insert": 2, "query": 3, "update": 2, "delete": 1}

Record = dict[str, Any]


def read(file: Path) -> Record:
    record: Record = json.loads(file.read_text())
    return record


def recorded(folder: Path, *arguments: str) -> tuple[Record, str]:
    done = edgejoule(folder, "databases", "mongodb", "--record", "record.json", *arguments)
    assert done.returncode == 0, done.stderr
    return read(folder / "record.json"), done.stdout


def of_a_mongod(version: str, **changes: Any) -> Record:
    """The stand-in's record as a mongod with 5 GiB of memory that keeps to the documentation would have written it."""
    record: Record = deepcopy(read(RECORDS[0]))
    mib = {"{}": 2048, '{"cache_gb": "0.25"}': 256}
    options = [
        {"set": dict(settings), "accepted": refused > (6, 0), "message": "no",
         "cache_bytes": mib.get(json.dumps(dict(settings)), 2048) << 20}
        for settings, refused in mongodb_record._TRIED
    ]  # fmt: skip
    answer_in(record, "serverStatus settled")["wiredTiger"] = {
        "transaction": {mongodb._RUNNING[1][1]: 0}, "cache": {mongodb.CACHED: 73_214},
    }  # fmt: skip
    machine = {"memory_bytes": 5 << 30}
    return record | {"stand_in": False, "server": version, "options": options, "machine": machine} | changes


def option(record: Record, name: str) -> Record:
    one: Record = next(one for one in record["options"] if name in one["set"])
    return one


@pytest.mark.parametrize("file", RECORDS, ids=lambda file: file.stem)
def test_a_record_is_read_as_its_server_meant_it(file: Path) -> None:
    record = read(file)
    build, status = (answer_in(record, step) for step in ("buildInfo", "serverStatus"))
    assert product_of(build, status.get("process", "")) == (record["server"], record["stand_in"])
    after = operations_in(answer_in(record, "serverStatus after"))
    assert {name: after[name] - operations_in(status)[name] for name in OPERATIONS} == OPERATIONS
    assert settled_in(answer_in(record, "serverStatus settled")).complete
    assert differences(record) == []


def test_a_mongod_that_keeps_to_the_documentation_differs_in_nothing() -> None:
    assert differences(of_a_mongod("6.0.14")) == []


def test_a_journal_that_can_be_switched_off_from_6_1_on_differs() -> None:
    assert differences(of_a_mongod("7.0.1")) == [
        "mongodb.server_journal = off was accepted; documented: refused",
    ]


def test_a_refusal_that_is_not_documented_differs_with_the_server_s_message() -> None:
    record = of_a_mongod("6.0.14")
    option(record, "server_journal").update(accepted=False, message="Unrecognized option")
    assert differences(record) == [
        "mongodb.server_journal = off was refused (Unrecognized option); documented: accepted"
    ]


def test_a_cache_that_is_not_as_large_as_documented_differs() -> None:
    record = of_a_mongod("6.0.14")
    option(record, "cache_gb")["cache_bytes"] = 512 << 20
    assert differences(record) == ["the cache with mongodb.cache_gb = 0.25 was 0.5 GiB; documented: 0.25 GiB"]


def test_operations_that_are_counted_otherwise_differ() -> None:
    record = of_a_mongod("6.0.14")
    answer_in(record, "serverStatus after")["opcounters"]["query"] += 1
    (line,) = differences(record)
    assert line.startswith("opcounters counted 4 x query; documented: 3")


def test_checkpoints_that_are_not_reported_differ() -> None:
    record = of_a_mongod("6.0.14")
    del answer_in(record, "serverStatus settled")["wiredTiger"]["transaction"]
    assert differences(record) == [
        "settling: fsync returned; the server does not report checkpoints; documented: fsync returned, no checkpoint "
        "under way"
    ]


def test_a_cache_that_is_not_reported_differs_because_a_cold_start_needs_it() -> None:
    record = of_a_mongod("6.0.14")
    del answer_in(record, "serverStatus settled")["wiredTiger"]["cache"]
    assert differences(record) == [
        "a cold start: serverStatus has no cache of WiredTiger; documented: bytes currently in the cache"
    ]


def test_a_user_who_may_not_ask_for_the_status_is_no_reason_to_fail() -> None:
    record = of_a_mongod("6.0.14")
    status = answer_in(record, "serverStatus")
    status.clear()
    status.update(ok=0.0, errmsg="not authorized")
    assert differences(record) == [
        "serverStatus was refused (not authorized): counters and checkpoints are not compared"
    ]


def test_names_of_hosts_users_and_folders_are_replaced_as_whole_words() -> None:
    cleared = mongodb_record._Cleared({"db.example": "HOST", "al": "USERNAME", SECRET: "PASSWORD", "/tmp/x": "FOLDER"})
    text = f"al@db.example:1 and db.example.org, also x{SECRET}y, /tmp/x/0/mongod, {socket.gethostname()}"
    assert cleared.text(text) == "USERNAME@HOST:1 and HOST.org, also xPASSWORDy, FOLDER/0/mongod, HOST"
    assert cleared.value({"al": ["al", {"a": "final"}], "n": 1}) == {"al": ["USERNAME", {"a": "final"}], "n": 1}


def test_a_server_that_does_not_answer_is_named_without_its_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mongodb_record, "ANSWER_S", 0.2)
    with pytest.raises(DatabaseError, match=r"^mongodb: no server answers at 127.0.0.1:1 within 0.2 s$"):
        mongodb_record.record_given("mongodb://user:secret@127.0.0.1:1/")


@pytest.mark.parametrize(
    "wrong", ["mongo//u:the-secret@localhost", "mongodb://u:the-secret@x@localhost", "localhost:x"]
)
def test_a_wrong_connection_string_is_refused_without_its_password(tmp_path: Path, wrong: str) -> None:
    done = edgejoule(tmp_path, "databases", "mongodb", "--record", "record.json", "--uri", wrong)
    assert done.returncode == 2
    assert "expected mongodb://USER:PASSWORD@HOST:PORT" in done.stderr
    assert "secret" not in done.stderr
    assert not (tmp_path / "record.json").exists()


@pytest.mark.parametrize(
    "wrong", [["redis", "--record", "f"], ["mongodb", "--uri", "u"], ["mongodb", "--record", "f", "--json"]]
)
def test_only_mongodb_is_recorded_and_only_to_a_file(tmp_path: Path, wrong: list[str]) -> None:
    done = edgejoule(tmp_path, "databases", *wrong)
    assert done.returncode == 2
    assert "expected: edgejoule databases mongodb --record FILE [--uri URI]" in done.stderr


def test_where_there_is_no_mongodb_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(URI, raising=False)
    monkeypatch.setenv("EDGEJOULE_SERVERS", str(tmp_path))
    monkeypatch.setattr("edgejoule.database_servers.mongodb.program", lambda name: None)
    done = edgejoule(tmp_path, "databases", "mongodb", "--record", "record.json")
    assert done.returncode == 1
    assert "mongodb cannot be started here: no mongod on the PATH" in done.stderr
    assert not (tmp_path / "record.json").exists()


@pytest.mark.server
def test_a_record_has_every_answer_and_every_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(URI, raising=False)
    record, said = recorded(tmp_path)
    assert record["stand_in"] is (program("mongod") is None)
    assert record["server"] in said
    for entry in record["answers"]:
        answer = entry["answer"]
        failed = not answer["ok"] or "writeErrors" in answer
        assert not failed or entry["step"] in REFUSED, entry
    assert answer_in(record, "insert of an existing key")["writeErrors"][0]["code"] == 11000
    assert answer_in(record, "upsert")["upserted"] == [{"index": 0, "_id": "user3"}]
    assert answer_in(record, "the second answer")["cursor"]["nextBatch"][0]["_id"] == "user4"
    assert answer_in(record, "count")["cursor"]["firstBatch"] == [{"_id": None, "records": 4}]
    assert [one["set"] for one in record["options"]] == [dict(tried.settings) for tried in mongodb_record._TRIED]
    if record["stand_in"]:
        assert [one["accepted"] for one in record["options"]] == [True] + 6 * [False]
        assert "the stand-in has no such setting" in option(record, "server_journal")["message"]
    text = (tmp_path / "record.json").read_text()
    assert socket.gethostname() not in text
    assert str(tmp_path) not in text


@pytest.mark.server
@pytest.mark.parametrize("by_option", [True, False])
def test_a_server_of_the_user_is_recorded_and_left_as_it_was(
    tmp_path: Path, start: Start, monkeypatch: pytest.MonkeyPatch, by_option: bool
) -> None:
    server = cast(MongoDB, start("mongodb"))
    uri = GIVEN_MONGODB or f"mongodb://{LOOPBACK}:{server.ports['port']}/"
    monkeypatch.setenv(URI, "mongodb://nobody.invalid/" if by_option else uri)
    with server.client() as client:
        before = client.list_database_names()
    record, _ = recorded(tmp_path, *(["--uri", uri] if by_option else []))
    with server.client() as client:
        assert client.list_database_names() == before
    assert record["server"] == server.version
    assert (record["options"], record["machine"], record["log"]) == (None, None, [])
    assert answer_in(record, "read")["cursor"]["firstBatch"][0]["_id"] == "user1"


@pytest.mark.server
@needs_own_mongodb
def test_a_refused_password_is_not_shown(tmp_path: Path, start: Start) -> None:
    uri = f"mongodb://tester:the-secret@{LOOPBACK}:{start('mongodb').ports['port']}/"
    done = edgejoule(tmp_path, "databases", "mongodb", "--record", "record.json", "--uri", uri)
    assert done.returncode == 1
    assert "mongodb: " in done.stderr
    assert "secret" not in done.stderr
    assert not (tmp_path / "record.json").exists()


#: A mongod by its command line and its configuration, which are MongoDB's; its answers are the stand-in's.
EMULATED_MONGOD = """\
import json, os, sys
if sys.argv[1:] == ["--version"]:
    sys.exit(print("db version v6.1.0"))
with open(sys.argv[2]) as file:
    configuration = json.load(file)
storage = configuration["storage"]
if not storage["journal"].get("enabled", True):
    sys.exit(f"BadValue: storage.journal.enabled is gone ({{os.uname().nodename}})")
if storage["journal"]["commitIntervalMs"] > 500 or "nonsense" in storage:
    sys.exit("BadValue: storage")
port, store = str(configuration["net"]["port"]), storage["dbPath"] + "/store"
os.execvp("java", [*{java}, "StandIn", port, store, "emulated mongod"])
"""


@pytest.mark.server
def test_settings_that_the_server_refuses_are_recorded_with_its_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if program("mongod") is not None:
        pytest.skip("a mongod is on the PATH")
    lib = jvm.jars(mongodb.STAND_IN)
    java = ["java", "-Xmx256m", "-cp", f"{lib.parent / 'classes'}:{lib}/*"]
    (tmp_path / "mongod.py").write_text(EMULATED_MONGOD.format(java=java))
    mongod_on_the_path(tmp_path, monkeypatch, f'exec {sys.executable} {tmp_path / "mongod.py"} "$@"')
    monkeypatch.setattr("edgejoule.database_servers.mongodb_processor.this_processor", lambda: SKYLAKE)
    monkeypatch.delenv(URI, raising=False)
    record, said = recorded(tmp_path)
    assert [one["accepted"] for one in record["options"]] == [True, True, True, False, True, False, False]
    journal = option(record, "server_journal")
    assert journal["by"] == "the server"
    assert (
        "mongodb ended with code 1 while it started; its log ends: BadValue: storage.journal.enabled is gone (HOST)"
        in (journal["message"])
    )
    assert "of 7 settings 4 accepted" in said
    assert record["machine"]["features"] == ["avx"]
