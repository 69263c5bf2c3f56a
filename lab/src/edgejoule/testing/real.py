"""A real instrument on a load of known power: do they agree within both uncertainties?"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from edgejoule.energy import domain_energy
from edgejoule.meters.base import Meter
from edgejoule.meters.sampler import Sampler

_QUIET_S = 0.5  # before and after, so that the interval lies between readings
_PROGRESS_S = 0.2


@dataclass(frozen=True)
class KnownLoadCheck:
    """What was seen. reported_j None: no energy, reason says why. uncertainties: half widths at k=2."""

    meter: str
    method: str
    known_j: float
    known_uncertainty_j: float
    reported_j: float | None
    reported_uncertainty_j: float | None
    notes: tuple[str, ...]
    reason: str | None

    @property
    def agrees(self) -> bool:
        """The difference is within both uncertainties (ISO/IEC 17043: |En| <= 1)."""
        if self.reported_j is None or self.reported_uncertainty_j is None:
            return False
        return abs(self.reported_j - self.known_j) <= math.hypot(self.reported_uncertainty_j, self.known_uncertainty_j)

    @property
    def sentence(self) -> str:
        """For people."""
        known = f"known {self.known_j:.5g} J ± {self.known_uncertainty_j:.2g}"
        notes = "".join(f"\n  {note}" for note in self.notes)
        if self.reported_j is None or self.reported_uncertainty_j is None:
            return f"{self.meter}: {known}; no energy: {self.reason}{notes}"
        error = self.reported_j / self.known_j - 1
        verdict = "they agree" if self.agrees else "they do NOT agree"
        reported = f"{self.method} {self.reported_j:.5g} J ± {self.reported_uncertainty_j:.2g} (k=2)"
        return f"{self.meter}: {known}; {reported}; {error:+.2%}: {verdict}{notes}"


def compare_with_known(
    meter: Meter, known_w: float, known_u_w: float, seconds: float, passed: Callable[[float], None] = lambda _: None
) -> KnownLoadCheck:
    """Sample the meter for so many seconds on a steady load. passed: hears the seconds so far. Raises MeterError."""
    meter.open()
    try:
        with Sampler(meter) as sampler:
            quiet_s = max(_QUIET_S, 2 * meter.poll_interval_s)
            time.sleep(quiet_s)
            begin_ns = time.monotonic_ns()
            while (left_s := seconds - (time.monotonic_ns() - begin_ns) / 1e9) > 0:
                time.sleep(min(left_s, _PROGRESS_S))
                passed(seconds - left_s)
            end_ns = time.monotonic_ns()
            time.sleep(quiet_s)
            traces = sampler.stop()
    finally:
        meter.close()
    energy = domain_energy(traces, begin_ns, end_ns)
    elapsed_s = (end_ns - begin_ns) / 1e9
    return KnownLoadCheck(
        meter.name, str(meter.method), known_w * elapsed_s, known_u_w * elapsed_s, energy.energy_j,
        energy.uncertainty_k2_j, energy.notes, energy.missing_reason,
    )  # fmt: skip
