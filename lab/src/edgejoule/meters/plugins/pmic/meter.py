"""The meter over the Raspberry Pi 5's power management chip.

A value is slope x (sum of voltage times current over all rails) + intercept, in W: the rails do not hold the losses of
their converters nor what runs on 5 V directly. Each poll runs `vcgencmd pmic_read_adc` once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from edgejoule.errors import MeterError
from edgejoule.meters.base import Availability, Channel, Domain, Method, Sample, ValueKind
from edgejoule.meters.options import checked_number
from edgejoule.meters.plugins.pmic.protocol import rail_powers_w
from edgejoule.meters.transport.commands import RunText, run_text

COMMAND = ("vcgencmd", "pmic_read_adc")
CHANNEL = "rails"
SLOPE, INTERCEPT_W = 1.1451, 0.5879  # one board against a USB meter: see README.md
GAIN_REL, OFFSET_W = 0.05, 0.2  # k=1, assumed: see README.md
RESOLUTION_W = 0.005
_FIX = "run on a Raspberry Pi 5 as a member of the group video: edgejoule meters --setup pmic"


class Pmic:
    """The sum of the rails. run: the transport, gives the text of a command. slope, intercept_w: the correction."""

    name = "pmic"
    method = Method.MEASURED
    domain = Domain.RAIL
    poll_interval_s = 0.2

    def __init__(
        self,
        slope: float = SLOPE,
        intercept_w: float = INTERCEPT_W,
        run: RunText = run_text,
        clock_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._slope = checked_number(self.name, "slope", slope, 0.5, 2)
        self._intercept_w = checked_number(self.name, "intercept_w", intercept_w, -5, 5)
        self._run = run
        self._clock_ns = clock_ns
        self._rails: tuple[str, ...] = ()

    def probe(self) -> Availability:
        """Available when the command answers with rails."""
        try:
            rails = rail_powers_w(self._run(COMMAND))
        except FileNotFoundError:
            return Availability(False, f"no {COMMAND[0]} here (only Raspberry Pis have it)", None)
        except (OSError, ValueError) as error:
            return Availability(False, f"{' '.join(COMMAND)}: {error}", _FIX)
        return Availability(True, f"{len(rails)} rails of the power management chip")

    def describe(self) -> str:
        """Returns the description of quantity and accuracy."""
        return (
            f"the Raspberry Pi 5's own rails (V x I, x {self._slope:g} + {self._intercept_w:g} W; "
            f"±{2 * GAIN_REL:.0%} assumed; without USB, HATs and NVMe)"
        )

    def facts(self) -> Mapping[str, Sequence[str]]:
        """The rails and the correction."""
        return {"rails": list(self._rails), "correction": [f"x {self._slope:g} + {self._intercept_w:g} W"]}

    def channels(self) -> Sequence[Channel]:
        """One, the corrected sum."""
        return [
            Channel(
                meter=self.name,
                name=CHANNEL,
                domain=self.domain,
                kind=ValueKind.INSTANT,
                method=self.method,
                gain_rel=GAIN_REL,
                offset_w=OFFSET_W,
                resolution=RESOLUTION_W,
            )
        ]

    def open(self) -> None:
        """Learn the rails. Raises MeterError with the fix when the command does not answer."""
        self.probe().demand(self.name)
        try:
            self._rails = tuple(rail_powers_w(self._run(COMMAND)))
        except (OSError, ValueError) as error:
            raise MeterError(f"{self.name}: {' '.join(COMMAND)}: {error}. {_FIX}") from error

    def poll(self) -> Sequence[Sample]:
        """One reading of all rails."""
        before_ns = self._clock_ns()
        try:
            power_w = self._power_w(self._run(COMMAND))
        except (OSError, ValueError) as error:
            return [Sample(CHANNEL, self._clock_ns(), None, str(error))]
        return [Sample(CHANNEL, (before_ns + self._clock_ns()) // 2, power_w)]

    def close(self) -> None:
        """Nothing is held open."""
        self._rails = ()

    def _power_w(self, text: str) -> float:
        powers_w = rail_powers_w(text)
        if tuple(powers_w) != self._rails:
            missing = sorted(set(self._rails) - powers_w.keys()) or sorted(powers_w)
            raise ValueError(f"expected the rails as they were, these differ: {', '.join(missing)}")
        return self._slope * sum(powers_w.values()) + self._intercept_w
