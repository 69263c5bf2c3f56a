"""Complaints about an experiment's commands that pydantic cannot find."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from edgejoule.dictionary.properties import NETWORK, POLICY, Level
from edgejoule.dictionary.responses import RESPONSES, nearest
from edgejoule.experiment.command import (
    ALWAYS,
    DISCARD,
    NO_DATABASE,
    OF_A_FEDERATION,
    OF_THE_RUN,
    OWN_OF_THE_RUN,
    CommandWorkload,
    filled,
    placeholders,
    regex_complaint,
    shown,
)
from edgejoule.experiment.conditional import Complaint, cells_of, settings_of
from edgejoule.experiment.exclusions import Exclusion
from edgejoule.experiment.model import Spec
from edgejoule.experiment.settings import key_of

#: Settings that a run of a command takes without naming them in its texts.
TAKEN = (
    "database", "workload", "cache", "memory_limit_mb", "data_path", "filesystem", "filesystem_mb", "filesystem_device",
    "mkfs_options", "mount_options", "durability", "replication_factor",
)  # fmt: skip
_OF_FEDERATION = (POLICY, *NETWORK)
_OF_SERVERS = ("durability", "replication_factor")  # change nothing without a database
#: The declared response from which figures per operation follow.
OPERATIONS = "operations"


def placeholder_settings(spec: Spec) -> set[str]:
    """Returns the names that commands use as placeholders: a factor or fixed setting may have any of them."""
    return {name for command in spec.commands.values() for name in command.uses()} - {*OF_THE_RUN, "folder"}


def command_complaints(spec: Spec) -> Iterator[Complaint]:
    """Yields (dotted key, message) pairs for every command and declared response."""
    for name in spec.responses:
        yield from ((f"responses.{name}{key}", message) for key, message in _wrong_response(spec, name))
    for workload, command in spec.commands.items():
        yield from (_below(f"workloads.{workload}", *wrong) for wrong in _wrong_command(command))
        yield from _unknown_placeholders(spec, workload, command)
        yield from _servers_of_command(spec, workload, command)
    for table, names in (("factors", spec.factors), ("fixed", spec.fixed)):
        for name in names:
            if spec.commands and name in (*OF_THE_RUN, "folder"):
                yield f"{table}.{name}", f"{{{name}}} is filled in by the run; give the setting another name"


def command_design_complaints(spec: Spec) -> Iterator[Complaint]:
    """Yields conflicts with a command in a cell: other databases, settings that it does not take, the design."""
    if not spec.commands:
        yield from _none_without_command(spec)
        return
    if spec.design.load != "run":
        command = next(iter(spec.commands))
        why = 'every run of a command starts from its own copy of the data; set load = "run"'
        yield "design.load", Exclusion(f"workloads.{command}.command", why)
    for cell in cells_of(spec.factors):
        in_force = {**spec.fixed, **settings_of(spec.when, cell), **cell}
        yield from _wrong_cell(spec, in_force)
    yield from _setups_in_turn(spec)


def _below(table: str, key: str, message: str) -> Complaint:
    """Returns a complaint on keys of a table with their dotted keys."""
    if isinstance(message, Exclusion):
        message = Exclusion(f"{table}.{message.other}", message.why)
    return f"{table}.{key}", message


def _wrong_response(spec: Spec, name: str) -> Iterator[tuple[str, str]]:
    if name in RESPONSES:
        yield "", "is a response of every run already; give it another name"
    if not spec.commands:
        yield "", "no workload of this experiment is a command, and only commands print figures"
    if wrong := spec.responses[name].complaint():
        yield wrong
    for workload, command in spec.commands.items():
        if command.output == DISCARD:
            why = 'no figure can be read from an output that is discarded; remove output = "discard"'
            yield "", Exclusion(f"workloads.{workload}.output", why)


def _wrong_command(command: CommandWorkload) -> Iterator[tuple[str, str]]:
    commands = {key: getattr(command, key) for key in ("command", "load", "setup", "cleanup", "prepare", "conclude")}
    if command.shell is not None and not any(isinstance(w, str) for w in commands.values()):
        yield (
            "shell",
            Exclusion("command", "a list is run without a shell; remove shell, or write the command as a text"),
        )
    for key, value in commands.items():
        if isinstance(value, list) and not value[0]:
            yield key, "expected the program first, got an empty text"
    if command.phase is not None:
        if wrong := regex_complaint(command.phase, groups=0):
            yield "phase", wrong
        if command.output is not None:
            yield "output", Exclusion("phase", "phases are read from the output; remove output to have phases")
    yield from _wrong_servers(command)
    for name in command.env:
        if not name or "=" in name:
            yield f"env.{name}", "expected the name of an environment variable"


def _wrong_servers(command: CommandWorkload) -> Iterator[tuple[str, str]]:
    """Yields conflicts with the use of several servers, whichever these are."""
    if len(set(command.servers)) < len(command.servers):
        yield "servers", "names a server twice"
    if len(command.servers) > 1:
        for key in ("phase", "output"):
            if getattr(command, key) not in (None, DISCARD):
                yield (
                    key,
                    Exclusion("servers", f"{key} is of one command on one server; remove {key}, or name one server"),
                )
    for server, values in command.per_server.items():
        if server not in command.servers:
            yield f"per_server.{server}", "the command does not run there; name the server under servers"
        for name in values:
            if name not in command.uses():
                yield f"per_server.{server}.{name}", f"changes nothing: the command does not contain {{{name}}}"
            elif name in OWN_OF_THE_RUN:
                yield f"per_server.{server}.{name}", f"{{{name}}} is filled in by the run"


def _servers_of_command(spec: Spec, workload: str, command: CommandWorkload) -> Iterator[Complaint]:
    """Yields servers that the federation does not have, or that cannot run a command."""
    if command.servers and not spec.servers:
        yield f"workloads.{workload}.servers", "there is no federation: describe its servers, [servers.NAME]"
        return
    for name in command.servers:
        if name not in spec.servers:
            yield f"workloads.{workload}.servers", f"{name!r}: no server is named so; {nearest(name, spec.servers)}"
    if spec.federation and command.servers not in ([], list(spec.servers)[:1]):
        why = "with [federation] the servers are separate machines, and a command runs on this one; name the first"
        yield f"workloads.{workload}.servers", Exclusion("federation", why)
    if len(command.servers) > 1 and spec.meter.run_s_min != 0:
        why = (
            "a command on several servers is not repeated where it is short for a meter; set run_s_min = 0, and let it "
        )
        yield f"workloads.{workload}.servers", Exclusion("meter.run_s_min", why + "run long enough")


def _unknown_placeholders(spec: Spec, workload: str, command: CommandWorkload) -> Iterator[Complaint]:
    rules = [name for rule in spec.when for name in rule.set]
    known = {*ALWAYS, *spec.factors, *spec.fixed, *rules}
    for key, text in command.texts():
        for name in placeholders(text):
            if name not in known:
                hint = nearest(name, known)
                yield (
                    f"workloads.{workload}.{key}",
                    f"{{{name}}} is neither filled in by a run nor a factor or fixed setting; {hint} "
                    f"(write {{{{{name}}}}} for these characters)",
                )
            elif key in ("setup", "cleanup") and name in OF_THE_RUN:
                yield f"workloads.{workload}.{key}", f"{{{name}}} belongs to one run, and {key} is for all of them"
            elif key == "load" and name == "block_seed":
                yield f"workloads.{workload}.{key}", "{block_seed} belongs to one block, and a load is for all of them"
            elif name in OF_A_FEDERATION and not spec.servers:
                yield f"workloads.{workload}.{key}", f"{{{name}}} is of a federation, and there is no [servers.NAME]"


def loaded_servers(spec: Spec) -> list[str]:
    """Returns the servers of commands that run on several at once, in the experiment's order."""
    of_several = {name for command in spec.commands.values() if len(command.servers) > 1 for name in command.servers}
    return [name for name in spec.servers if name in of_several]


