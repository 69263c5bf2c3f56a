"""`edgejoule databases`: what can be driven here, for the rest what to install; servers started and stopped by hand."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from edgejoule.cli.common import Commands, console, echo_json, json_option, messages
from edgejoule.errors import StoreError, UsageError
from edgejoule.output_files import check_output, whole_file
from edgejoule.unusable_files import reason

if TYPE_CHECKING:
    from edgejoule.database_servers import DatabaseServer
    from edgejoule.databases.driver import Adapter

_FOLDER = Path("results/servers")


class _Databases(Commands):
    """What is no command is the name of a database."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolves `databases sqlite` as `databases options sqlite`."""
        if args and args[0] not in self.commands and not args[0].startswith("-"):
            return "options", self.commands["options"], args
        return super().resolve_command(ctx, args)


folder_option = click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    default=_FOLDER,
    show_default=True,
    help="The folder of the servers' files, with a folder for each server.",
)
name_argument = click.argument("name", metavar="NAME")


@click.group(
    cls=_Databases,
    invoke_without_command=True,
    epilog="""\b
    Examples:
      edgejoule databases                          versions; why some are missing
      edgejoule databases sqlite                   the options of one
      edgejoule databases start redis --set persistence=aof-always
      edgejoule databases start cassandra --set nodes=3 --set preset=1gb-board
      edgejoule databases status
      edgejoule databases snapshot redis loaded    stop, copy, start
      edgejoule databases restore redis loaded     stop, replace the data, start
      edgejoule databases stop redis""",
)
@json_option
@click.pass_context
def databases(ctx: click.Context, as_json: bool) -> None:
    """List the usable databases; start and stop servers.

    `edgejoule run` starts a server for each run, with the options of the experiment. Start a server yourself to inspect
    it or to use it with another program.
    """
    if ctx.invoked_subcommand is not None:
        return
    from edgejoule.cli.layout import print_rows

    known = list(adapters().values())
    if as_json:
        echo_json([_json(a) for a in known])
        return
    print_rows(console(), ("database", "version", "here", "what it is"), [_row(a) for a in known])


@databases.command(
    epilog="""\b
    Example:
      edgejoule databases options redis
      edgejoule databases mongodb --record mongodb.json"""
)
@name_argument
@click.option(
    "--record",
    "record_file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Record what a MongoDB answers and which settings it takes, without host or password, to test edgejoule.",
)
@click.option(
    "--uri",
    metavar="URI",
    help="With --record: a server of yours, instead of one that is started. Default: $EDGEJOULE_MONGODB_URI.",
)
@json_option
def options(name: str, record_file: Path | None, uri: str | None, as_json: bool) -> None:
    """List the options of a database, or record a MongoDB.

    `edgejoule databases NAME` does the same.
    """
    if record_file is not None or uri is not None:
        if name != "mongodb" or record_file is None or as_json:
            raise UsageError(f"expected: edgejoule databases mongodb --record FILE [--uri URI], got {name}")
        _record_mongodb(record_file, uri)
        return
    from edgejoule.cli.layout import print_rows
    from edgejoule.database_servers import SERVERS
    from edgejoule.databases.system_under_test import may_be_external
    from edgejoule.dictionary.responses import nearest

    known = adapters()
    if name not in known:
        raise UsageError(f"{name!r} is no database; {nearest(name, known)}")
    chosen = known[name]
    if as_json:
        echo_json([_json(chosen)])
        return
    rows = [(f"{name}.{option}", default, meaning) for option, (meaning, default) in chosen.options.items()]
    print_rows(console(), ("option", "default", "meaning"), rows)
    if name in SERVERS:
        console().print(f"{name}.conf.NAME sets NAME in the server's own configuration.", markup=False)
    if may_be_external(name):
        console().print(
            f"{name}.host and {name}.port name a server that you run: the study then works on it, and starts none.",
            markup=False,
        )


