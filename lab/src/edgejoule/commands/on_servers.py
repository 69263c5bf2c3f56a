"""Runs a command on several servers of a federation at once and joins the figures.

Each server has its own folder, seed and output. The joint run lasts from the first start to the last end. Its amounts
are sums, and its peak memory is the largest. The experiment states how a declared response is joined.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from typing import Any

from edgejoule.commands.client import CommandClient, CommandRun
from edgejoule.commands.outputs import LAST_LINES, last_lines
from edgejoule.commands.supervisor import Repetition
from edgejoule.errors import DatabaseError

Make = Callable[[str, Callable[[], object]], CommandClient]


def run_together(servers: Sequence[str], make: Make) -> CommandRun:
    """Runs a command on several servers at once. make: takes a server and a function that its client calls when ready
    and that returns when all are ready.

    Raises what the first client that failed raised; the others are then stopped.
    """
    assert len(servers) > 1
    all_ready = threading.Barrier(len(servers))
    clients = {server: make(server, all_ready.wait) for server in servers}
    with ThreadPoolExecutor(len(servers)) as pool:
        running = {server: pool.submit(_run_on, server, client) for server, client in clients.items()}
        try:
            ended, _ = wait_for(running.values(), return_when=FIRST_EXCEPTION)
            for each in ended:
                each.result()
        except BaseException:
            all_ready.abort()
            for client in clients.values():
                client.stop()
            raise
    return joined({server: each.result() for server, each in running.items()})


def _run_on(server: str, client: CommandClient) -> CommandRun:
    """Run the client. The message of a failure names the server."""
    try:
        return client.run()
    except DatabaseError as error:
        raise DatabaseError(f"on {server}: {error}") from error


def joined(parts: Mapping[str, CommandRun]) -> CommandRun:
    """Joins the runs on each server into one run, whose events name their server."""
    events = [{**event, "server": server} for server, part in parts.items() for event in part.events]
    longest = max(parts.values(), key=lambda part: part.repetitions[0].end_ns - part.repetitions[0].start_ns)
    return CommandRun(
        repetitions=[_repetition([part.repetitions[0] for part in parts.values()])],
        events=sorted(events, key=lambda event: int(event["monotonic_ns"])),
        text=_ends_of_outputs(parts),
        output_bytes=sum(part.output_bytes for part in parts.values()),
        storage=longest.storage,  # the servers share a device
        parts=parts,
    )


def _repetition(each: Sequence[Repetition]) -> Repetition:
    def total(name: str) -> Any:
        amounts = [getattr(one, name) for one in each]
        return None if None in amounts else sum(amounts)

    return Repetition(
        start_ns=min(one.start_ns for one in each),
        end_ns=max(one.end_ns for one in each),
        exit_code=next((one.exit_code for one in each if one.failure), each[0].exit_code),
        signal=None,
        rss_peak_bytes=max(one.rss_peak_bytes for one in each),
        **{name: total(name) for name in _AMOUNTS},
    )


_AMOUNTS = (
    "cpu_user_s", "cpu_system_s", "voluntary_switches", "involuntary_switches", "read_bytes", "write_bytes", "ended",
)  # fmt: skip


def _ends_of_outputs(parts: Mapping[str, CommandRun]) -> str:
    count = max(1, LAST_LINES // len(parts))
    return "\n".join(f"{server}: {line}" for server, part in parts.items() for line in last_lines(part.text)[-count:])
