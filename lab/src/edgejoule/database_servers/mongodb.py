"""MongoDB: a mongod that the user has installed; else mongo-java-server, a stand-in, which is never called MongoDB."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from edgejoule.database_servers import jvm, mongodb_processor
from edgejoule.database_servers.options import Option, json_value, passed_through, whole
from edgejoule.database_servers.server import (
    LOOPBACK,
    DatabaseServer,
    Installation,
    Node,
    NotReadyError,
    OwnCache,
    Settled,
    Work,
    lines_of,
    program,
)
from edgejoule.errors import UsageError
from edgejoule.extras import install_command
from edgejoule.machine.page_cache import files_below

if TYPE_CHECKING:
    from pymongo import MongoClient

ANSWER_S = 15.0
START_ANSWER_S = 2.0  # during the start, so that a server that has ended is noticed between two requests
STAND_IN = "mongodb-stand-in"
_STAND_IN_JAR = "mongo-java-server-core"
_STAND_IN_HEAP_MB = 256
_STAND_IN_LOG = tuple(
    f"-Dorg.slf4j.simpleLogger.{s}" for s in ("showDateTime=true", "log.de.bwaldvogel.mongo.wire=warn")
)
_STAND_IN_SUMMARY = "a stand-in for MongoDB in tests (mongo-java-server): its costs are not those of MongoDB"
_MISSING = "no mongod on the PATH (MongoDB is not in Debian: install it yourself)"
#: serverStatus of 8.0 and newer, and before.
_RUNNING = (
    ("checkpoint", "progress state"),
    ("transaction", "transaction checkpoint currently running"),
)
CACHED = "bytes currently in the cache"
_CATALOG_BYTES_MAX = 1 << 20  # that mongod reads when it starts


Document = dict[str, Any]


class MongoDB(DatabaseServer):
    """Starts one process: mongod or its stand-in."""

    name = "mongodb"
    summary = "MongoDB: documents in B-trees with a journal (WiredTiger), in a separate process"
    options: ClassVar[Mapping[str, Option]] = {
        "server": Option(
            "mongod; stand-in: mongo-java-server, for tests; empty: mongod where there is one", "",
            ("", "mongod", "stand-in"),
        ),
        "cache_gb": Option("WiredTiger's cache, from 0.25 on; empty: half of the memory beyond 1 GB"),
        "server_journal": Option("off: a crash loses what came after the last checkpoint; before MongoDB 6.1", "on",
                                 ("on", "off")),
        "commit_interval_ms": Option("longest time between two syncs of the journal, 1 to 500", "100"),
        "checkpoint_s": Option("time between two checkpoints", "60"),
        "preset": Option("1gb-board: for a board with 1 GB of memory", "", ("", "1gb-board")),
    }  # fmt: skip
    presets: ClassVar[Mapping[str, Mapping[str, str]]] = {"1gb-board": {"cache_gb": "0.25"}}
    #: Of the driver, which otherwise waits for the journal; mongod by itself does not.
    durability_options: ClassVar[Mapping[str, Mapping[str, str]]] = {"": {"journal": "false"}}
    promise_broken_by: ClassVar[Mapping[str, Mapping[str, Sequence[str]]]] = {
        durability: {"journal": ("false",), "server_journal": ("off",), "conf.storage.journal.enabled": ("false",)}
        for durability in ("process", "power")
    }
    connection_options = ("host", "port", "uri", "url")
    start_s = 60.0
    stop_s = 120.0  # mongod makes a checkpoint before it ends

    @classmethod
    def installation(cls) -> Installation:
        """Checks for a mongod that this processor can run, else for the stand-in's jars."""
        why, stand_in = _why_no_mongod(), _stand_in_installation()
        if why and not stand_in.available:
            return Installation(False, why=f"{why}; a stand-in for tests: {stand_in.why}", fix="make servers")
        if importlib.util.find_spec("pymongo") is None:
            return Installation(False, why="the Python package pymongo is missing", fix=install_command("servers"))
        if not why:
            return Installation(True, _version_of(program("mongod") or ""))
        return Installation(True, _stand_in_version(stand_in), summary=_STAND_IN_SUMMARY)

    def check(self) -> None:
        """Raises UsageError for wrong numbers and for settings that a stand-in lacks."""
        for name in ("commit_interval_ms", "checkpoint_s"):
            whole(self.name, self.settings, name)
        try:
            if self.settings["cache_gb"] and float(self.settings["cache_gb"]) < 0.25:
                raise ValueError
        except ValueError as error:
            text = self.settings["cache_gb"]
            raise UsageError(f"mongodb.cache_gb: expected a number from 0.25 on, got {text!r}") from error
        changed = [
            n
            for n, v in self.settings.items()
            if n != "server" and (n not in self.options or v != self.options[n].default)
        ]
        if self._stands_in and changed:
            raise UsageError(f"mongodb.{changed[0]}: the stand-in has no such setting; leave it out, or install mongod")

    def missing(self) -> str | None:
        """Explains why the program that `server` names is missing, or cannot run on this processor; None if it can."""
        if not self._stands_in and (why := _why_no_mongod()):
            return f"mongodb.server = mongod: {why}" if self.settings["server"] else why
        server = _stand_in_installation()
        if self.settings["server"] == "stand-in" and not server.available:
            return f"mongodb.server = stand-in: {server.why}; {server.fix}"
        return None

    @property
    def stand_in(self) -> str:
        """Names the stand-in and its version; empty for mongod."""
        return _stand_in_version(_stand_in_installation()) if self._stands_in else ""

    @property
    def _stands_in(self) -> bool:
        return self.settings["server"] == "stand-in" or (not self.settings["server"] and program("mongod") is None)

    def prepare(self) -> None:
        """Writes mongod's configuration."""
        if not self._stands_in:
            (self.folder / "mongod.json").write_text(json.dumps(self._configuration(), indent=1))  # JSON is valid YAML

    def _configuration(self) -> Document:
        settings: dict[str, object] = {
            "net.bindIp": LOOPBACK,
            "net.port": self.ports["port"],
            "net.unixDomainSocket.enabled": False,
            "storage.dbPath": str(self.data),
            "storage.syncPeriodSecs": int(self.settings["checkpoint_s"]),
            "storage.journal.commitIntervalMs": int(self.settings["commit_interval_ms"]),
        }
        if self.settings["cache_gb"]:
            settings["storage.wiredTiger.engineConfig.cacheSizeGB"] = float(self.settings["cache_gb"])
        if self.settings["server_journal"] == "off":
            settings["storage.journal.enabled"] = False
        settings |= {name: json_value(value) for name, value in passed_through(self.settings).items()}
        return nested(settings)

    def nodes(self) -> Sequence[Node]:
        """Returns the only node."""
        if not self._stands_in:
            return [Node("mongod", [program("mongod") or "mongod", "--config", str(self.folder / "mongod.json")])]
        lib = jvm.jars(STAND_IN)
        argv = jvm.java(
            [lib.parent / "classes", f"{lib}/*"], f"-Xmx{_STAND_IN_HEAP_MB}m", *_STAND_IN_LOG, "StandIn",
            str(self.ports["port"]), str(self.data / "store"), f"mongo-java-server {_stand_in_installation().version}",
        )  # fmt: skip
        return [Node("stand-in", argv)]

    def ask_version(self) -> str:
        """Returns the version. Raises NotReadyError until the server answers."""
        build = self._ask("buildInfo", START_ANSWER_S)
        return self.stand_in or str(build["version"])

    def connection(self) -> Mapping[str, object]:
        """Returns host and port."""
        return {"host": LOOPBACK, "port": self.ports["port"]}

    def durability(self) -> str:
        """Describes how the journal is synced."""
        if self._stands_in:
            return "a stand-in: written within a second or so; it has no journal and heeds no write concern"
        if self.settings["server_journal"] == "off":
            return "no journal: kept up to the last checkpoint"
        return f"journal synced every {self.settings['commit_interval_ms']} ms, and before an answer to j=true"

    def facts(self) -> dict[str, Any]:
        """Leaves mongod's settings out for a stand-in, which ignores them."""
        facts = super().facts()
        return facts | {"settings": {"server": "stand-in"}} if self._stands_in else facts

    def settle(self) -> None:
        """Makes a checkpoint by fsync."""
        self._ask("fsync")

    def settled(self) -> Settled:
        """Reports whether a checkpoint is under way, from serverStatus."""
        return settled_in(self._ask("serverStatus"))

    def operations(self) -> Mapping[str, int]:
        """Returns opcounters without commands, which the server and this program send."""
        return operations_in(self._ask("serverStatus"))

    def table_files(self) -> Sequence[Path]:
        """Returns WiredTiger's files of collections and indexes; of the stand-in, its only file."""
        if self._stands_in:
            return files_below(self.data)
        return [path for path in self.data.rglob("*.wt") if path.name.startswith(("collection-", "index-"))]

    def own_cache(self) -> OwnCache:
        """Reports WiredTiger's cache, from serverStatus."""
        return wired_tiger_cache(self._ask("serverStatus"))

    def work(self) -> Sequence[Work]:
        """Returns checkpoints, from the log."""
        return [] if self._stands_in else [work for line in lines_of(self.log_of("mongod")) if (work := work_in(line))]

    def client(self, wait_s: float = ANSWER_S) -> MongoClient[Document]:
        """Opens a client that waits at most that long for an answer. The caller closes it."""
        from pymongo import MongoClient

        return MongoClient(LOOPBACK, self.ports["port"], directConnection=True, **time_limits(wait_s))

    def _ask(self, command: str, wait_s: float = ANSWER_S) -> Document:
        """Opens a client for each request: one that stays open would poll the server during a run."""
        from pymongo.errors import PyMongoError

        try:
            with self.client(wait_s) as client:
                return client.admin.command(command)
        except PyMongoError as error:
            raise NotReadyError(str(error)) from error


