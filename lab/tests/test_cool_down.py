"""A run waits until temperature and idle power are as when the study began, not longer than declared, and says how it
went.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence

import pytest

from edgejoule.errors import UsageError
from edgejoule.experiment.model import Timing
from edgejoule.machine import environment
from edgejoule.meters.base import Availability, Channel, Domain, Method, Sample, ValueKind
from edgejoule.study.cool_down import IDLE_POWER_S, POLL_S, CoolDown, IdlePower, cool_down, doubts, measure_idle

IDLE = IdlePower(2.0, 0.1, "measured")


class World:
    """Temperatures one after another, a power that follows from the time; sleeping and looking make time pass."""

    def __init__(
        self, degrees: Iterable[float | None], power_w: Callable[[float], float | None] = lambda s: None
    ) -> None:
        self._degrees, self._power_w = iter(degrees), power_w
        self.now_s, self.looks = 0.0, 0

    def read(self) -> float | None:
        return next(self._degrees)

    def measure(self) -> float | None:
        self.looks += 1
        self.now_s += IDLE_POWER_S
        return self._power_w(self.now_s)

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds

    def wait(
        self, limit_s: float = 60, idle: IdlePower | None = None, start_c: float | None = 40.0
    ) -> dict[str, object]:
        cooling = CoolDown(start_c, 2.0, limit_s, idle, None if idle else "board-profile is a model")
        return cooling.wait(self.measure, self.read, lambda: self.now_s, self.sleep)


def forever(degrees: float | None) -> Iterable[float | None]:
    return iter(lambda: degrees, object())


def settling(seconds: float) -> float:
    """A board that falls from 3 W to 2 W idle, with a time constant of 10 s."""
    return 2.0 + math.exp(-seconds / 10)


def test_it_waits_until_the_margin_is_reached() -> None:
    kept = World([50, 45, 42.1, 42.0]).wait()
    assert (kept["waited_s"], kept["temperature_c"], kept["settled"]) == (3 * POLL_S, 42.0, True)
    assert kept["temperature_c_max"] == 42.0


def test_a_cool_processor_waits_for_nothing() -> None:
    assert World([41.0]).wait()["waited_s"] == 0


def test_it_gives_up_at_its_limit_and_the_run_is_flagged() -> None:
    kept = World(forever(55.0)).wait(limit_s=10)
    assert (kept["settled"], kept["waited_s"]) == (False, 10)
    assert doubts(kept) == ["began at 55 °C: not cooled down after 10 s"]


def test_a_temperature_that_vanishes_is_not_taken_for_cool() -> None:
    kept = World([50.0, None]).wait()
    assert kept["settled"] is None
    assert "not known" in doubts(kept)[0]
    assert doubts(None) == []


def test_it_waits_for_idle_power_too_and_keeps_what_it_reached() -> None:
    world = World(forever(40.0), settling)
    kept = world.wait(idle=IDLE)
    idle_power = kept["idle_power"]
    assert kept["settled"] is True
    assert idle_power == {
        "reached_w": settling(world.now_s), "start_w": 2.0, "tolerance_w": 0.1, "method": "measured", "settled": True,
    }  # fmt: skip
    assert abs(idle_power["reached_w"] - 2.0) <= 0.1 < abs(settling(world.now_s - IDLE_POWER_S - POLL_S) - 2.0), (
        "nor longer"
    )
    assert doubts(kept) == []


def test_a_cool_processor_alone_is_not_settled_and_neither_is_power_alone() -> None:
    warm = World(forever(55.0), lambda s: 2.0).wait(limit_s=5, idle=IDLE)
    assert (warm["settled"], warm["idle_power"]["settled"]) == (False, True)
    assert doubts(warm) == [f"began at 55 °C: not cooled down after {warm['waited_s']:.0f} s"]
    busy = World(forever(40.0), lambda s: 2.5).wait(limit_s=5, idle=IDLE)
    assert busy["settled"] is False
    (doubt,) = doubts(busy)
    assert (
        doubt == f"began at 2.5 W idle (measured), 2 W when the study began: not settled after {busy['waited_s']:.0f} s"
    )


def test_a_power_below_that_of_the_begin_is_not_waited_for_and_is_flagged() -> None:
    world = World(forever(40.0), lambda s: 1.5)
    kept = world.wait(idle=IDLE)
    assert (world.looks, kept["settled"]) == (1, False)
    assert "other work ran then" in doubts(kept)[0]


def test_a_power_that_cannot_be_read_is_not_taken_for_settled_but_checked_again() -> None:
    assert World(forever(40.0), lambda s: None if s < 3 else 2.0).wait(idle=IDLE)["settled"] is True
    kept = World(forever(40.0), lambda s: None).wait(idle=IDLE)
    assert kept["settled"] is None
    assert "idle power could not be read" in doubts(kept)[0]


def test_where_no_temperature_can_be_read_idle_power_alone_is_waited_for() -> None:
    kept = World(forever(None), settling).wait(idle=IDLE, start_c=None)
    assert (kept["settled"], kept["temperature_c"], kept["temperature_c_max"]) == (True, None, None)
    busy = World(forever(None), lambda s: 2.5).wait(limit_s=5, idle=IDLE, start_c=None)
    assert len(doubts(busy)) == 1


def test_a_model_is_never_asked_for_idle_power_and_the_run_reports_why() -> None:
    world = World(forever(40.0), settling)
    kept = world.wait()
    assert world.looks == 0
    assert kept["idle_power"] == {"why_not": "board-profile is a model"}


class Board:
    """A meter whose power is what `watts` says, within a known noise."""

    name, domain, poll_interval_s, run_s_min = "emulated", Domain.BOARD, 0.05, 0.2

    def __init__(self, watts: float | None, method: Method = Method.MEASURED, noise_w: float = 0.0) -> None:
        self.watts, self.method, self.noise_w, self.polls = watts, method, noise_w, 0

    def probe(self) -> Availability:
        return Availability(True, "here")

    def describe(self) -> str:
        return "an emulated board"

    def facts(self) -> dict[str, Sequence[str]]:
        return {}

    def channels(self) -> Sequence[Channel]:
        return [Channel("emulated", "board", Domain.BOARD, ValueKind.INSTANT, self.method, 0.02, 0.5, 0.0)]

    def open(self) -> None: ...

    def poll(self) -> Sequence[Sample]:
        self.polls += 1
        if self.watts is None:
            return [Sample("board", time.monotonic_ns(), None, "no answer")]
        return [Sample("board", time.monotonic_ns(), self.watts + self.noise_w * (-1) ** self.polls)]

    def close(self) -> None: ...


def at_degrees(monkeypatch: pytest.MonkeyPatch, degrees: float | None) -> None:
    monkeypatch.setattr(environment, "state", lambda: {"temperature_c": degrees})


def test_idle_power_is_measured_briefly_by_the_meter_itself() -> None:
    result = measure_idle(Board(2.4), least_s=0.05)
    assert result.power_mean_w == pytest.approx(2.4)
    assert result.duration_s >= 0.2, "as long as the meter needs"


def test_what_is_waited_for_is_the_machine_before_anything_has_run(monkeypatch: pytest.MonkeyPatch) -> None:
    at_degrees(monkeypatch, 47.5)
    assert cool_down(Timing(), [Board(2.4)], None) is None
    board = Board(2.4)
    result = cool_down(Timing(cool_down_s_max=10, idle_s=0.1, cool_down_power_percent=5), [board], None)
    assert result is not None
    assert (result.start_c, result.margin_c, result.limit_s, result.why_no_power) == (47.5, 2.0, 10.0, None)
    assert result.idle is not None
    assert (result.idle.start_w, result.idle.method) == (pytest.approx(2.4), "measured")
    assert result.idle.tolerance_w == pytest.approx(0.05 * 2.4), (
        "gain and offset are the same in every look: no tolerance"
    )
    noisy = cool_down(Timing(cool_down_s_max=10, idle_s=0.1), [Board(2.4, noise_w=0.2)], None)
    assert noisy is not None
    assert noisy.idle is not None
    assert noisy.idle.tolerance_w > result.idle.tolerance_w * 1.02


def test_a_resumed_study_waits_for_the_power_that_it_began_with(monkeypatch: pytest.MonkeyPatch) -> None:
    at_degrees(monkeypatch, 40.0)
    board = Board(9.0)
    result = cool_down(Timing(cool_down_s_max=10), [board], {"start_w": 2.0, "tolerance_w": 0.1, "method": "measured"})
    assert result is not None
    assert (result.idle, board.polls) == (IDLE, 0)


def test_with_modelled_joules_or_a_silent_meter_the_temperature_alone_is_awaited(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    at_degrees(monkeypatch, 40.0)
    model, silent = Board(2.0, Method.MODELLED), Board(None)
    result = cool_down(Timing(cool_down_s_max=10), [model], None)
    assert result is not None
    assert (result.idle, model.polls) == (None, 0)
    assert "is a model" in (result.why_no_power or "")
    mute = cool_down(Timing(cool_down_s_max=10, idle_s=0.1), [silent], None)
    assert mute is not None
    assert mute.idle is None
    assert "gave no idle power" in (mute.why_no_power or "")


def test_without_temperature_and_power_a_cool_down_is_refused_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    at_degrees(monkeypatch, None)
    with pytest.raises(UsageError, match="set it to 0"):
        cool_down(Timing(cool_down_s_max=10), [Board(2.0, Method.MODELLED)], None)
    alone = cool_down(Timing(cool_down_s_max=10, idle_s=0.1), [Board(2.0)], None)
    assert alone is not None
    assert (alone.start_c, alone.idle is None) == (None, False)
