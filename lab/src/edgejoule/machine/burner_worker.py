"""One CPU kept busy at given times. Started by edgejoule.machine.burner as a program;
imports nothing of the package.

In: one JSON line per job, {"intervals_ns": [[on, off], ...]} or {"begin_ns", "end_ns", "period_ns", "share"}, times on
CLOCK_MONOTONIC. Out: one JSON line per job, {"busy_ns": [[first, last], ...]}, when work really began and ended (for
the second form []). Ends when its input ends.
"""

from __future__ import annotations

import json
import sys
import time
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

_BLOCK = bytes(range(256)) * 16  # 4 KiB: a step of work takes well below a millisecond also on a small board


def _wait(until_ns: int) -> None:
    left_s = (until_ns - time.monotonic_ns()) / 1e9
    if left_s > 0:
        time.sleep(left_s)


def _intervals(job: Mapping[str, Any]) -> Iterator[tuple[int, int]]:
    if "intervals_ns" in job:
        yield from ((on, off) for on, off in job["intervals_ns"])
        return
    on_ns, busy_ns = job["begin_ns"], round(job["period_ns"] * job["share"])
    while on_ns < job["end_ns"]:
        yield on_ns, min(on_ns + busy_ns, job["end_ns"])
        on_ns += job["period_ns"]


def _do(job: Mapping[str, Any]) -> list[tuple[int, int]]:
    done = []
    for on_ns, off_ns in _intervals(job):
        _wait(on_ns)
        first_ns = time.monotonic_ns()
        while time.monotonic_ns() < off_ns:
            zlib.compress(_BLOCK, 1)
        if "intervals_ns" in job:
            done.append((first_ns, time.monotonic_ns()))
    return done


def main() -> None:
    """Work off jobs until the input ends."""
    for line in sys.stdin:
        print(json.dumps({"busy_ns": _do(json.loads(line))}), flush=True)


if __name__ == "__main__":
    main()
