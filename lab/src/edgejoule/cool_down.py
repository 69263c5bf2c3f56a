"""Waiting before a run until the processor is as cool as when the study began, so that a run does not pay for those
before it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from edgejoule import environment

POLL_S = 0.5


@dataclass(frozen=True)
class CoolDown:
    """start_c: temperature when the study began. margin_c: how much warmer a run may begin. limit_s: longest wait."""

    start_c: float
    margin_c: float
    limit_s: float

    def wait(
        self,
        read_c: Callable[[], float | None] = lambda: environment.state()["temperature_c"],
        clock_s: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> dict[str, Any]:
        """Wait; what a run keeps of it. settled: cool enough; None where the temperature could not be read any more."""
        began_s = clock_s()
        while True:
            now_c, waited_s = read_c(), clock_s() - began_s
            settled = None if now_c is None else now_c <= self.start_c + self.margin_c
            if settled is not False or waited_s >= self.limit_s:
                return {"waited_s": round(waited_s, 1), "temperature_c": now_c, "settled": settled}
            sleep(POLL_S)


def doubts(kept: dict[str, Any] | None) -> list[str]:
    """What a cool-down that did not settle makes of a run, in words."""
    if kept is None or kept["settled"]:
        return []
    if kept["settled"] is None:
        return ["the temperature could not be read, so whether the processor had cooled down is not known"]
    return [f"began at {kept['temperature_c']:.0f} °C: not cooled down after {kept['waited_s']:.0f} s"]
