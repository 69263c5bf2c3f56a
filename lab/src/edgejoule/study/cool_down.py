"""Waits before a run until the processor's temperature and the idle power are what they were when the study began, so
that a run does not depend on the runs before it.

Waiting cannot raise power. If idle power is now below its value at the beginning, something else was running then: the
run starts without waiting and records a doubt. A model computes idle power from utilisation, which adds nothing to
temperature and load; with modelled joules only the temperature is awaited.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from edgejoule.energy import Energy, domain_energy
from edgejoule.errors import UsageError
from edgejoule.experiment.model import Timing
from edgejoule.machine import environment
from edgejoule.meters.base import Meter, Method
from edgejoule.meters.sampler import Sampler
from edgejoule.study.run_length import first_reading_s, shortest_s

POLL_S = 0.5
IDLE_POWER_S = 1.0  # how long idle power is measured, unless the meter needs longer


@dataclass(frozen=True)
class IdlePower:
    """Mean power without work when the study began, and how far from it a run may begin, both in W.

    tolerance_w: the experiment's tolerance plus the difference that the meter's noise (k=2) can cause between two
    readings.
    """

    start_w: float
    tolerance_w: float
    method: str


@dataclass(frozen=True)
class CoolDown:
    """The conditions awaited for at most limit_s: temperature start_c + margin_c, and idle power. A condition that is
    None is not awaited; why_not gives the reason.
    """

    start_c: float | None
    margin_c: float
    limit_s: float
    idle: IdlePower | None = None
    why_no_power: str | None = None

    def wait(
        self,
        read_w: Callable[[], float | None] = lambda: None,
        read_c: Callable[[], float | None] = lambda: environment.state()["temperature_c"],
        clock_s: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> dict[str, Any]:
        """Waits, and returns the facts for the run record (facts.cool_down). read_w: measures idle power, returns None
        if that failed.

        settled: whether all conditions were met; None if one could not be read at the end. A failed power reading is
        repeated.
        """
        began_s = clock_s()
        while True:
            now_c = read_c()
            now_w = read_w() if self.idle else None
            cool, quiet, waited_s = self._cool(now_c), self._quiet(now_w), clock_s() - began_s
            settled = None if None in (cool, quiet) else bool(cool and quiet)
            vain = cool is None or (cool and self._below(now_w))
            if settled or vain or waited_s >= self.limit_s:
                return {
                    "waited_s": round(waited_s, 1),
                    "settled": settled,
                    "temperature_c": now_c,
                    "temperature_c_max": None if self.start_c is None else self.start_c + self.margin_c,
                    "idle_power": self._power(now_w, quiet),
                }
            sleep(POLL_S)

    def _cool(self, now_c: float | None) -> bool | None:
        if self.start_c is None:
            return True
        return None if now_c is None else now_c <= self.start_c + self.margin_c

    def _quiet(self, now_w: float | None) -> bool | None:
        if self.idle is None:
            return True
        return None if now_w is None else abs(now_w - self.idle.start_w) <= self.idle.tolerance_w

    def _below(self, now_w: float | None) -> bool:
        return self.idle is not None and now_w is not None and now_w < self.idle.start_w - self.idle.tolerance_w

    def _power(self, now_w: float | None, quiet: bool | None) -> dict[str, Any]:
        if self.idle is None:
            return {"why_not": self.why_no_power}
        start = {"start_w": self.idle.start_w, "tolerance_w": self.idle.tolerance_w, "method": self.idle.method}
        return {"reached_w": now_w, **start, "settled": quiet}


def doubts(kept: dict[str, Any] | None) -> list[str]:
    """Returns the flags of a run whose cool-down did not settle."""
    if kept is None or kept["settled"]:
        return []
    return [*_too_warm(kept), *_other_power(kept)]


def _too_warm(kept: dict[str, Any]) -> list[str]:
    now_c, most_c = kept["temperature_c"], kept["temperature_c_max"]
    if most_c is None or (now_c is not None and now_c <= most_c):
        return []
    if now_c is None:
        return ["the temperature could not be read, so whether the processor had cooled down is not known"]
    return [f"began at {now_c:.0f} °C: not cooled down after {kept['waited_s']:.0f} s"]


def _other_power(kept: dict[str, Any]) -> list[str]:
    power = kept["idle_power"]
    if power.get("settled", True):
        return []
    if power["settled"] is None:
        return ["idle power could not be read, so whether it had settled is not known"]
    message = (
        f"began at {power['reached_w']:.3g} W idle ({power['method']}), {power['start_w']:.3g} W when the study began"
    )
    if power["reached_w"] < power["start_w"]:
        return [f"{message}: other work ran then, so that begin is no measure of idle"]
    return [f"{message}: not settled after {kept['waited_s']:.0f} s"]


def cool_down(timing: Timing, meters: Sequence[Meter], kept: dict[str, Any] | None) -> CoolDown | None:
    """Records the present state of the machine, before anything has run, as the state that each run waits for. The
    meters are open.

    kept: idle power at the beginning of a study that is resumed. Raises UsageError if neither temperature nor power can
    be read.
    """
    if not timing.cool_down_s_max:
        return None
    now_c = environment.state()["temperature_c"]
    idle, why_not = (IdlePower(**kept), None) if kept else _idle_now(timing, meters[0])
    if now_c is None and idle is None:
        raise UsageError(
            "timing.cool_down_s_max: no temperature can be read here (/sys/class/thermal), and no idle power "
            f"({why_not}), so nothing shows when the machine has cooled down; set it to 0"
        )
    return CoolDown(now_c, timing.cool_down_c, timing.cool_down_s_max, idle, why_not)


def measure_idle(meter: Meter, least_s: float = IDLE_POWER_S) -> Energy:
    """Measures the energy of a short time without work with the open meter. Raises MeterError if the meter stopped."""
    with Sampler(meter) as sampler:
        time.sleep(first_reading_s(meter))
        start_ns = time.monotonic_ns()
        time.sleep(max(least_s, shortest_s(meter)))
        end_ns = time.monotonic_ns()
        time.sleep(first_reading_s(meter))
        traces = sampler.stop()
    return domain_energy(traces, start_ns, end_ns)


def _idle_now(timing: Timing, meter: Meter) -> tuple[IdlePower | None, str | None]:
    if meter.method is Method.MODELLED:
        return None, f"{meter.name} is a model: its idle power is no measurement"
    result = measure_idle(meter, max(IDLE_POWER_S, timing.idle_s))
    if result.power_mean_w is None:
        return None, f"{meter.name} gave no idle power: {result.missing_reason}"
    noise_w = math.hypot(*(line.value_j for line in result.budget if not line.common)) / result.duration_s
    allowed_w = abs(result.power_mean_w) * timing.cool_down_power_percent / 100 + 2 * math.sqrt(2) * noise_w
    return IdlePower(result.power_mean_w, allowed_w, str(result.method)), None
