"""PostgreSQL: a separate cluster below the folder; with Citus a coordinator and workers, each a cluster.

As root they run as the user postgres, for PostgreSQL refuses root.
"""

from __future__ import annotations

import os
import pwd
import re
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import ClassVar, NamedTuple

from edgejoule.database_servers.options import Option, passed_through, whole
from edgejoule.database_servers.server import (
    LOOPBACK,
    DatabaseServer,
    Installation,
    Node,
    NotReadyError,
    OwnCache,
    Settled,
    Work,
    free_ports,
    lines_of,
    program,
)
from edgejoule.errors import DatabaseError, UsageError

USER = "postgres"  # the role; as root the system's user too
DATABASE = "ycsb"
WORKERS_MAX = 9
_INIT_S = 120.0
_ASK_S = 15.0
_LINE = re.compile(r"^(\d+-\d+-\d+ \d+:\d+:\d+\.\d+) UTC \[\d+\] LOG: +checkpoint (starting|complete): ?(.*)$")
_TOTAL = re.compile(r"total=([\d.]+) s")
_NAMED = "EDGEJOULE_POSTGRES"
_TO_CITUS = f"install the package postgresql-NN-citus, or name a PostgreSQL that has it: {_NAMED}=FOLDER/bin"
_CITUS_VERSION = "SELECT extversion FROM pg_extension WHERE extname='citus'"
_ALL_TABLES = "SET citus.override_table_visibility TO off; "  # the shards, too
_SESSIONS_END_S = 2.0
_SESSIONS = f"""SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND datname = '{DATABASE}'
AND pid <> pg_backend_pid()"""
_USERS_RELATION = re.compile(r"(\d+)(_[a-z]+)?(\.\d+)?")  # a file of a table or an index: its number, fork, segment
_FIRST_USERS_NUMBER = 16384  # lower ones are the catalog's: FirstNormalObjectId in PostgreSQL's access/transam.h
_CACHED = f"""SELECT count(*) * current_setting('block_size')::bigint FROM pg_buffercache
WHERE relfilenode >= {_FIRST_USERS_NUMBER}"""
_OPTIONS_TO_SETTINGS = ("shared_buffers", "synchronous_commit", "fsync", "max_wal_size", "checkpoint_timeout")


class Cluster(NamedTuple):
    """A postmaster and its data."""

    name: str
    data: Path
    port: int


