"""Starts, queries and stops a database server on loopback. Each kind is a class in a separate file.

The folder has `data` (the database's files, which a snapshot copies), `log` (each node's output) and, while it runs, a
record of its processes. Ports are free ones; nothing listens beyond loopback.
"""

from __future__ import annotations

import abc
import contextlib
import os
import re
import shutil
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

from edgejoule.database_servers.options import Option, effective
from edgejoule.database_servers.processes import NodeProcess
from edgejoule.database_servers.record import Record, forget, this_program
from edgejoule.errors import DatabaseError, UsageError

LOOPBACK = "127.0.0.1"
LOGS = "log"  # below a server's folder
LAST_LINES = 3  # of a log, quoted in the message of a failure
_ERROR = re.compile(r"\b(ERROR|FATAL|PANIC)\b|^([a-z]\w*\.)+\w+(Exception|Error): ")
_LOOK_S = 0.05


@dataclass(frozen=True)
class Installation:
    """Reports whether a server can be started here. why: the obstacle. fix: the remedy. summary: of a stand-in."""

    available: bool
    version: str = ""
    why: str = ""
    fix: str = ""
    summary: str = ""


@dataclass(frozen=True)
class Node:
    """A process of a server."""

    name: str
    argv: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Settled:
    """Reports whether all background work is done: writing, compaction, snapshot. how: the server's evidence."""

    complete: bool
    how: str


@dataclass(frozen=True)
class ServerUsage:
    """The use of all processes since their start. rss_bytes: now."""

    cpu_s: float
    rss_bytes: int
    read_bytes: int
    write_bytes: int


@dataclass(frozen=True)
class Work:
    """Background work of the server. kind: as in schemas/driver-event.schema.json."""

    kind: str
    begin_realtime_ns: int
    duration_ns: int | None
    detail: str
    write_bytes: int | None = None


@dataclass(frozen=True)
class OwnCache:
    """What the server's own cache has. cached_bytes: None: unknown. how: the server's evidence, or why it is unknown.

    catalog_bytes_max: the part of it that may be the catalog's, or of an empty cache.
    """

    cached_bytes: int | None
    how: str
    catalog_bytes_max: int = 0


class NotReadyError(Exception):
    """The server does not answer yet. The message gives the reason."""


