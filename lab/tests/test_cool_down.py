"""A run waits until the processor has cooled down, not longer than declared, and says how it went."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from edgejoule import environment
from edgejoule.cool_down import POLL_S, CoolDown, doubts
from edgejoule.errors import UsageError
from edgejoule.spec import Timing
from edgejoule.study import _cool_down


class World:
    """Temperatures one after another; sleeping is what makes time pass."""

    def __init__(self, degrees: Iterable[float | None]) -> None:
        self._degrees = iter(degrees)
        self.now_s = 0.0

    def read(self) -> float | None:
        return next(self._degrees)

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds

    def wait(self, limit_s: float = 60) -> dict[str, object]:
        return CoolDown(40.0, 2.0, limit_s).wait(self.read, lambda: self.now_s, self.sleep)


def test_it_waits_until_the_margin_is_reached() -> None:
    assert World([50, 45, 42.1, 42.0]).wait() == {"waited_s": 3 * POLL_S, "temperature_c": 42.0, "settled": True}


def test_a_cool_processor_waits_for_nothing() -> None:
    assert World([41.0]).wait()["waited_s"] == 0


def test_it_gives_up_at_its_limit_and_the_run_is_flagged() -> None:
    kept = World([55.0] * 1000).wait(limit_s=10)
    assert (kept["settled"], kept["waited_s"]) == (False, 10)
    assert doubts(kept) == ["began at 55 °C: not cooled down after 10 s"]


def test_a_temperature_that_vanishes_is_not_taken_for_cool() -> None:
    kept = World([50.0, None]).wait()
    assert kept["settled"] is None
    assert "not known" in doubts(kept)[0]
    assert doubts(None) == []


def test_without_a_temperature_a_cool_down_is_refused_with_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _cool_down(Timing()) is None
    monkeypatch.setattr(environment, "state", lambda: {"temperature_c": None})
    with pytest.raises(UsageError, match="set it to 0"):
        _cool_down(Timing(cool_down_s_max=10))
    monkeypatch.setattr(environment, "state", lambda: {"temperature_c": 47.5})
    assert _cool_down(Timing(cool_down_s_max=10)) == CoolDown(47.5, 2.0, 10.0)
