"""Runs several executions of the driver back to back, with all opening before the first and all closing after the last.

Every driver opens its database and waits for a message; one after another they work until settled; then all close.
Otherwise a program start and a database open and close would lie between two executions, longer than a thousand
operations take. At most STANDING_MAX drivers wait at a time.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from edgejoule.databases.driver import Driver, Event

STANDING_MAX = 128  # each is a process with an open database: 3 MB of private memory of RocksDB's 18
_LOOK_S = 0.2  # the longest delay until the failure of a driver is seen


def run_in_step(
    make: Callable[[int, Callable[[Event], None]], Driver], count: int, last_word: str = "settled"
) -> list[list[dict[str, Any]]]:
    """Runs the executions and returns the events of each. make: number and listener -> a driver that runs in step
    (Driver.step). last_word: the event of the last driver after which all may close; quiet_end if it stays quiet
    after settling.

    Raises what a driver's run raises, after stopping the others.
    """
    result: list[list[dict[str, Any]]] = []
    for begin in range(0, count, STANDING_MAX):
        end = min(count, begin + STANDING_MAX)
        steps = [_Step(make, number) for number in range(begin, end)]
        result += _group(steps, last_word if end == count else "settled")
    return result


class _Step:
    """One driver and the events that it has reported so far."""

    def __init__(self, make: Callable[[int, Callable[[Event], None]], Driver], number: int) -> None:
        self._said = {name: threading.Event() for name in ("start", "settled", "quiet_end")}
        self.following: Driver | None = None  # starts when this one has settled
        self.driver = make(number, self._hear)
        self.events: Future[list[dict[str, Any]]] | None = None

    def _hear(self, event: Event) -> None:
        if event["event"] == "settled" and self.following:
            self.following.step()
        if event["event"] in self._said:
            self._said[event["event"]].set()

    def wait(self, event: str) -> None:
        """Waits until the driver has reported the event. Raises what its run raised."""
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