class Postgres(DatabaseServer):
    """Starts a postmaster, which starts a process for every client; with Citus one postmaster for each node."""

    name = "postgres"
    summary = "PostgreSQL: heap tables and B-trees with a write-ahead log, in separate processes"
    options: ClassVar[Mapping[str, Option]] = {
        "shared_buffers": Option("memory for pages", "128MB"),
        "synchronous_commit": Option("off: acknowledged before it is synced", "on", ("on", "off", "local")),
        "fsync": Option("off: never synced; a crash may destroy the database", "on", ("on", "off")),
        "max_wal_size": Option("log after which a checkpoint is made", "1GB"),
        "checkpoint_timeout": Option("time after which a checkpoint is made", "5min"),
        "workers": Option("0: PostgreSQL alone; 1 to 9: a Citus coordinator with so many workers on this machine", "0"),
        "preset": Option("1gb-board: for a board with 1 GB of memory", "", ("", "1gb-board")),
    }
    presets: ClassVar[Mapping[str, Mapping[str, str]]] = {
        "1gb-board": {"shared_buffers": "128MB", "conf.work_mem": "2MB", "conf.maintenance_work_mem": "32MB"},
    }
    durability_options: ClassVar[Mapping[str, Mapping[str, str]]] = {
        "none": {"synchronous_commit": "off", "fsync": "off"},
        "process": {"synchronous_commit": "on", "fsync": "on"},  # PostgreSQL has no level between this and power
        "power": {"synchronous_commit": "on", "fsync": "on"},
    }
    promise_broken_by: ClassVar[Mapping[str, Mapping[str, Sequence[str]]]] = {
        "process": dict.fromkeys(("synchronous_commit", "conf.synchronous_commit"), ("off",)),
        "power": dict.fromkeys(
            ("synchronous_commit", "conf.synchronous_commit", "fsync", "conf.fsync", "conf.full_page_writes"), ("off",)
        ),
    }
    of_sessions = ("synchronous_commit",)
    replication_option = "shard_replication_factor"
    start_s = 60.0
    connection_options = ("host", "port", "user", "database")
    stop_s = 120.0  # it makes a checkpoint before it ends

    @classmethod
    def installation(cls) -> Installation:
        """Checks for the program and, as root, for the user that runs it."""
        named = os.environ.get(_NAMED)
        if named and not (Path(named) / "postgres").exists():
            return Installation(
                False, why=f"{_NAMED}={named}: no program postgres there", fix=f"{_NAMED}=FOLDER/bin, or unset it"
            )
        if _folder() is None:
            return Installation(False, why="PostgreSQL is not installed", fix="make servers")
        if os.geteuid() == 0 and _system_user() is None:
            why = f"it refuses to run as root, and there is no system user {USER}"
            return Installation(False, why=why, fix=f"useradd --system {USER}, or run as another user")
        return Installation(True, _version_of(_tool("postgres")))

    def check(self) -> None:
        """Raises UsageError for a wrong number of workers."""
        if self._workers > WORKERS_MAX:
            raise UsageError(f"postgres.workers: at most {WORKERS_MAX}, got {self._workers}")

    def copies_max(self) -> int:
        """Returns the number of workers: each holds one copy."""
        return max(1, self._workers)

    @property
    def _workers(self) -> int:
        return whole(self.name, self.settings, "workers", least=0)

    def choose_ports(self) -> dict[str, int]:
        """Returns one port for each cluster."""
        names = ["port", *(f"worker{number + 1}" for number in range(self._workers))]
        return dict(zip(names, free_ports(len(names)), strict=True))

    def clusters(self) -> Sequence[Cluster]:
        """Returns the cluster that clients connect to, then its workers."""
        if not self._workers:
            return [Cluster("postgres", self.data, self.ports["port"])]
        workers = [f"worker{number + 1}" for number in range(self._workers)]
        first = Cluster("coordinator", self.data / "coordinator", self.ports["port"])
        return [first, *(Cluster(name, self.data / name, self.ports[name]) for name in workers)]

    def prepare(self) -> None:
        """Creates empty clusters the first time."""
        if self._workers and not _has_citus():
            raise DatabaseError(f"Citus is not available, because PostgreSQL has no extension citus; {_TO_CITUS}")
        for cluster in self.clusters():
            cluster.data.mkdir(exist_ok=True)
        _own(self.data)
        for cluster in self.clusters():
            self._prepare(cluster)

    def _prepare(self, cluster: Cluster) -> None:
        if not (cluster.data / "PG_VERSION").exists():
            arguments = [
                _tool("initdb"), "-D", str(cluster.data), "-U", USER, "-A", "trust", "-E", "UTF8", "--locale=C",
                "--no-instructions",
            ]  # fmt: skip
            done = subprocess.run(
                [*_as_user(), *arguments], capture_output=True, text=True, timeout=_INIT_S, check=False, cwd="/"
            )
            self.log_of("initdb").write_text(done.stdout + done.stderr)
            if done.returncode:
                raise DatabaseError(f"postgres: initdb failed: {done.stderr.strip()[-400:]}")
        settings = {
            "listen_addresses": LOOPBACK, "port": str(cluster.port), "unix_socket_directories": "",
            "log_line_prefix": "%m [%p] ", "log_timezone": "UTC", "log_checkpoints": "on", "logging_collector": "off",
            "log_destination": "stderr", "shared_preload_libraries": "", "max_connections": "256",
        }  # fmt: skip
        if self._workers:
            settings |= {"shared_preload_libraries": "citus", "citus.node_conninfo": "sslmode=disable"}
        settings |= {name: self.settings[name] for name in _OPTIONS_TO_SETTINGS} | passed_through(self.settings)
        text = "".join(f"{name} = '{_quoted(value)}'\n" for name, value in settings.items())
        self._configuration(cluster).write_text(text)

    def _configuration(self, cluster: Cluster) -> Path:
        return self.folder / f"{cluster.name}.conf"

    def nodes(self) -> Sequence[Node]:
        """Returns the postmasters."""
        # A change of the user cancels an earlier --pdeathsig, so it is set together with the user.
        ends = [] if self.outlives else ["--pdeathsig=KILL"]
        nodes = []
        for cluster in self.clusters():
            files = [f"--config-file={self._configuration(cluster)}", f"--hba-file={cluster.data / 'pg_hba.conf'}"]
            files += [f"--ident-file={cluster.data / 'pg_ident.conf'}"]
            nodes.append(
                Node(cluster.name, [*_as_user(*ends), _tool("postgres"), "-D", str(cluster.data), *files])
            )  # fmt: skip
        return nodes

    def ask_version(self) -> str:
        """Returns the version once the database of the runs exists and the coordinator has its workers."""
        for cluster in reversed(self.clusters()):
            if self.sql(f"SELECT 1 FROM pg_database WHERE datname='{DATABASE}'", cluster, USER) != "1":
                self.sql(f"CREATE DATABASE {DATABASE}", cluster, USER)
            if self._workers:
                self.sql("CREATE EXTENSION IF NOT EXISTS citus", cluster)
        version = self.sql("SHOW server_version").split(" ")[0]
        if not self._workers:
            return version
        self._join_workers()
        return f"{version} with Citus {self.sql(_CITUS_VERSION)}"

    def _join_workers(self) -> None:
        """Adds missing workers, and updates the ports of known ones: a restored coordinator has the earlier ports."""
        rows = self.sql("SELECT nodeid, nodeport FROM pg_dist_node WHERE groupid<>0 ORDER BY nodeid").splitlines()
        known = [line.split("|") for line in rows]
        for number, worker in enumerate(self.clusters()[1:]):
            if number >= len(known):
                self.sql(f"SELECT citus_add_node('{LOOPBACK}', {worker.port})")
            elif known[number][1] != str(worker.port):
                self.sql(f"SELECT citus_update_node({known[number][0]}, '{LOOPBACK}', {worker.port})")

    def connection(self) -> Mapping[str, object]:
        """Returns host, port, user and database; with workers also that it is Citus."""
        citus = {"citus": "true"} if self._workers else {}
        return {"host": LOOPBACK, "port": self.ports["port"], "user": USER, "database": DATABASE, **citus}

    def settle(self) -> None:
        """Makes a checkpoint."""
        for cluster in self.clusters():
            self.sql("CHECKPOINT", cluster)

    def settled(self) -> Settled:
        """Reports whether a vacuum is under way; settle() has written everything else in its checkpoint."""
        for cluster in self.clusters():
            busy = self.sql("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'autovacuum worker'", cluster)
            if busy != "0":
                return Settled(False, f"{cluster.name}: {busy} autovacuum workers at work")
        return Settled(True, "CHECKPOINT returned; pg_stat_activity: no autovacuum worker")

    def operations(self) -> Mapping[str, int]:
        """Counts rows by operation, from pg_stat_user_tables; with Citus every copy, at the workers."""
        columns = ("seq_scan", "idx_scan", "n_tup_ins", "n_tup_upd", "n_tup_del")
        sums = ", ".join(f"coalesce(sum({column}), 0)" for column in columns)
        counted = dict.fromkeys(columns, 0)
        self._await_end_of_sessions()
        for cluster in self.clusters()[1:] or self.clusters():
            row = self.sql(f"{_ALL_TABLES if self._workers else ''}SELECT {sums} FROM pg_stat_user_tables", cluster)
            for column, value in zip(columns, row.split("|"), strict=True):
                counted[column] += int(value)
        return counted

    def table_files(self) -> Sequence[Path]:
        """Returns the files of all databases whose numbers are not the catalog's."""
        places = ("base/*/*", "pg_tblspc/*/*/*/*")
        files = [path for cluster in self.clusters() for place in places for path in cluster.data.glob(place)]
        numbers = ((path, _USERS_RELATION.fullmatch(path.name)) for path in files)
        return [path for path, number in numbers if number and int(number[1]) >= _FIRST_USERS_NUMBER]

    def own_cache(self) -> OwnCache:
        """Counts the tables' pages in shared_buffers by the extension pg_buffercache, in a database beside theirs."""
        cached_bytes = 0
        for cluster in self.clusters():
            self.sql("CREATE EXTENSION IF NOT EXISTS pg_buffercache", cluster, USER)
            cached_bytes += int(self.sql(_CACHED, cluster, USER))
        return OwnCache(cached_bytes, "the tables' pages in shared_buffers, by pg_buffercache")

    def _await_end_of_sessions(self) -> None:
        """Waits until sessions' processes have ended: only then the statistics include their work. Citus keeps some
        open."""
        end = time.monotonic() + _SESSIONS_END_S
        for cluster in self.clusters():
            while self.sql(_SESSIONS, cluster) != "0" and time.monotonic() < end:
                time.sleep(0.02)

    def work(self) -> Sequence[Work]:
        """Returns checkpoints, from the logs."""
        return [work for cluster in self.clusters() for work in self._work(cluster)]

    def _work(self, cluster: Cluster) -> list[Work]:
        checkpoints, begin = [], None
        for line in lines_of(self.log_of(cluster.name)):
            parsed = _LINE.match(line)
            if not parsed:
                continue
            moment = datetime.strptime(parsed[1], "%Y-%m-%d %H:%M:%S.%f").replace(tzinfo=UTC)
            at = int(moment.timestamp() * 1e9)
            total = _TOTAL.search(parsed[3])
            if parsed[2] == "starting":
                begin = (at, parsed[3])
            elif begin:
                took = int(float(total[1]) * 1e9) if total else at - begin[0]
                detail = f"{cluster.name}: {begin[1]}" if self._workers else begin[1]
                checkpoints.append(Work("checkpoint", begin[0], took, detail))
                begin = None
        return checkpoints

    def ask_to_end(self) -> None:
        """Requests a fast shutdown, which disconnects clients and makes a checkpoint."""
        for process in self.processes:
            process.ask_to_end(signal.SIGINT)

    def sql(self, statement: str, cluster: Cluster | None = None, database: str = DATABASE) -> str:
        """Returns a statement's result, by default of the cluster that clients use. Raises NotReadyError."""
        port = cluster.port if cluster else self.ports["port"]
        argv = [
            _tool("psql"), "-h", LOOPBACK, "-p", str(port), "-U", USER, "-d", database, "-X", "-A", "-t",
            "-q", "-c", statement,
        ]  # fmt: skip
        try:
            done = subprocess.run(
                argv, capture_output=True, text=True, timeout=_ASK_S, check=False,
                env={**os.environ, "PGCONNECT_TIMEOUT": "5"},
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            raise NotReadyError(f"no answer within {_ASK_S:g} s to {statement}") from error
        if done.returncode:
            raise NotReadyError(" ".join(done.stderr.split()))
        return done.stdout.strip()


@cache
def _folder() -> Path | None:
    """Returns the folder of the programs: $EDGEJOULE_POSTGRES, else that of the newest installed version."""
    if named := os.environ.get(_NAMED):
        return Path(named)
    for base in (Path("/usr/lib/postgresql"), Path("/usr/pgsql")):
        versions = [p for p in base.glob("*/bin") if (p / "postgres").exists()]
        if versions:
            return max(versions, key=lambda p: int(re.sub(r"\D", "", p.parent.name) or 0))
    path = program("postgres")
    return Path(path).resolve().parent if path else None


def _tool(name: str) -> str:
    folder = _folder()
    return str(folder / name) if folder and (folder / name).exists() else name


def _has_citus() -> bool:
    """Checks for Citus's library in the folders of Debian and of PostgreSQL's own build."""
    folder = _folder()
    places = ("lib/citus.so", "lib/postgresql/citus.so")
    return folder is not None and any((folder.parent / place).exists() for place in places)


@cache
def _system_user() -> pwd.struct_passwd | None:
    try:
        return pwd.getpwnam(USER)
    except KeyError:
        return None


def _as_user(*more: str) -> list[str]:
    """Returns the argv prefix that runs a program as the user, who may pass through root's folders."""
    user = _system_user()
    if os.geteuid() != 0 or user is None:
        return []
    capability = "+dac_override"
    return [
        "setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups",
        f"--inh-caps={capability}", f"--ambient-caps={capability}", *more,
    ]  # fmt: skip


def _own(folder: Path) -> None:
    """Gives a copied database, which belongs to root, to the server's user."""
    folder.chmod(0o700)
    user = _system_user()
    if os.geteuid() != 0 or user is None:
        return
    for path in (folder, *folder.rglob("*")):
        os.chown(path, user.pw_uid, user.pw_gid, follow_symlinks=False)


@cache
def _version_of(path: str) -> str:
    output = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=10, check=False).stdout
    parsed = re.search(r"\) ([\d.]+)", output)
    return parsed[1] if parsed else ""


def _quoted(value: str) -> str:
    return value.replace("\\", "\\\\").replace("'", "''")