def time_limits(wait_s: float) -> dict[str, Any]:
    """Returns the options of a client that waits at most that long for an answer."""
    return dict.fromkeys(("serverSelectionTimeoutMS", "connectTimeoutMS", "socketTimeoutMS"), int(wait_s * 1e3))


def settled_in(status: Document) -> Settled:
    """Returns whether a checkpoint is under way by a serverStatus that was asked for after an fsync."""
    statistics = status.get("wiredTiger", {})
    running = [statistics[part][name] for part, name in _RUNNING if name in statistics.get(part, {})]
    if not running:
        return Settled(True, "fsync returned; the server does not report checkpoints")
    if any(running):
        return Settled(False, "a checkpoint under way")
    return Settled(True, "fsync returned; serverStatus: no checkpoint under way")


def operations_in(status: Document) -> dict[str, int]:
    """Returns the opcounters of a serverStatus without commands."""
    return {str(name): int(count) for name, count in status.get("opcounters", {}).items() if name != "command"}


def wired_tiger_cache(status: Document) -> OwnCache:
    """Reads WiredTiger's cache from the answer to serverStatus."""
    cached = status.get("wiredTiger", {}).get("cache", {}).get(CACHED)
    if cached is None:
        return OwnCache(None, "serverStatus has no cache of WiredTiger")
    return OwnCache(int(cached), f"serverStatus: wiredTiger.cache, {CACHED}", _CATALOG_BYTES_MAX)


