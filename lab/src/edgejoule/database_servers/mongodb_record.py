"""The record of a MongoDB: its answers to the commands that edgejoule sends, and the settings that it takes.

`edgejoule databases mongodb --record FILE` writes it, for a user who has a version that no machine of ours has.
`differences` compares it with the documentation, and tests replay those in driver/adapters/tests/mongodb_records.
A record has no host, user or password: answers keep the keys of `_KEPT` only, and their text is cleared of them.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import secrets
import socket
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote_plus

from edgejoule.database_servers import mongodb_processor
from edgejoule.database_servers.mongodb import (
    ANSWER_S,
    CACHED,
    Document,
    MongoDB,
    operations_in,
    settled_in,
    time_limits,
    wired_tiger_cache,
)
from edgejoule.database_servers.server import lines_of
from edgejoule.errors import DatabaseError, UsageError
from edgejoule.extras import install_command
from edgejoule.version import __version__

if TYPE_CHECKING:
    from pymongo import MongoClient

URI = "EDGEJOULE_MONGODB_URI"
FORMAT = 1
_DATABASE = "edgejoule_record"  # in a record; on the server a random suffix follows
_COLLECTION = "records"
_GIB = 2**30
_CACHE_TOLERANCE = 0.05  # of the default cache: mongod's view of the memory is not exactly the kernel's


class _Documented(NamedTuple):
    """Settings of mongod, and the version from which it refuses them."""

    settings: Mapping[str, str]
    refused_from: tuple[int, ...]


_IN_EVERY_VERSION, _IN_NONE = (), (10**6,)
_DEFAULT: Mapping[str, str] = {}
_SMALLEST_CACHE = {"cache_gb": "0.25"}
#: From docs/how-to/servers.md and from the meanings of the options.
_TRIED = (
    _Documented(_DEFAULT, _IN_NONE),
    _Documented(_SMALLEST_CACHE, _IN_NONE),
    _Documented({"conf.storage.wiredTiger.engineConfig.cacheSizeGB": "0.2"}, _IN_EVERY_VERSION),
    _Documented({"server_journal": "off"}, (6, 1)),
    _Documented({"commit_interval_ms": "500"}, _IN_NONE),
    _Documented({"commit_interval_ms": "501"}, _IN_EVERY_VERSION),
    _Documented({"conf.storage.nonsense": "1"}, _IN_EVERY_VERSION),
)
#: Steps of a record that a test or a comparison needs.
BUILD, STATUS, STATUS_AFTER, STATUS_SETTLED = "buildInfo", "serverStatus", "serverStatus after", "serverStatus settled"
#: The operations between STATUS and STATUS_AFTER, as the driver's README counts them.
_COUNTED = {"insert": 2, "query": 3, "update": 2, "delete": 1, "getmore": 0}
_FAILURE = ("ok", "code", "codeName", "errmsg")
_CRUD = ("n", "nModified", "upserted", "writeErrors", "writeConcernError", "cursor", "numFiles", "dropped")
_ALL: Mapping[str, Any] = {}
_MEMBERS = ("hosts", "passives", "arbiters")
_GREETING = dict.fromkeys(
    ("helloOk", "isWritablePrimary", "ismaster", "readOnly", "maxBsonObjectSize", "maxMessageSizeBytes",
     "maxWriteBatchSize", "logicalSessionTimeoutMinutes", "minWireVersion", "maxWireVersion"), _ALL,
)  # fmt: skip
#: Command -> keys of its answer that a record keeps; a key with an empty mapping is kept whole.
_KEPT: Mapping[str, Mapping[str, Any]] = {
    "hello": _GREETING,
    "isMaster": _GREETING,
    "buildInfo": dict.fromkeys(
        ("version", "versionArray", "gitVersion", "modules", "allocator", "bits", "debug", "maxBsonObjectSize",
         "storageEngines", "standIn"), _ALL,
    ),
    "getCmdLineOpts": {"parsed": {"storage": dict.fromkeys(
        ("engine", "journal", "syncPeriodSecs", "directoryPerDB", "wiredTiger"), _ALL,
    )}},
    "serverStatus": {
        **dict.fromkeys(("process", "version", "pid", "uptimeMillis", "opcounters", "storageEngine", "mem"), _ALL),
        "connections": {"current": _ALL},
        "network": dict.fromkeys(("bytesIn", "bytesOut", "numRequests"), _ALL),
        "metrics": dict.fromkeys(("document", "queryExecutor"), _ALL),
        "wiredTiger": dict.fromkeys(("cache", "checkpoint", "log", "transaction"), _ALL),
    },
}  # fmt: skip


def given_uri() -> str:
    """Returns the connection string of a MongoDB that the user runs, from the environment; empty if there is none."""
    return os.environ.get(URI, "")


def record_given(uri: str) -> Document:
    """Returns the record of a server that the user runs. It works in a database of its own, which it drops.

    Raises UsageError for a wrong connection string, DatabaseError if the server does not answer.
    """
    if importlib.util.find_spec("pymongo") is None:
        raise DatabaseError(f"the Python package pymongo is missing: {install_command('servers')}")
    from pymongo import MongoClient
    from pymongo.errors import PyMongoError, ServerSelectionTimeoutError
    from pymongo.uri_parser import parse_uri

    try:
        client: MongoClient[Document] = MongoClient(uri, **time_limits(ANSWER_S))
        parts = parse_uri(uri)
    except (PyMongoError, ValueError, TypeError):  # their messages may quote the password
        raise UsageError("expected mongodb://USER:PASSWORD@HOST:PORT/?OPTIONS, with %40 for @ in a password") from None
    hidden = {text: word for word in ("USERNAME", "PASSWORD") if (text := parts[word.lower()])}
    with client:
        try:
            greeting = client.admin.command("isMaster")
        except ServerSelectionTimeoutError:
            asked = ", ".join(f"{host}:{port}" for host, port in parts["nodelist"])
            raise DatabaseError(f"mongodb: no server answers at {asked} within {ANSWER_S:g} s") from None
        except PyMongoError as error:
            raise DatabaseError(f"mongodb: {error}") from None
        members = [greeting.get("me"), *(host for key in _MEMBERS for host in greeting.get(key, ()))]
        hosts = [*(host for host, _ in parts["nodelist"]), *(one.rpartition(":")[0] for one in members if one)]
        return _record(_Conversation(client, _Cleared(hidden | dict.fromkeys(hosts, "HOST"))), started=None)


def record_started(folder: Path, tell: Callable[[str], None]) -> Document:
    """Returns the record of a mongod that this program starts in the folder, with each of the settings to try.

    Without a mongod it is that of the stand-in. tell: gets a line before each start. Raises DatabaseError.
    """
    cleared = _Cleared({str(folder): "FOLDER"})
    record: Document = {}
    options = []
    for number, documented in enumerate(_TRIED):
        settings = documented.settings
        tell(f"starting it with {settings_text(settings)}")
        try:
            with MongoDB(folder / str(number), settings) as server, server.client() as client:
                talk = _Conversation(client, cleared)
                if settings == _DEFAULT:
                    record = _record(talk, started=server)
                options.append({"set": dict(settings), "accepted": True, **_in_force(talk)})
        except (UsageError, DatabaseError) as error:
            if settings == _DEFAULT:
                raise
            by = "edgejoule" if isinstance(error, UsageError) else "the server"
            options.append({"set": dict(settings), "accepted": False, "by": by, "message": cleared.text(str(error))})
    return record | {"options": options}


def settings_text(settings: Mapping[str, str]) -> str:
    """Returns settings as a person writes them."""
    return ", ".join(f"mongodb.{name} = {value}" for name, value in settings.items()) or "its defaults"


def product_of(build: Document, process: str) -> tuple[str, bool]:
    """Returns the server's name or version and whether it only stands in for MongoDB, as the driver's adapter does.

    process: of serverStatus; empty if the user may not ask for it.
    """
    version = str(build.get("version", "unknown"))
    if name := build.get("standIn"):
        return f"stand-in: {name}, not MongoDB", True
    program = process.rpartition("/")[2]
    if program in ("mongod", "mongos") or (not program and "gitVersion" in build):
        return version, False
    return f"stand-in: a {program or 'nameless'} process that answers as {version}, not MongoDB", True


def answer_in(record: Document, step: str) -> Document:
    """Returns the answer of a step. Raises KeyError if the record lacks it."""
    for entry in record["answers"]:
        if entry["step"] == step:
            answer: Document = entry["answer"]
            return answer
    raise KeyError(step)


def differences(record: Document) -> list[str]:
    """Compares a record with what is documented. One of a stand-in has nothing to compare."""
    if record["stand_in"]:
        return []
    version = tuple(int(number) for number in re.findall(r"\d+", record["server"])[:3])
    return [*_differing_options(record, version), *_differing_answers(record)]


def _differing_options(record: Document, version: tuple[int, ...]) -> Iterator[str]:
    met = {tuple(one["set"].items()): one for one in record["options"] or ()}
    for settings, refused_from in _TRIED:
        one = met.get(tuple(settings.items()))
        if one is None:
            continue
        is_documented = version < refused_from
        if one["accepted"] != is_documented:
            outcome = "accepted" if one["accepted"] else f"refused ({one['message']})"
            yield f"{settings_text(settings)} was {outcome}; documented: {'accepted' if is_documented else 'refused'}"
        elif one["accepted"] and (cache := one.get("cache_bytes")) is not None:
            yield from _differing_cache(settings, cache, record["machine"]["memory_bytes"])


def _differing_cache(settings: Mapping[str, str], cache_bytes: int, memory_bytes: int) -> Iterator[str]:
    documented = _GIB / 4 if settings == _SMALLEST_CACHE else max(_GIB / 4, (memory_bytes - _GIB) / 2)
    if abs(cache_bytes / documented - 1) > _CACHE_TOLERANCE:
        yield (
            f"the cache with {settings_text(settings)} was {cache_bytes / _GIB:.3g} GiB; "
            f"documented: {documented / _GIB:.3g} GiB"
        )


def _differing_answers(record: Document) -> Iterator[str]:
    before, after = (answer_in(record, step) for step in (STATUS, STATUS_AFTER))
    if not before["ok"]:
        yield f"serverStatus was refused ({before['errmsg']}): counters and checkpoints are not compared"
        return
    counted = {name: count - operations_in(before)[name] for name, count in operations_in(after).items()}
    for name in (name for name, count in _COUNTED.items() if counted.get(name) != count):
        yield f"opcounters counted {counted.get(name)} x {name}; documented: {_COUNTED[name]}, if no others worked"
    settled = answer_in(record, STATUS_SETTLED)
    if (own := wired_tiger_cache(settled)).cached_bytes is None:
        yield f"a cold start: {own.how}; documented: {CACHED}"
    how = settled_in(settled).how
    if "no checkpoint under way" not in how:
        yield f"settling: {how}; documented: fsync returned, no checkpoint under way"


class _Cleared:
    """Replaces hosts, users, passwords and folders in text by words that name their kind."""

    def __init__(self, hidden: Mapping[str, str]) -> None:
        known = {**dict.fromkeys((socket.gethostname(), socket.getfqdn()), "HOST"), **hidden}
        known |= {quote_plus(text): word for text, word in known.items()}
        self._known = sorted(known.items(), key=lambda pair: -len(pair[0]))

    def text(self, text: str) -> str:
        for hidden, word in self._known:
            pattern = re.escape(hidden) if word == "PASSWORD" else rf"(?<!\w){re.escape(hidden)}(?!\w)"
            text = re.sub(pattern, word, text)
        return text

    def value(self, value: Any) -> Any:
        """Clears all text within a value."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {name: self.value(one) for name, one in value.items()}
        return [self.value(one) for one in value] if isinstance(value, list) else value


