"""Runs the built driver as a process: its command line and its output."""

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
DRIVER = Path(os.environ.get("EDGEJOULE_DRIVER", REPOSITORY / "build" / "bin" / "edgejoule-driver"))
NOBODY = 65534  # a user without rights

Event = dict[str, Any]


@dataclass(frozen=True)
class Caller:
    """The user who starts the driver. program: the driver's file. user: the user's number, None for the user of the
    tests.
    """

    program: Path = DRIVER
    user: int | None = None


TESTER = Caller()


def drive(
    *arguments: str | Path,
    cwd: Path | None = None,
    timeout_s: float = 60,
    starter: Sequence[str] = (),
    caller: Caller = TESTER,
) -> subprocess.CompletedProcess[str]:
    """Runs the driver to its end, whatever its exit status. starter: argv of a program that starts the driver."""
    line = [*starter, caller.program, *arguments]
    return subprocess.run(
        line, capture_output=True, text=True, timeout=timeout_s, check=False, cwd=cwd, user=caller.user
    )


def events_of(text: str) -> list[Event]:
    """Returns the events of -json."""
    return [json.loads(line) for line in text.splitlines()]


def events_from(*arguments: str | Path) -> list[Event]:
    """Runs the driver, which must succeed, and returns its events."""
    done = drive(*arguments, "--quiet", "-json", "-")
    assert done.returncode == 0, done.stderr
    return events_of(done.stdout)


def returns_of(end: Event) -> dict[str, dict[str, int]]:
    """Returns the statuses of each operation with their counts."""
    service = [latency for latency in end["latencies"] if latency["measure"] == "service"]
    return {latency["operation"]: latency["returns"] for latency in service}


def done_of(end: Event, operation: str) -> int:
    """Returns the number of operations of a kind, whatever their status; a batch counts as its records."""
    return sum(returns_of(end).get(operation, {}).values())