def work_in(line: str) -> Work | None:
    """Parses a line of mongod's log, which reports a checkpoint but not its duration."""
    if "saving checkpoint snapshot" not in line:
        return None
    try:
        entry = json.loads(line)
        at = datetime.fromisoformat(entry["t"]["$date"])
        message = str(entry["attr"]["message"]["msg"])
    except (ValueError, KeyError, TypeError):
        return None
    at_ms = round(at.timestamp() * 1e3)
    return Work("checkpoint", at_ms * 10**6, None, message) if "saving checkpoint" in message else None


def nested(settings: Mapping[str, object]) -> Document:
    """{"a.b": 1} as {"a": {"b": 1}}."""
    document: Document = {}
    for path, value in settings.items():
        *folders, name = path.split(".")
        at = document
        for folder in folders:
            at = at.setdefault(folder, {})
        at[name] = value
    return document


def _stand_in_installation() -> Installation:
    server = jvm.installation(STAND_IN, _STAND_IN_JAR)
    if server.available and not (jvm.jars(STAND_IN).parent / "classes/StandIn.class").exists():
        return Installation(False, why=f"no StandIn.class beside {jvm.jars(STAND_IN)}", fix="make servers")
    return server


def _stand_in_version(server: Installation) -> str:
    return f"stand-in: mongo-java-server {server.version}, not MongoDB"


def _why_no_mongod() -> str | None:
    """Explains why there is no mongod here, or none that this processor can run; None if there is one."""
    processor = mongodb_processor.this_processor()
    if (mongod := program("mongod")) is None:
        return mongodb_processor.why_no_build(processor) or _MISSING
    return mongodb_processor.why_not(processor, _version_of(mongod))


@cache
def _version_of(path: str) -> str:
    """Returns the version; empty if the program does not say it, as on a processor that it cannot run on."""
    try:
        output = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=30, check=False).stdout
    except OSError:
        return ""
    parsed = re.search(r"db version v(\S+)", output)
    return parsed[1] if parsed else ""