def _record_mongodb(file: Path, uri: str | None) -> None:
    """Writes the record, and prints in which points the server differs from the documentation."""
    from edgejoule.database_servers import mongodb_record

    check_output("--record", file)
    if uri := uri or mongodb_record.given_uri():
        record = mongodb_record.record_given(uri)
    else:
        with TemporaryDirectory(prefix="edgejoule-mongodb-") as folder:
            record = mongodb_record.record_started(Path(folder), lambda line: messages().print(line, markup=False))
    try:
        with whole_file(file) as opened:
            opened.write(f"{json.dumps(record, indent=1)}\n".encode())
    except OSError as error:
        raise StoreError(f"{file}: cannot be written: {reason(error, file)}") from error
    tried = record["options"] or ()
    accepted = sum(1 for one in tried if one["accepted"])
    lines = [
        f"mongodb {record['server']}: {len(record['answers'])} answers; of {len(tried)} settings {accepted} accepted",
        *(f"differs: {line}" for line in mongodb_record.differences(record)),
        f"written to {file}, without host, user and password",
    ]
    for line in lines:
        console().print(line, markup=False)


def adapters() -> Mapping[str, Adapter]:
    """Returns the databases that the driver supports, by name."""
    from edgejoule.databases import driver

    return driver.adapters()


def _row(a: Adapter) -> tuple[str, str, str, str]:
    """Returns name, version, whether it can be used here, and what it is or what to install."""
    summary = a.summary if a.available else f"{a.summary}; {a.fix}" if a.summary else a.fix
    return a.name, a.version or "", "yes" if a.available else "no", summary or ""


def _json(a: Adapter) -> dict[str, Any]:
    return {
        "name": a.name, "available": a.available, "version": a.version, "summary": a.summary, "fix": a.fix,
        "options": {o: {"meaning": m, "default": d} for o, (m, d) in a.options.items()},
    }  # fmt: skip


@databases.command(
    epilog="""\b
    Examples:
      edgejoule databases start redis --set persistence=aof-always
      edgejoule databases start postgres --set conf.work_mem=2MB"""
)
@name_argument
@click.option(
    "--set", "settings", multiple=True, metavar="OPTION=VALUE", help="An option of the server; may be repeated."
)
@folder_option
@json_option
def start(name: str, settings: Sequence[str], folder: Path, as_json: bool) -> None:
    """Start a server with its data below --folder.

    The server listens on loopback, on a free port, until you stop it. A server that a killed program left running below
    --folder is stopped first. The data stay for the next start.
    """
    from edgejoule.database_servers.record import remove_leftovers

    kind = _kind(name)
    remove_leftovers(folder)
    server = kind(folder / name, _parsed(settings), outlives=True).start()
    _report(server, as_json)


@databases.command(
    epilog="""\b
    Example:
      edgejoule databases stop redis"""
)
@name_argument
@folder_option
def stop(name: str, folder: Path) -> None:
    """Stop a server; its data stay."""
    server = _running(name, folder)
    console().print(f"{name}: {server.stop()}", markup=False)


@databases.command(
    epilog="""\b
    Example:
      edgejoule databases status"""
)
@folder_option
@json_option
def status(folder: Path, as_json: bool) -> None:
    """List the running servers below --folder and their state."""
    from edgejoule.cli.layout import print_rows

    states = [_state(server) for server in _all_running(folder)]
    if as_json:
        echo_json(states)
        return
    if not states:
        console().print(f"no server runs below {folder}", markup=False)
        return
    columns = {
        "server": "server", "version": "version", "connection": "connection", "pids": "pid", "cpu_s": "CPU s",
        "rss_mb": "memory MB", "settled": "settled",
    }  # fmt: skip
    print_rows(console(), list(columns.values()), [[_text(line[key]) for key in columns] for line in states])


