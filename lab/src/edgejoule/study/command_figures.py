"""Converts what a command did in a run into the run's responses. A run of a command has no operations and no latencies.

If the command was repeated, amounts are per repetition. The cost of starting the shell is subtracted: its time and CPU
time as measured, its energy as the run's energy times the start's share of the run's time.
"""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from edgejoule.commands.client import CommandRun
from edgejoule.commands.outputs import figures, last_lines
from edgejoule.commands.phases import phase_flags
from edgejoule.commands.shells import NOTHING, ShellStart, shell_of
from edgejoule.databases.driver import Event
from edgejoule.databases.system_under_test import system_of
from edgejoule.dictionary.responses import PER_LOADED_SERVER
from edgejoule.eco.federation.decisions import AT_HOME, DECISION, INSTALLED
from edgejoule.errors import DatabaseError
from edgejoule.experiment.command import DeclaredResponse
from edgejoule.experiment.command_complaints import OPERATIONS
from edgejoule.store import Intervals, ResponseValue, Run
from edgejoule.study.run_energy import RunEnergies, only_whole, response

if TYPE_CHECKING:
    from edgejoule.experiment.plan import PlannedRun

_OF_SERVERS = ("energy_active_j", "energy_debt_j", "power_quiet_w", "energy_net_quiet_j")
_WITH_SHELL_START = ("energy_j", "energy_active_j", "energy_net_j", "energy_net_quiet_j", "energy_per_op_uj")


@dataclass(frozen=True)
class CommandFigures:
    """The figures of a command's run other than its energies."""

    responses: list[ResponseValue]
    flags: list[str]
    facts: dict[str, Any]


def printed_figures(ran: CommandRun, declared: Mapping[str, DeclaredResponse]) -> dict[str, float]:
    """Returns the declared responses, each per repetition. Raises DatabaseError if the output lacks one."""
    if ran.parts:
        return _printed_on_servers(ran.parts, declared)
    printed = figures(ran.text, declared, len(ran.repetitions))
    if OPERATIONS in printed and not printed[OPERATIONS] > 0:
        raise DatabaseError(f"response {OPERATIONS}: expected a number above 0, got {printed[OPERATIONS]:g}")
    return printed


def _printed_on_servers(parts: Mapping[str, CommandRun], declared: Mapping[str, DeclaredResponse]) -> dict[str, float]:
    """Joins each response over the servers as the response declares, and adds each server's own value."""
    of_servers: dict[str, dict[str, float]] = {}
    for server, part in parts.items():
        try:
            of_servers[server] = printed_figures(part, declared)
        except DatabaseError as error:
            raise DatabaseError(f"on {server}: {error}") from error
    joined = {
        name: _JOINED[one.of_servers or ("sum" if name == OPERATIONS else "mean")](
            [own[name] for own in of_servers.values()]
        )
        for name, one in declared.items()
    }
    return joined | {f"{name}@{server}": v for server, own in of_servers.items() for name, v in own.items()}


_JOINED: dict[str, Callable[[list[float]], float]] = {"mean": statistics.fmean, "sum": sum, "max": max}


def command_energies(
    energies: RunEnergies, repetitions: int, shell_share: float, *, served: bool, operations: bool
) -> list[ResponseValue]:
    """Returns the energies that a command has, per repetition and without its shell's start."""
    absent = {*(() if served else _OF_SERVERS), *(() if operations else ("energy_per_op_uj",))}
    kept = [only_whole(r, repetitions) if repetitions > 1 else r for r in energies.responses if _base(r) not in absent]
    return [without_shell(r, shell_share) for r in kept]


def _base(joules: ResponseValue) -> str:
    """Returns the response's name without the server of a federation."""
    return joules.name.partition("@")[0]


def without_shell(joules: ResponseValue, shell_share: float) -> ResponseValue:
    """Returns a run's response without the energy of its shell's start."""
    if joules.value is None or not shell_share or _base(joules) not in _WITH_SHELL_START:
        return joules
    factor = 1 - shell_share
    spread = None if joules.uncertainty_k2 is None else joules.uncertainty_k2 * abs(factor)
    return dataclasses.replace(joules, value=joules.value * factor, uncertainty_k2=spread)