class _Conversation:
    """Commands to a server and its answers."""

    def __init__(self, client: MongoClient[Document], cleared: _Cleared) -> None:
        self._client, self.cleared = client, cleared
        self._own = f"{_DATABASE}_{secrets.token_hex(4)}"
        self.answers: list[Document] = []

    def ask(self, step: str, command: Document, *, admin: bool = False) -> Document:
        """Sends a command, records what it answers, refusals too, and returns that. Raises DatabaseError."""
        from pymongo.errors import PyMongoError

        database = "admin" if admin else self._own
        try:
            answer: Document = self._client[database].command(dict(command), check=False)
        except PyMongoError as error:
            raise DatabaseError(f"mongodb: {step}: {self.cleared.text(str(error))}") from None
        kept = _kept(answer, {**dict.fromkeys((*_FAILURE, *_CRUD), _ALL), **_KEPT.get(next(iter(command)), {})})
        shown = _DATABASE if database == self._own else database
        self.answers.append(
            {"step": step, "database": shown, "command": _json(command), "answer": self._without_names(_json(kept))}
        )
        return answer

    def _without_names(self, answer: Document) -> Document:
        cleared: Document = json.loads(json.dumps(self.cleared.value(answer)).replace(self._own, _DATABASE))
        return cleared


def _record(talk: _Conversation, started: MongoDB | None) -> Document:
    """Asks everything. started: the server if this program started it, else its machine and log are not known."""
    build = talk.ask(BUILD, {"buildInfo": 1}, admin=True)
    for step in ("hello", "isMaster", "ping", "getCmdLineOpts"):  # older servers and libraries have no hello
        talk.ask(step, {step: 1}, admin=True)
    status = talk.ask(STATUS, {"serverStatus": 1}, admin=True)
    try:
        _work(talk)
    finally:
        talk.ask("drop of the database", {"dropDatabase": 1})
    name, is_stand_in = product_of(build, str(status.get("process", "")))
    record: Document = {
        "record": "edgejoule-mongodb", "format": FORMAT, "edgejoule": __version__, "server": name,
        "stand_in": is_stand_in, "machine": None, "options": None, "answers": talk.answers, "log": [],
    }  # fmt: skip
    if started is not None:
        record["machine"] = _machine()
        lines = [line for node in started.processes for line in lines_of(started.log_of(node.name))]
        record["log"] = [talk.cleared.text(line.strip()) for line in lines if "checkpoint" in line]
    return record


