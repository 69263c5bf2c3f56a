"""PostgreSQL: a cluster of its own below the folder. As root it runs as the user postgres, for it refuses root."""

from __future__ import annotations

import os
import pwd
import re
import signal
import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import ClassVar

from edgejoule.database_servers.options import Option, passed_through
from edgejoule.database_servers.server import (
    LOOPBACK,
    Found,
    Node,
    NotReadyError,
    Server,
    Settled,
    Work,
    lines_of,
    program,
)
from edgejoule.errors import DatabaseError

USER = "postgres"  # the role; as root the system's user too
DATABASE = "ycsb"
_INIT_S = 120.0
_ASK_S = 15.0
_LINE = re.compile(r"^(\d+-\d+-\d+ \d+:\d+:\d+\.\d+) UTC \[\d+\] LOG: +checkpoint (starting|complete): ?(.*)$")
_TOTAL = re.compile(r"total=([\d.]+) s")
_OPTIONS_TO_SETTINGS = ("shared_buffers", "synchronous_commit", "fsync", "max_wal_size", "checkpoint_timeout")


class Postgres(Server):
    """A postmaster with a process for every client."""

    name = "postgres"
    summary = "PostgreSQL: heap tables and B-trees with a write-ahead log, in processes of its own"
    options: ClassVar[Mapping[str, Option]] = {
        "shared_buffers": Option("memory for pages", "128MB"),
        "synchronous_commit": Option("off: acknowledged before it is synced", "on", ("on", "off", "local")),
        "fsync": Option("off: never synced; a crash may destroy the database", "on", ("on", "off")),
        "max_wal_size": Option("log after which a checkpoint is made", "1GB"),
        "checkpoint_timeout": Option("time after which a checkpoint is made", "5min"),
        "preset": Option("1gb-board: for a board with 1 GB of memory", "", ("", "1gb-board")),
    }
    presets: ClassVar[Mapping[str, Mapping[str, str]]] = {
        "1gb-board": {"shared_buffers": "128MB", "conf.work_mem": "2MB", "conf.maintenance_work_mem": "32MB"},
    }
    start_s = 60.0
    connection_options = ("host", "port", "user", "database")
    stop_s = 120.0  # it makes a checkpoint before it ends

    @classmethod
    def found(cls) -> Found:
        """By its program, and as root by the user it takes."""
        if _folder() is None:
            return Found(False, why="PostgreSQL is not installed", fix="make servers")
        if os.geteuid() == 0 and _system_user() is None:
            why = f"it refuses to run as root, and there is no system user {USER}"
            return Found(False, why=why, fix=f"useradd --system {USER}, or run as another user")
        return Found(True, _version_of(_tool("postgres")))

    def prepare(self) -> None:
        """An empty cluster the first time."""
        _own(self.data)
        if not (self.data / "PG_VERSION").exists():
            words = [
                _tool("initdb"), "-D", str(self.data), "-U", USER, "-A", "trust", "-E", "UTF8", "--locale=C",
                "--no-instructions",
            ]  # fmt: skip
            done = subprocess.run(
                [*_as_user(), *words], capture_output=True, text=True, timeout=_INIT_S, check=False, cwd="/"
            )
            self.log_of("initdb").write_text(done.stdout + done.stderr)
            if done.returncode:
                raise DatabaseError(f"postgres: initdb failed: {done.stderr.strip()[-400:]}")
        settings = {
            "listen_addresses": LOOPBACK, "port": str(self.ports["port"]), "unix_socket_directories": "",
            "log_line_prefix": "%m [%p] ", "log_timezone": "UTC", "log_checkpoints": "on", "logging_collector": "off",
            "log_destination": "stderr", "shared_preload_libraries": "", "max_connections": "256",
        }  # fmt: skip
        settings |= {name: self.settings[name] for name in _OPTIONS_TO_SETTINGS} | passed_through(self.settings)
        text = "".join(f"{name} = '{_quoted(value)}'\n" for name, value in settings.items())
        (self.folder / "postgresql.conf").write_text(text)

    def nodes(self) -> Sequence[Node]:
        """The postmaster."""
        files = [f"--config-file={self.folder / 'postgresql.conf'}", f"--hba-file={self.data / 'pg_hba.conf'}"]
        files += [f"--ident-file={self.data / 'pg_ident.conf'}"]
        ends = (
            [] if self.outlives else ["--pdeathsig=KILL"]
        )  # a change of the user cancels the one that was asked before
        return [Node("postgres", [*_as_user(*ends), _tool("postgres"), "-D", str(self.data), *files])]

    def ask_version(self) -> str:
        """It is ready when the database of the runs is there."""
        if self.sql(f"SELECT 1 FROM pg_database WHERE datname='{DATABASE}'", database=USER) != "1":
            self.sql(f"CREATE DATABASE {DATABASE}", database=USER)
        return self.sql("SHOW server_version").split(" ")[0]

    def connection(self) -> Mapping[str, object]:
        """Host, port, user and database."""
        return {"host": LOOPBACK, "port": self.ports["port"], "user": USER, "database": DATABASE}

    def settle(self) -> None:
        """A checkpoint."""
        self.sql("CHECKPOINT")

    def settled(self) -> Settled:
        """No vacuum under way, and everything written by the checkpoint that settle() asked for."""
        busy = self.sql("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'autovacuum worker'")
        if busy != "0":
            return Settled(False, f"{busy} autovacuum workers at work")
        return Settled(True, "CHECKPOINT returned; pg_stat_activity: no autovacuum worker")

    def operations(self) -> Mapping[str, int]:
        """Rows by what was done to them, as pg_stat_user_tables counts them."""
        columns = ("seq_scan", "idx_scan", "n_tup_ins", "n_tup_upd", "n_tup_del")
        told = self.sql(f"SELECT {', '.join(f'coalesce(sum({c}), 0)' for c in columns)} FROM pg_stat_user_tables")
        return {column: int(value) for column, value in zip(columns, told.split("|"), strict=True)}

    def work(self) -> Sequence[Work]:
        """Checkpoints, from its log."""
        found, begin = [], None
        for line in lines_of(self.log_of("postgres")):
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
                found.append(Work("checkpoint", begin[0], took, begin[1]))
                begin = None
        return found

    def ask_to_end(self) -> None:
        """Fast: clients are sent away, a checkpoint is made."""
        for process in self.processes:
            process.ask_to_end(signal.SIGINT)

    def sql(self, statement: str, database: str = DATABASE) -> str:
        """What a statement gives. Raises NotReadyError with its words."""
        words = [
            _tool("psql"), "-h", LOOPBACK, "-p", str(self.ports["port"]), "-U", USER, "-d", database, "-X", "-A", "-t",
            "-q", "-c", statement,
        ]  # fmt: skip
        try:
            done = subprocess.run(
                words, capture_output=True, text=True, timeout=_ASK_S, check=False,
                env={**os.environ, "PGCONNECT_TIMEOUT": "5"},
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            raise NotReadyError(f"no answer within {_ASK_S:g} s to {statement}") from error
        if done.returncode:
            raise NotReadyError(" ".join(done.stderr.split()))
        return done.stdout.strip()


@cache
def _folder() -> Path | None:
    """Of the newest installed version's programs."""
    for base in (Path("/usr/lib/postgresql"), Path("/usr/pgsql")):
        versions = [p for p in base.glob("*/bin") if (p / "postgres").exists()]
        if versions:
            return max(versions, key=lambda p: int(re.sub(r"\D", "", p.parent.name) or 0))
    found = program("postgres")
    return Path(found).resolve().parent if found else None


def _tool(name: str) -> str:
    folder = _folder()
    return str(folder / name) if folder and (folder / name).exists() else name


@cache
def _system_user() -> pwd.struct_passwd | None:
    try:
        return pwd.getpwnam(USER)
    except KeyError:
        return None


def _as_user(*more: str) -> list[str]:
    """Words that make a program of root one of the user, who may pass through root's folders to its own."""
    user = _system_user()
    if os.geteuid() != 0 or user is None:
        return []
    capability = "+dac_override"
    return [
        "setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups",
        f"--inh-caps={capability}", f"--ambient-caps={capability}", *more,
    ]  # fmt: skip


def _own(folder: Path) -> None:
    """A copied database is root's; the server wants its own."""
    folder.chmod(0o700)
    user = _system_user()
    if os.geteuid() != 0 or user is None:
        return
    for path in (folder, *folder.rglob("*")):
        os.chown(path, user.pw_uid, user.pw_gid, follow_symlinks=False)


@cache
def _version_of(path: str) -> str:
    told = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=10, check=False).stdout
    found = re.search(r"\) ([\d.]+)", told)
    return found[1] if found else ""


def _quoted(value: str) -> str:
    return value.replace("\\", "\\\\").replace("'", "''")
