"""Redis: everything in memory; `persistence` decides what is on storage."""

from __future__ import annotations

import contextlib
import importlib.util
import re
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from edgejoule.database_servers.options import Option, passed_through
from edgejoule.database_servers.server import (
    LOOPBACK,
    DatabaseServer,
    Installation,
    Node,
    NotReadyError,
    Settled,
    Work,
    lines_of,
    program,
)
from edgejoule.errors import DatabaseError
from edgejoule.extras import install_command

if TYPE_CHECKING:
    import redis

ANSWER_S = 5.0
#: Redis's own defaults of `save` are kept for rdb; the others write no snapshot by themselves.
_PERSISTENCE: dict[str, list[str]] = {
    "none": ['save ""', "appendonly no"],
    "rdb": ["save 3600 1 300 100 60 10000", "appendonly no"],
    "aof-no": ['save ""', "appendonly yes", "appendfsync no"],
    "aof-everysec": ['save ""', "appendonly yes", "appendfsync everysec"],
    "aof-always": ['save ""', "appendonly yes", "appendfsync always"],
}
_LINE = re.compile(r"^\d+:\w (\d+ \w+ \d+ \d+:\d+:\d+\.\d+) \S (.*)$")
_BEGINS = {
    "Background saving started": ("snapshot", "RDB snapshot"),
    "Background append only file rewriting started": ("compaction", "AOF rewrite"),
}
_ENDS = {"Background saving terminated": "snapshot", "Background AOF rewrite terminated": "compaction"}
_OF_ITSELF = ("ping", "info", "command", "config", "shutdown", "hello", "client", "auth", "select", "wait")