def _work(talk: _Conversation) -> None:
    """Sends the commands of the driver's adapter, and fsync."""

    def insert(step: str, *keys: str, journal: bool = False, ordered: bool = True) -> None:
        documents = [{"_id": key, "field0": key.encode(), "field1": b"\x00\xff"} for key in keys]
        concern = {"w": 1, "j": journal}
        talk.ask(step, {"insert": _COLLECTION, "documents": documents, "ordered": ordered, "writeConcern": concern})

    def update(step: str, key: str, change: Document, *, upsert: bool = False) -> None:
        one = {"q": {"_id": key}, "u": change, "upsert": upsert}
        talk.ask(step, {"update": _COLLECTION, "updates": [one], "writeConcern": {"w": 1, "j": False}})

    def remove(step: str, key: str) -> None:
        talk.ask(step, {"delete": _COLLECTION, "deletes": [{"q": {"_id": key}, "limit": 1}]})

    def find(step: str, filters: Document, **options: Any) -> Document:
        return talk.ask(step, {"find": _COLLECTION, "filter": filters, **options})

    find("check of an empty collection", {}, limit=1)
    insert("insert", "user1")
    insert("insert, journal synced", "user2", journal=True)
    update("update", "user1", {"$set": {"field0": b"changed"}})
    update("upsert", "user3", {"field0": b"new"}, upsert=True)
    find("read", {"_id": "user1"}, projection={"field0": 1}, limit=1, singleBatch=True)
    find("scan", {"_id": {"$gte": "user1"}}, sort={"_id": 1}, limit=2, batchSize=2)
    remove("remove", "user2")
    talk.ask(STATUS_AFTER, {"serverStatus": 1}, admin=True)
    insert("insert of an existing key", "user1")
    insert("batch with an existing key", "user1", "user4", "user5", ordered=False)
    update("update of a missing key", "user9", {"$set": {"field0": b"x"}})
    find("read of a missing key", {"_id": "user9"}, limit=1, singleBatch=True)
    remove("remove of a missing key", "user9")
    cursor = find("scan in two answers", {}, sort={"_id": 1}, batchSize=2).get("cursor", {}).get("id")
    if cursor is None:  # as of a server that refuses the user
        refused = talk.answers[-1]["answer"].get("errmsg", "it gave no reason")
        raise DatabaseError(f"the server answers no query: {refused}; the user needs the rights to read and write")
    talk.ask("the second answer", {"getMore": cursor, "collection": _COLLECTION, "batchSize": 9})
    count = {"$group": {"_id": None, "records": {"$sum": 1}}}
    talk.ask("count", {"aggregate": _COLLECTION, "pipeline": [count], "cursor": {}})
    talk.ask("unknown command", {"edgejouleUnknown": 1})
    talk.ask("fsync", {"fsync": 1}, admin=True)
    talk.ask(STATUS_SETTLED, {"serverStatus": 1}, admin=True)