def _none_without_command(spec: Spec) -> Iterator[Complaint]:
    for table, levels in (("factors", spec.factors.get("database", [])), ("fixed", [spec.fixed.get("database")])):
        if NO_DATABASE in levels:
            yield f"{table}.database", f'"{NO_DATABASE}" is for commands; give the workload a command'


def _wrong_cell(spec: Spec, in_force: Mapping[str, Level]) -> Iterator[Complaint]:
    workload, database = str(in_force.get("workload")), in_force.get("database")
    command = spec.commands.get(workload)
    if command is None:
        if database == NO_DATABASE:
            yield "workloads", f'workload {workload!r} is no command, and needs a database other than "{NO_DATABASE}"'
        return
    uses = command.uses()
    for name in in_force:
        if name in _OF_FEDERATION and spec.servers:
            continue
        if "." in name and name not in _OF_FEDERATION and name not in uses:
            continue  # an option of the database: check_plan knows which there are
        of_none = database == NO_DATABASE and name in _OF_SERVERS
        if (of_none or name not in TAKEN) and name not in uses:
            table = "factors" if name in spec.factors else "fixed" if name in spec.fixed else "when"
            yield (
                f"{table}.{name}",
                f"changes nothing for workload {workload!r}: its command does not contain {{{name}}}; give the "
                "setting by [[when]] to those that have it",
            )
    if database == NO_DATABASE and uses & {"host", "port"}:
        why = '{host} and {port} need a database server, and database is "none"; name a server'
        yield f"workloads.{workload}", Exclusion(key_of(spec, "database", in_force), why)
    if in_force.get("cache") == "cold" and command.warmup:
        why = 'the warm-up would fill the cold cache; set warmup = 0 to keep it cold, or cache = "warm"'
        yield f"workloads.{workload}.warmup", Exclusion(key_of(spec, "cache", in_force), why)


def _setups_in_turn(spec: Spec) -> Iterator[Complaint]:
    """Yields designs in which setups would overlap: each is in force from its first run to its last."""
    seen: dict[tuple[str, str], str] = {}
    for cell in cells_of(spec.factors):
        in_force = {**spec.fixed, **settings_of(spec.when, cell), **cell}
        workload = str(in_force.get("workload"))
        if (command := spec.commands.get(workload)) is not None:
            pair = tuple(filled(shown(line or ""), in_force) for line in (command.setup, command.cleanup))
            seen.setdefault((pair[0], pair[1]), workload)
    if len(seen) > 1 and spec.design.order != "one-after-another":
        last = list(seen.values())[-1]
        key = "setup" if spec.commands[last].setup else "cleanup"
        if spec.commands[last].setup is None and spec.commands[last].cleanup is None:
            last = next(w for w in seen.values() if spec.commands[w].setup or spec.commands[w].cleanup)
            key = "setup" if spec.commands[last].setup else "cleanup"
        why = 'differs between cells; set order = "one-after-another", so that each cell has its own'
        yield f"workloads.{last}.{key}", Exclusion("design.order", why)