class Redis(DatabaseServer):
    """Starts one process, which forks another while it writes a snapshot or rewrites its log."""

    name = "redis"
    summary = "Redis: hash tables in memory, in a separate process"
    options: ClassVar[Mapping[str, Option]] = {
        "persistence": Option(
            "none; rdb: snapshots, as Redis has them by default; aof-no, aof-everysec, aof-always: every write in a "
            "log, synced by the kernel in its own time, each second or before it is acknowledged",
            "rdb",
            tuple(_PERSISTENCE),
        ),
        "maxmemory": Option("most that its data may take, for example 400mb; more is refused"),
    }
    durability_options: ClassVar[Mapping[str, Mapping[str, str]]] = {
        "none": {"persistence": "none"},
        "process": {"persistence": "aof-no"},
        "power": {"persistence": "aof-always"},
    }
    promise_broken_by: ClassVar[Mapping[str, Mapping[str, Sequence[str]]]] = {
        "process": {"persistence": ("none", "rdb"), "conf.appendonly": ("no",)},
        "power": {
            "persistence": ("none", "rdb", "aof-no", "aof-everysec"),
            "conf.appendonly": ("no",), "conf.appendfsync": ("no", "everysec"),
        },
    }  # fmt: skip
    never_cold = "all of its data are in memory"
    stop_s = 60.0  # Redis writes its data before it ends

    @classmethod
    def installation(cls) -> Installation:
        """Checks for the program and the Python package."""
        if program("redis-server") is None:
            return Installation(False, why="redis-server is not installed", fix="make servers")
        if importlib.util.find_spec("redis") is None:
            return Installation(False, why="the Python package redis is missing", fix=install_command("servers"))
        return Installation(True, _version_of(program("redis-server") or ""))

    def prepare(self) -> None:
        """Writes the configuration; Redis needs no database to start."""
        lines = [
            f"bind {LOOPBACK}", f"port {self.ports['port']}", f'dir "{self.data}"', "daemonize no",
            "protected-mode yes", "databases 1", *_PERSISTENCE[self.settings["persistence"]],
        ]  # fmt: skip
        if self.settings["maxmemory"]:
            lines += [f"maxmemory {self.settings['maxmemory']}", "maxmemory-policy noeviction"]
        lines += [f"{name} {value}" for name, value in passed_through(self.settings).items()]
        (self.folder / "redis.conf").write_text("\n".join(lines) + "\n")

    def nodes(self) -> Sequence[Node]:
        """Returns the only node."""
        return [Node("redis", [program("redis-server") or "redis-server", str(self.folder / "redis.conf")])]

    def ask_version(self) -> str:
        """Returns the version. Raises NotReadyError until the data are loaded."""
        version = str(self._info("server")["redis_version"])
        if self._info("persistence").get("loading"):
            raise NotReadyError("it still loads its data")
        return version

    def connection(self) -> Mapping[str, object]:
        """Returns host and port."""
        return {"host": LOOPBACK, "port": self.ports["port"]}

    def settled(self) -> Settled:
        """Reports whether a snapshot, rewrite or sync is under way, from INFO persistence."""
        persistence = self._info("persistence")
        busy = [activity for key, activity in _BUSY.items() if persistence.get(key)]
        if busy:
            return Settled(False, f"{' and '.join(busy)} under way")
        return Settled(True, "INFO persistence: no snapshot, no AOF rewrite, no sync pending")

    def operations(self) -> Mapping[str, int]:
        """Counts calls by command, without those of this program."""
        calls: dict[str, int] = {}
        for key, value in self._info("commandstats").items():
            name = key.removeprefix("cmdstat_").partition("|")[0]
            if name not in _OF_ITSELF:
                calls[name] = calls.get(name, 0) + int(value["calls"])
        return calls

    def work(self) -> Sequence[Work]:
        """Returns snapshots and rewrites, from the log."""
        events: list[Work] = []
        begun: dict[str, tuple[int, str]] = {}
        for line in lines_of(self.log_of("redis")):
            parsed = _LINE.match(line.strip())
            if not parsed:
                continue
            at = _realtime_ns(parsed[1])
            for text, (kind, detail) in _BEGINS.items():
                if parsed[2].startswith(text):
                    begun[kind] = (at, detail)
            for text, kind in _ENDS.items():
                if parsed[2].startswith(text) and kind in begun:
                    begin, detail = begun.pop(kind)
                    events.append(Work(kind, begin, at - begin, detail))
        return events + [Work(kind, at, None, f"{detail}, not ended") for kind, (at, detail) in begun.items()]

    def ask_to_end(self) -> None:
        """Writes the data also where persistence is none, so that a stopped server can be started again."""
        from redis import ConnectionError, RedisError, TimeoutError

        keep = not self.settings["persistence"].startswith("aof")
        try:
            with connected(self.ports["port"]) as server:
                server.shutdown(save=keep, nosave=not keep)
        except (ConnectionError, TimeoutError):  # Redis ends without a response
            pass
        except RedisError as error:
            raise DatabaseError(f"redis cannot write its data: {error}; {self.last_output()}") from error

    def _info(self, section: str) -> dict[str, Any]:
        from redis import RedisError

        try:
            with connected(self.ports["port"]) as server:
                return dict(server.info(section))
        except RedisError as error:
            raise NotReadyError(str(error)) from error


@contextlib.contextmanager
def connected(port: int, password: str | None = None) -> Iterator[redis.Redis]:
    """Opens a client of a server on loopback that never retries. Its methods raise redis.RedisError."""
    import redis
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    client = redis.Redis(
        LOOPBACK, port, socket_timeout=ANSWER_S, socket_connect_timeout=ANSWER_S, decode_responses=True,
        encoding_errors="replace", password=password, protocol=2, retry=Retry(NoBackoff(), 0),
    )  # fmt: skip
    with client:
        yield client


_BUSY = {
    "rdb_bgsave_in_progress": "an RDB snapshot",
    "aof_rewrite_in_progress": "an AOF rewrite",
    "aof_rewrite_scheduled": "a scheduled AOF rewrite",
    "aof_pending_bio_fsync": "an AOF sync",
    "aof_buffer_length": "an AOF write",
}


@cache
def _version_of(path: str) -> str:
    output = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=10, check=False).stdout
    parsed = re.search(r"v=(\S+)", output)
    return parsed[1] if parsed else ""


def _realtime_ns(text: str) -> int:
    """Converts a time of its log, which is local time."""
    moment = datetime.strptime(text, "%d %b %Y %H:%M:%S.%f")
    return int((time.mktime(moment.timetuple()) + moment.microsecond / 1e6) * 1e9)