def _in_force(talk: _Conversation) -> Document:
    """Returns the settings of storage and the size of the cache, by the server."""
    talk.ask("settings", {"getCmdLineOpts": 1}, admin=True)
    status = talk.ask("status", {"serverStatus": 1}, admin=True)
    storage = talk.answers[-2]["answer"].get("parsed", {}).get("storage", {})
    del talk.answers[-2:]
    cache = status.get("wiredTiger", {}).get("cache", {}).get("maximum bytes configured")
    return {"storage": storage, "cache_bytes": cache}


def _machine() -> Document:
    """Returns what decides which MongoDB runs here and how large its cache is."""
    processor = mongodb_processor.this_processor()
    return {
        "machine": processor.machine,
        "features": sorted(processor.features & mongodb_processor.DECISIVE_FEATURES),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
    }


def _kept(answer: Mapping[str, Any], keep: Mapping[str, Any]) -> Document:
    return {
        name: _kept(value, keep[name]) if keep[name] and isinstance(value, Mapping) else value
        for name, value in answer.items()
        if name in keep
    }


def _json(document: Document) -> Document:
    """Returns a document in MongoDB's Extended JSON, which the adapter's library reads."""
    from bson import json_util

    converted: Document = json.loads(json_util.dumps(document, json_options=json_util.RELAXED_JSON_OPTIONS))
    return converted