def shell_share_of(run: Run) -> float:
    """Returns the shell start's share of a stored run's time, 0..1; 0 for a run without a shell."""
    if (shell := run.facts.get("shell")) is None or (active_s := run.value("active_s")) is None:
        return 0.0
    return float(shell["start_s"] / (active_s + shell["start_s"]))


def shell_of_run(planned: PlannedRun, starts: Mapping[str, ShellStart]) -> ShellStart:
    """Returns the cost of starting the run's shell; a zero cost for a command without a shell."""
    assert planned.command is not None
    shell = shell_of(planned.command)
    return NOTHING if shell is None else starts[shell]


def shell_share(ran: CommandRun, start: ShellStart) -> float:
    """Returns the shell start's share of a repetition's time. It exceeds 1 for a command shorter than that start."""
    return start.start_s / _active_s(ran)


def _shorter_than_shell(ran: CommandRun, start: ShellStart) -> str | None:
    """Returns a flag if the command takes no longer than its shell's start, else None."""
    each_s = _active_s(ran)
    if each_s > start.start_s:
        return None
    return f"the command takes {each_s * 1e3:.2g} ms, no longer than its shell's start ({start.start_s * 1e3:.2g} ms)"


def command_figures(
    planned: PlannedRun,
    ran: CommandRun,
    intervals: Intervals,
    start: ShellStart,
    printed: Mapping[str, float],
    declared: Mapping[str, DeclaredResponse],
) -> CommandFigures:
    """Returns all figures except the energies, per repetition."""
    assert planned.command is not None
    count = len(ran.repetitions)
    settling_s = (intervals.settled_end_ns - intervals.active_end_ns) / 1e9
    values: dict[str, float | None] = {
        "active_s": _active_s(ran) - start.start_s,
        "settled_s": _active_s(ran) - start.start_s + settling_s / count,
        "cpu_s": cpu_seconds(ran, start),
        "context_switches": sum(r.voluntary_switches + r.involuntary_switches for r in ran.repetitions) / count,
        "rss_peak_mb": max(r.rss_peak_bytes for r in ran.repetitions) / 1e6,
        "device_read_bytes": _each(ran.storage.read_bytes, count),
        "device_write_bytes": _each(ran.storage.write_bytes, count),
    }
    if ran.served is None:  # the client's bytes are not those of the server that stores them
        values["process_read_bytes"] = _total([r.read_bytes for r in ran.repetitions], count)
        values["process_write_bytes"] = _total([r.write_bytes for r in ran.repetitions], count)
    elif ran.served.rss_peak_bytes is not None:
        values["server_rss_peak_mb"] = ran.served.rss_peak_bytes / 1e6
    if (operations := printed.get(OPERATIONS)) is not None:
        if short := _shorter_than_shell(ran, start):
            raise DatabaseError(f"{short}, so it has no operations per second; give it as a list, which needs no shell")
        active_s, cpu_s = values["active_s"], values["cpu_s"]
        assert active_s is not None
        values["throughput_ops_s"] = operations / active_s
        values["cpu_us_per_op"] = None if cpu_s is None else cpu_s * 1e6 / operations
        for name in ("process_write_bytes", "device_write_bytes"):
            if name in values:
                values[f"{name}_per_op"] = None if (written := values[name]) is None else written / operations
    own = [
        ResponseValue(name, value, declared[name.partition("@")[0]].unit, "timed") for name, value in printed.items()
    ]
    of_servers = [
        (server, command_figures(planned, part, intervals, start, _of_server(printed, server), declared))
        for server, part in ran.parts.items()
    ]
    return CommandFigures(
        [*(response(name, value) for name, value in values.items()), *own, *_per_server(of_servers)],
        [f"on {server}: {flag}" for server, of in of_servers for flag in of.flags] if ran.parts else _flags(ran, start),
        _facts(planned, ran, start),
    )


def _of_server(printed: Mapping[str, float], server: str) -> dict[str, float]:
    """Returns the figures that the command printed on one server and that other figures are computed from."""
    name = f"{OPERATIONS}@{server}"
    return {OPERATIONS: printed[name]} if name in printed else {}


def _per_server(of_servers: Sequence[tuple[str, CommandFigures]]) -> list[ResponseValue]:
    return [
        dataclasses.replace(one, name=f"{one.name}@{server}")
        for server, energies in of_servers
        for one in energies.responses
        if one.name in PER_LOADED_SERVER
    ]


