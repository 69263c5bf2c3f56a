"""CPU load at given times: one process per CPU, each compressing small blocks.

The processes are this interpreter's, with the standard library alone. They end with their owner: closed input ends
them, at the latest when the job under way is over.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from edgejoule.errors import EdgejouleError

PERIOD_NS = 20_000_000  # of a partial load: short against every meter's interval, long against a step of work
_WORKER = Path(__file__).with_name("burner_worker.py")


class LoadError(EdgejouleError):
    """The load could not be generated: a process ended or sent an unexpected message."""


class Burners:
    """Processes that wait for jobs; usable as a context manager. count: how many, usually the number of CPUs."""

    def __init__(self, count: int) -> None:
        assert count >= 1, "a load has a process"
        self._processes = [_started() for _ in range(count)]

    def share(self, workers: int, share: float, begin_ns: int, end_ns: int) -> None:
        """So many processes are busy for a share of the time, from begin to end; returns at once. collect() waits."""
        assert 0 < share <= 1, "a share of the time"
        for number, process in enumerate(self._processes[:workers]):
            phase_ns = PERIOD_NS * number // workers  # not all at the same moment
            job = {"begin_ns": begin_ns + phase_ns, "end_ns": end_ns, "period_ns": PERIOD_NS, "share": share}
            _send(process, job)

    def intervals(self, intervals_ns: Sequence[tuple[int, int]]) -> None:
        """Makes all processes busy in these intervals; returns at once. collect() returns the actual intervals."""
        for process in self._processes:
            _send(process, {"intervals_ns": list(intervals_ns)})

    def collect(self, workers: int | None = None) -> list[list[tuple[int, int]]]:
        """Wait for the job of the first `workers` (None: all): per process the intervals in which it worked."""
        return [_heard(process) for process in self._processes[:workers]]

    def close(self) -> None:
        """End the processes, also in the middle of a job. May be called twice."""
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    with contextlib.suppress(OSError):  # unsent messages of a process that has ended
                        stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _started() -> subprocess.Popen[str]:
    # -S: no site packages, a quicker start; its own session: the owner handles Ctrl-C
    command = [sys.executable, "-I", "-S", str(_WORKER)]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, start_new_session=True
    )


def _send(process: subprocess.Popen[str], job: Mapping[str, Any]) -> None:
    assert process.stdin is not None, "opened with a pipe"
    try:
        process.stdin.write(json.dumps(job) + "\n")
    except (OSError, ValueError) as error:  # ValueError: closed on our side
        raise LoadError(f"a process that makes CPU load has ended: {error}") from error


def _heard(process: subprocess.Popen[str]) -> list[tuple[int, int]]:
    assert process.stdout is not None, "opened with a pipe"
    line = process.stdout.readline()
    try:
        return [(int(first), int(last)) for first, last in json.loads(line)["busy_ns"]]
    except (ValueError, KeyError, TypeError) as error:
        raise LoadError(f"a process that makes CPU load has ended, or sent {line[:60]!r}") from error
