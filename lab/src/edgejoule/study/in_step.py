"""Several executions of the driver one directly after another: opening and closing lie before and behind all of them.

Every driver opens its database and waits for a word; one after another they work until they have settled; then all
close. What would otherwise lie between two executions, a start of the program and an open and close of the database, is
longer than a thousand operations take. At most STANDING_MAX wait at a time.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from edgejoule.databases.driver import Driver, Event

STANDING_MAX = 128  # each is a process with a database open: 3 MB of its own for RocksDB's 18
_LOOK_S = 0.2  # how late the end of a driver that failed may be seen


def run_in_step(
    make: Callable[[int, Callable[[Event], None]], Driver], count: int, last_word: str = "settled"
) -> list[list[dict[str, Any]]]:
    """The events of each execution. make: number and listener -> a driver that keeps step (Driver.step). last_word: the
    event of the very last one after which all may close; quiet_end where it stands still when it has settled.

    Raises what a driver's run raises; the others are then stopped.
    """
    found: list[list[dict[str, Any]]] = []
    for begin in range(0, count, STANDING_MAX):
        end = min(count, begin + STANDING_MAX)
        steps = [_Step(make, number) for number in range(begin, end)]
        found += _group(steps, last_word if end == count else "settled")
    return found


class _Step:
    """One driver, and what it has said so far."""

    def __init__(self, make: Callable[[int, Callable[[Event], None]], Driver], number: int) -> None:
        self._said = {name: threading.Event() for name in ("start", "settled", "quiet_end")}
        self.following: Driver | None = None  # goes on as soon as this one has settled
        self.driver = make(number, self._hear)
        self.events: Future[list[dict[str, Any]]] | None = None

    def _hear(self, event: Event) -> None:
        if event["event"] == "settled" and self.following:
            self.following.step()
        if event["event"] in self._said:
            self._said[event["event"]].set()

    def wait(self, event: str) -> None:
        """Until the driver has said it. Raises what its run raised."""
        assert self.events is not None, "it was started"
        while not self._said[event].wait(_LOOK_S):
            if self.events.done():
                self.events.result()


def _group(steps: Sequence[_Step], last_word: str) -> list[list[dict[str, Any]]]:
    with ThreadPoolExecutor(len(steps)) as pool:
        for step in steps:
            step.events = pool.submit(step.driver.run)
        try:
            for step in steps:
                step.wait("start")
            for step, after in itertools.pairwise(steps):
                step.following = after.driver
            steps[0].driver.step()
            for step in steps:
                step.wait("settled")
            steps[-1].wait(last_word)
            for step in steps:
                step.driver.step()
            return [step.events.result() for step in steps if step.events]
        except BaseException:
            for step in steps:
                step.driver.stop()
            raise