def _active_s(ran: CommandRun) -> float:
    """Returns the mean time from exec to exit over the repetitions, in s."""
    return sum(r.end_ns - r.start_ns for r in ran.repetitions) / 1e9 / len(ran.repetitions)


def cpu_seconds(ran: CommandRun, start: ShellStart) -> float | None:
    """Returns the CPU seconds of the process tree plus those of the server that the study started for it.

    The result may be below 0 if a command takes less time than the shell's start varies. It is not clamped, because the
    mean of clamped runs would be too high.
    """
    tree_s = sum(r.cpu_user_s + r.cpu_system_s for r in ran.repetitions) / len(ran.repetitions)
    server = ran.served
    if server is not None and server.cpu_s is None:
        return None
    shells = len(ran.parts) or 1  # a command on several servers starts a shell on each
    return round(tree_s - shells * start.cpu_s, 9) + (server.cpu_s or 0.0 if server else 0.0)


def _each(amount: int | None, count: int) -> float | None:
    return None if amount is None else amount / count


def _total(parts: Sequence[int | None], count: int) -> float | None:
    known = [part for part in parts if part is not None]
    return sum(known) / count if len(known) == len(parts) else None


def _flags(ran: CommandRun, start: ShellStart) -> list[str]:
    flags, count = phase_flags(ran.repetitions), len(ran.repetitions)
    if codes := [r.exit_code for r in ran.repetitions if r.failure]:
        which = f"{len(codes)} of {count} repetitions ended" if count > 1 else "the command ended"
        flags.append(f"{which} with exit code {', '.join(map(str, sorted(set(map(int, filter(None, codes))))))}")
    if ended := sum(r.ended for r in ran.repetitions):
        still = "process of the command still ran at its end and was ended"
        if ended > 1:
            still = "processes of the command still ran at its end and were ended"
        flags.append(f"{ended} {still}")
    if short := _shorter_than_shell(ran, start):
        flags.append(short)
    return flags


def _facts(planned: PlannedRun, ran: CommandRun, start: ShellStart) -> dict[str, Any]:
    assert planned.command is not None
    facts: dict[str, Any] = {
        "command": planned.command.identity(),
        "output": {"bytes": ran.output_bytes, "last_lines": last_lines(ran.text)},
    }
    if len(ran.repetitions) > 1:
        facts["repetitions"] = len(ran.repetitions)
    if (shell := shell_of(planned.command)) is not None:
        facts["shell"] = {"shell": shell, "start_s": start.start_s, "cpu_s": start.cpu_s}
    return facts


def remote_responses(events: Sequence[Event], repetitions: int, on: Collection[str]) -> list[ResponseValue]:
    """Returns what other servers did for a command, from the decisions of its federation. on: the servers that the
    command ran on, if several.
    """
    decided = [e for e in events if e["event"] == DECISION and e["outcome"]]
    result = []
    for server in ("", *on):
        own = [(e["outcome"], e["moved_bytes"]) for e in decided if not server or e["home"] == server]
        values = {
            "remote_compactions": sum(outcome == INSTALLED for outcome, _ in own),
            "remote_fallbacks": sum(outcome not in (INSTALLED, AT_HOME) for outcome, _ in own),
            "remote_moved_bytes": sum(moved for _, moved in own),
        }
        of = f"@{server}" if server else ""
        result += [response(f"{name}{of}", value / repetitions) for name, value in values.items()]
    return result


def database_of_command(planned: PlannedRun, server: Mapping[str, Any]) -> dict[str, Any] | None:
    """Returns the run record's facts about the command's database, or None if it has none."""
    if not system_of(planned).opens_database:
        return None
    return {
        "name": planned.adapter, "version": server.get("version", ""),
        "options": dict(server.get("settings", {})), "path": "",
    }  # fmt: skip


def durability_of_command(planned: PlannedRun, ran: CommandRun) -> dict[str, Any] | None:
    """Returns the durability that the server of a command provides, or None without a server."""
    if not ran.durability:
        return None
    asked = {} if planned.durability_asked else {"asked": False}
    return {"class": planned.durability or "not asked for", "how": ran.durability, **asked}