@databases.command(
    epilog="""\b
    Example:
      edgejoule databases snapshot redis loaded"""
)
@name_argument
@click.argument("target", type=click.Path(path_type=Path, file_okay=False))
@folder_option
def snapshot(name: str, target: Path, folder: Path) -> None:
    """Copy the data of a server to the folder TARGET.

    The server is stopped for the copy and then restarted.
    """
    from edgejoule.database_servers import snapshots

    server = _running(name, folder)
    if target.exists():
        snapshots.about_of(target)  # refuse a folder that is no snapshot before the server is stopped
    again = _same(server)
    server.stop()
    try:
        snapshots.keep(server, target)
    finally:
        again.start()
    console().print(f"copied to {target}; `edgejoule databases restore {name} {target}` restores it", markup=False)
    _report(again, as_json=False)


@databases.command(
    epilog="""\b
    Example:
      edgejoule databases restore redis loaded"""
)
@name_argument
@click.argument("source", type=click.Path(path_type=Path, file_okay=False, exists=True))
@folder_option
def restore(name: str, source: Path, folder: Path) -> None:
    """Replace the data of a server with a snapshot.

    SOURCE is a folder that `edgejoule databases snapshot` made. The server is stopped for it and then restarted.
    """
    from edgejoule.database_servers import snapshots

    server = _running(name, folder)
    snapshots.check(server, source)
    again = _same(server)
    server.stop()
    try:
        snapshots.put_back(again, source)
    finally:
        again.start()
    _report(again, as_json=False)


def _kind(name: str) -> type[DatabaseServer]:
    from edgejoule.database_servers import SERVERS
    from edgejoule.dictionary.responses import nearest

    if name not in SERVERS:
        raise UsageError(f"{name!r} is no server; {nearest(name, SERVERS)}")
    return SERVERS[name]


def _parsed(settings: Sequence[str]) -> dict[str, str]:
    options = {}
    for word in settings:
        key, sep, value = word.partition("=")
        if not sep or not key:
            raise UsageError(f"--set {word}: expected OPTION=VALUE, for example --set persistence=none")
        options[key] = value
    return options


def _running(name: str, folder: Path) -> DatabaseServer:
    from edgejoule.database_servers.record import Record

    record = Record.read(folder / name)
    if record is None or not any(p.runs() for p in record.processes):
        raise UsageError(f"no {name} server runs in {folder / name}; `edgejoule databases status` lists those that do")
    return _kind(record.server).attach(folder / name, record)


def _all_running(folder: Path) -> list[DatabaseServer]:
    from edgejoule.database_servers import SERVERS
    from edgejoule.database_servers.record import FILE, Record

    servers = []
    for file in sorted(folder.glob(f"*/{FILE}")):
        record = Record.read(file.parent)
        if record and record.server in SERVERS and any(p.runs() for p in record.processes):
            servers.append(SERVERS[record.server].attach(file.parent, record))
    return servers


def _same(server: DatabaseServer) -> DatabaseServer:
    """Returns a new object for the same server, to start it with the same settings."""
    return type(server)(server.folder, {k: v for k, v in server.settings.items() if v != ""}, outlives=True)


def _state(server: DatabaseServer) -> dict[str, Any]:
    usage = server.usage()
    return {
        "server": server.name,
        "version": server.version,
        "folder": str(server.folder),
        "connection": dict(server.connection()),
        "settings": dict(server.settings),
        "pids": [process.pid for process in server.processes],
        "cpu_s": round(usage.cpu_s, 3),
        "rss_mb": round(usage.rss_bytes / 1e6, 1),
        "settled": server.trouble() or server.await_settled(0).how,
    }


def _text(value: object) -> str:
    if isinstance(value, dict):
        return " ".join(f"{key}={one}" for key, one in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _report(server: DatabaseServer, as_json: bool) -> None:
    if as_json:
        echo_json(_state(server))
        return
    connection = " ".join(f"{server.name}.{name}={value}" for name, value in server.connection().items())
    console().print(f"{server.name} {server.version} runs: {connection}", markup=False)
    console().print(f"log: {server.log_of(server.processes[0].name)}", markup=False)