class DatabaseServer(abc.ABC):
    """A database server and its processes. folder: for it alone. options: as requested. prefix: argv before every
    command (a memory group). outlives: it survives this program and runs until it is stopped.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    options: ClassVar[Mapping[str, Option]] = {}
    presets: ClassVar[Mapping[str, Mapping[str, str]]] = {}
    durability_options: ClassVar[Mapping[str, Mapping[str, str]]] = {}  # durability class, "" for none -> options
    #: Durability class -> option -> values that break its promise.
    promise_broken_by: ClassVar[Mapping[str, Mapping[str, Sequence[str]]]] = {}
    of_sessions: ClassVar[Sequence[str]] = ()  # options that its client sets for its own sessions, too
    replication_option: ClassVar[str] = ""  # the server's or client's name of replication_factor
    never_cold: ClassVar[str] = ""  # why a run cannot begin with cold caches; empty: it can
    cold_options: ClassVar[Mapping[str, str]] = {}  # without which pages of the tables stay in memory
    start_s: ClassVar[float] = 30.0  # maximum duration of a start
    stop_s: ClassVar[float] = 20.0  # between the request to end and SIGKILL
    connection_options: ClassVar[Sequence[str]] = ("host", "port")  # from connection(), for its client
    ports_wanted: ClassVar[Sequence[str]] = ("port",)
    observed: ClassVar[bool] = True  # this program knows its processes, files and logs

    def __init__(
        self, folder: Path, options: Mapping[str, object] | None = None, prefix: Sequence[str] = (), *,
        outlives: bool = False,
    ) -> None:  # fmt: skip
        self.folder = folder.absolute()
        self.settings = effective(self.name, self.options, self.presets, options or {})
        self.prefix, self.outlives = list(prefix), outlives
        self.ports: dict[str, int] = {}
        self.processes: list[NodeProcess] = []
        self.version = ""
        self.check()

    # Methods that each kind defines.

    @classmethod
    @abc.abstractmethod
    def installation(cls) -> Installation:
        """Reports whether it can be started here, without starting it."""

    def check(self) -> None:  # noqa: B027
        """Raises UsageError for options that exclude each other."""

    @classmethod
    def may_miss(cls, options: Mapping[str, object]) -> str | None:
        """Explains why a read may miss an earlier write with these client options; None if it cannot."""
        return None

    def missing(self) -> str | None:
        """Returns why its options cannot be met although it is installed, with a remedy; None if they can."""
        return None

    def copies_max(self) -> int:
        """Returns how many copies of a row the nodes can hold."""
        return 1

    @property
    def stand_in(self) -> str:
        """Names the program that runs in place of the product; empty for the product itself."""
        return ""

    @abc.abstractmethod
    def prepare(self) -> None:
        """Make what its folder lacks: configuration, an empty database. Raises DatabaseError."""

    @abc.abstractmethod
    def nodes(self) -> Sequence[Node]:
        """Returns the nodes in the order of their start."""

    @abc.abstractmethod
    def ask_version(self) -> str:
        """Asks the server for its version. Raises NotReadyError while it does not answer."""

    @abc.abstractmethod
    def connection(self) -> Mapping[str, object]:
        """Returns the client's options without prefix: host, port ..."""

    def durability(self) -> str:
        """Describes what of an acknowledged write is on storage, by its own settings."""
        return "as its settings say"

    def settled(self) -> Settled:
        """Reports whether background work is left. Raises NotReadyError when it does not answer."""
        return Settled(True, "it does not report it")

    def settle(self) -> None:  # noqa: B027
        """Makes it write its memory to storage, where it can."""

    def operations(self) -> Mapping[str, int]:
        """Returns clients' operations since its start, by its own names; empty where it does not count."""
        return {}

    def work(self) -> Sequence[Work]:
        """Returns its background work since it started, as far as it reports it."""
        return ()

    def table_files(self) -> Sequence[Path]:
        """Returns the files of clients' tables and indexes, without those of the log and the catalog."""
        return ()

    def own_cache(self) -> OwnCache:
        """Reports what its own cache has now, by its own counter. Raises NotReadyError."""
        return OwnCache(None, f"{self.name} does not report it")

    def ask_to_end(self) -> None:
        """Asks the processes to end and keep the data, the last started first."""
        for process in reversed(self.processes):
            process.ask_to_end()

    # Methods that all kinds share.

    @property
    def data(self) -> Path:
        """Returns the folder of the database's files."""
        return self.folder / "data"

    @property
    def logs(self) -> Path:
        """Returns the folder of the nodes' logs."""
        return self.folder / LOGS

    def log_of(self, node: str) -> Path:
        """Returns the log of a node's output."""
        return self.logs / f"{node}.log"

    def start(self) -> Self:
        """Returns when it answers. Raises DatabaseError with the last lines of its log; nothing then runs."""
        server = self.installation()
        if not server.available:
            raise DatabaseError(f"{self.name} cannot be started here: {server.why}; {server.fix}")
        if why := self.missing():
            raise DatabaseError(f"{self.name} cannot be started here: {why}")
        self._clear_way()
        try:
            self.data.mkdir(parents=True, exist_ok=True)
            self.logs.mkdir(exist_ok=True)
            self.ports = self.choose_ports()
            self.prepare()
            self.start_nodes()
            self.version = self.await_answer(self.ask_version)
        except OSError as error:
            self.kill()
            raise DatabaseError(f"{self.name}: {error.filename or self.folder}: {error.strerror}") from error
        except BaseException:
            self.kill()
            raise
        return self

    def choose_ports(self) -> dict[str, int]:
        """Returns free ports."""
        return dict(zip(self.ports_wanted, free_ports(len(self.ports_wanted)), strict=True))

    def start_nodes(self) -> None:
        """Starts all nodes at once."""
        for node in self.nodes():
            self.start_node(node)

    def start_node(self, node: Node) -> None:
        """Starts a node and adds it to the record."""
        self.processes.append(
            NodeProcess.start(
                node.name, [*self.prefix, *node.argv], self.log_of(node.name), node.environment, self.folder,
                outlives=self.outlives,
            )
        )  # fmt: skip
        owner = None if self.outlives else this_program()
        Record(self.name, self.settings, self.ports, self.processes, owner).write(self.folder)

    def _clear_way(self) -> None:
        left = Record.read(self.folder)
        if left is None:
            return
        if left.orphaned() or not any(p.runs() for p in left.processes):
            left.kill(self.folder)
            return
        raise UsageError(f"{self.folder}: a {left.server} server runs there already")

    def await_answer(self, ask: Callable[[], str]) -> str:
        """Calls `ask` until it no longer raises NotReadyError. Raises DatabaseError when that takes too long."""
        end = time.monotonic() + self.start_s
        while True:
            try:
                return ask()
            except NotReadyError as error:
                self.check_runs("while it started")
                if time.monotonic() > end:
                    raise DatabaseError(
                        f"{self.name} did not answer within {self.start_s:g} s: {error}; {self.last_output()}"
                    ) from error
            time.sleep(_LOOK_S)

    @classmethod
    def attach(cls, folder: Path, record: Record) -> Self:
        """Returns a server that another program started and that still runs."""
        server = cls(folder, {}, outlives=record.owner is None)
        server.settings, server.ports = dict(record.settings), dict(record.ports)
        server.processes = list(record.processes)
        with contextlib.suppress(NotReadyError):
            server.version = server.ask_version()
        return server

    def runs(self) -> bool:
        """Returns whether all of its processes run."""
        return bool(self.processes) and all(process.runs() for process in self.processes)

    def trouble(self) -> str | None:
        """Describes a process that has ended or was stopped; None when all run."""
        for process in self.processes:
            who = self.name if len(self.processes) == 1 else f"{self.name}'s {process.name}"
            if not process.runs():
                return f"{who} {process.ending()}"
            if process.paused():
                return f"{who} stands still (SIGSTOP)"
        return None

    def check_runs(self, when: str) -> None:
        """Raises DatabaseError when a process has ended, with its last output."""
        for process in self.processes:
            if not process.runs():
                raise DatabaseError(f"{self.name} {process.ending()} {when}; {self.last_output(process.name)}")

    def last_output(self, node: str | None = None) -> str:
        """Returns the last lines and the last error of the logs, of one node or of the first that wrote any."""
        names = [node] if node else [p.name for p in self.processes]
        for name in names:
            lines = last_lines(self.log_of(name))
            if lines:
                last = lines[-LAST_LINES:]
                error = next((line for line in reversed(lines) if _ERROR.search(line)), last[-1])
                last_error = "" if error in last else f"; its last error: {error}"
                return f"its log ends: {' | '.join(last)}{last_error}"
        return "its log is empty"

    def usage(self) -> ServerUsage:
        """Sums the use of all its processes."""
        moved = [p.bytes_moved() for p in self.processes]
        return ServerUsage(
            cpu_s=sum(p.cpu_s() for p in self.processes),
            rss_bytes=sum(p.rss_bytes() for p in self.processes),
            read_bytes=sum(m["read_bytes"] for m in moved),
            write_bytes=sum(m["write_bytes"] for m in moved),
        )

    def await_settled(self, timeout_s: float) -> Settled:
        """Waits until it has settled or the time is over. Raises DatabaseError if it ends or is stopped meanwhile."""
        end = time.monotonic() + timeout_s
        asked = False
        while True:
            try:
                if not asked:
                    self.settle()
                    asked = True
                settled = self.settled()
            except NotReadyError as error:
                settled = Settled(False, str(error))
            if settled.complete:
                return settled
            if trouble := self.trouble():
                raise DatabaseError(f"{trouble} while it settled; {self.last_output()}")
            if time.monotonic() > end:
                return settled
            time.sleep(_LOOK_S)

    def stop(self) -> str:
        """Stops it and keeps its data; SIGKILL when it does not end in time. Describes the outcome."""
        begin = time.monotonic()
        end = begin + self.stop_s
        try:
            for process in self.processes:
                if process.paused():
                    process.ask_to_end()
            with contextlib.suppress(NotReadyError):
                self.ask_to_end()
            late = [p.name for p in self.processes if not p.wait(end)]
        finally:
            self.kill()
        if late:
            return f"killed: {', '.join(late)} did not end within {self.stop_s:g} s"
        return f"stopped in {time.monotonic() - begin:.1f} s"

    def kill(self) -> None:
        """Kills it at once."""
        for process in reversed(self.processes):
            process.kill()
        forget(self.folder)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def facts(self) -> dict[str, Any]:
        """Returns what a run's record states about it."""
        return {
            "server": self.name,
            "version": self.version,
            "settings": {name: value for name, value in self.settings.items() if value != ""},
            "processes": [process.name for process in self.processes],
        }


def free_ports(count: int, host: str = LOOPBACK) -> list[int]:
    """Returns ports that nobody listens on now."""
    with contextlib.ExitStack() as held:
        ports = []
        for _ in range(count):
            one = held.enter_context(socket.socket())
            one.bind((host, 0))
            ports.append(int(one.getsockname()[1]))
    return ports


def is_free(host: str, port: int) -> bool:
    """Returns whether a program can listen there."""
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind((host, port))
        except OSError:
            return False
    return True


def last_lines(log: Path) -> list[str]:
    """Returns the last 64 KB of a log of any length, without empty lines."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - (64 << 10)))
            text = file.read().decode(errors="replace")
    except OSError:
        return []
    return [line.strip() for line in text.splitlines() if line.strip()]


def lines_of(log: Path) -> Iterator[str]:
    """Yields all lines of a log."""
    with contextlib.suppress(OSError), log.open(errors="replace") as file:
        yield from file


def program(name: str, *folders: str) -> str | None:
    """Searches the PATH, then the further folders."""
    return shutil.which(name) or shutil.which(name, path=os.pathsep.join(("/usr/sbin", "/usr/local/sbin", *folders)))
