"""Executions in step: nothing but work lies between the first and the last of them."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable

import pytest

from edgejoule.databases.driver import Driver, Event, quiet_arguments
from edgejoule.errors import DatabaseError
from edgejoule.study import in_step
from edgejoule.study.executions import Execution, worked_share
from edgejoule.study.in_step import run_in_step

NOOP = ["run", "-db", "noop", "--quiet", "-p", "recordcount=500", "-p", "operationcount=20000", "--seed", "1"]


def real(number: int, hear: Callable[[Event], None]) -> Driver:
    return Driver(NOOP, 60, hear, in_step=True)


def broken_promises(streams: list[list[dict]]) -> list[str]:
    """What of keeping step these events do not keep."""
    result = [Execution.of(events) for events in streams]
    opened = [e.start["monotonic_ns"] for e in result]
    begun = [e.active_end["active_start_ns"] for e in result]
    settled = [e.settled["monotonic_ns"] for e in result]
    properties = {
        "all opened before the first worked": max(opened) < min(begun),
        "one after the other": all(a < b for a, b in zip(settled, begun[1:], strict=False)),
        "closed when all had settled": all(e.end["monotonic_ns"] > max(settled) for e in result),
    }
    return [name for name, kept in properties.items() if not kept]


def test_all_open_then_each_works_then_all_close() -> None:
    streams = run_in_step(real, 6)
    assert len(streams) == 6
    assert broken_promises(streams) == []


def test_mutant_that_runs_them_one_by_one_is_detected() -> None:
    streams = [Driver(NOOP, 60).run() for _ in range(3)]
    assert set(broken_promises(streams)) == {"all opened before the first worked", "closed when all had settled"}


def disturbed(last_word: str) -> bool:
    """Whether a database closed while the last of three was to stand still."""
    count = 3

    def standing_still(number: int, hear: Callable[[Event], None]) -> Driver:
        arguments = quiet_arguments(0.3, first=number == 0, last=number == count - 1)
        return Driver([*NOOP, *arguments], 60, hear, in_step=True)

    events = [event for stream in run_in_step(standing_still, count, last_word) for event in stream]
    ends = sorted(event["monotonic_ns"] for event in events if event["event"] == "quiet_end")
    closed = [event["monotonic_ns"] for event in events if event.get("phase") == "close"]
    assert (len(ends), len(closed)) == (2, count)
    return min(closed) < ends[-1]


def test_none_closes_while_the_last_stands_still() -> None:
    assert not disturbed("quiet_end")


def test_mutant_that_lets_them_close_when_the_last_has_settled_is_detected() -> None:
    assert disturbed("settled")


def test_more_of_the_time_is_work_than_one_by_one() -> None:
    one_by_one = worked_share([Execution.of(Driver(NOOP, 60).run()) for _ in range(8)])
    stepped = worked_share([Execution.of(events) for events in run_in_step(real, 8)])
    print(f"work: {one_by_one:.0%} one by one, {stepped:.0%} in step")
    assert stepped > one_by_one


def test_only_so_many_wait_at_a_time(monkeypatch) -> None:
    monkeypatch.setattr(in_step, "STANDING_MAX", 2)
    streams = run_in_step(real, 5)
    opened = [Execution.of(events).start["monotonic_ns"] for events in streams]
    settled = [Execution.of(events).settled["monotonic_ns"] for events in streams]
    assert len(streams) == 5
    assert all(opened[second] > settled[second - 1] for second in (2, 4))


class Failing:
    """Drivers of which one fails: number -> where. The others wait for a word until they are stopped."""

    def __init__(self, number: int, hear: Callable[[Event], None], fails: int, after: str) -> None:
        self._hear, self._fails, self._after = hear, fails == number, after
        self._reports = threading.Semaphore(0)
        self.stopped = False

    def run(self) -> list[dict]:
        if self._fails and self._after == "nothing":
            raise DatabaseError("cannot open")
        self._hear({"event": "start", "monotonic_ns": 0})
        self._reports.acquire()
        if self.stopped:
            raise DatabaseError("stopped")
        if self._fails:
            raise DatabaseError("cannot work")
        self._hear({"event": "settled", "monotonic_ns": 1})
        self._reports.acquire()
        return []

    def step(self) -> None:
        self._reports.release()

    def stop(self) -> None:
        self.stopped = True
        self._reports.release(3)


@pytest.mark.parametrize(("fails", "after"), list(itertools.product((0, 1, 2), ("nothing", "start"))))
def test_one_that_fails_stops_the_others_and_reports_why(fails: int, after: str) -> None:
    made: list[Failing] = []

    def make(number: int, hear: Callable[[Event], None]) -> Failing:
        made.append(Failing(number, hear, fails, after))
        return made[-1]

    message = "cannot open" if after == "nothing" else "cannot work"
    with pytest.raises(DatabaseError, match=message):
        run_in_step(make, 3)
    assert all(driver.stopped for driver in made)
