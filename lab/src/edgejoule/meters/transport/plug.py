"""What the meters of mains plugs have in common: one number by HTTP, power in W or a running total, once a second.

A running total is given only when it has moved: then the time of the device's update is known to within a poll, and an
interval's ends lie between updates, where the energy is uncertain by what the step holds.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence

from edgejoule.errors import MeterError, UsageError
from edgejoule.meters.base import Availability, Channel, Domain, Method, Sample, ValueKind
from edgejoule.meters.options import checked_number
from edgejoule.meters.transport.http import FetchText, checked_host

CHANNEL = "plug"
QUANTITIES = ("power", "total")
_RECTANGULAR = 1 / math.sqrt(3)


class PlugMeter(ABC):
    """A plug at `host`. fetch and clock_ns are the transport.

    quantity: `power`, sampled once a second, or `total`, the plug's own counter. accuracy_rel: limit of the error
    relative to the reading. offset_limit_w: limit of the error that does not depend on it. update_s: longest time in
    which the counter stands still under load.
    """

    name: str
    method = Method.MEASURED
    domain = Domain.WALL
    poll_interval_s = 1.0

    def __init__(
        self,
        host: str | None,
        quantity: str,
        accuracy_rel: float,
        offset_limit_w: float,
        update_s: float,
        fetch: FetchText,
        clock_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        if quantity not in QUANTITIES:
            raise UsageError(f"{self.name}: quantity: expected {' or '.join(QUANTITIES)}, got {quantity!r}")
        self.host = checked_host(self.name, host)
        self.quantity = quantity
        self._accuracy_rel = checked_number(self.name, "accuracy_rel", accuracy_rel, 1e-6, 1)
        self._offset_limit_w = checked_number(self.name, "offset_limit_w", offset_limit_w, 0, 100)
        self._update_s = checked_number(self.name, "update_s", update_s, 1, 86400)
        self._fetch = fetch
        self._clock_ns = clock_ns
        self._step = 0.0
        self._total_j: float | None = None

    @abstractmethod
    def read(self) -> tuple[float, float]:
        """The quantity now in W or J, and its smallest step. Raises OSError and ValueError."""

    @abstractmethod
    def identify(self) -> str:
        """Returns the identity of the device at the host. Raises OSError and ValueError."""

    @property
    def accuracy_k2(self) -> float:
        """The gain's uncertainty as people read it: relative, k=2."""
        return 2 * self._accuracy_rel * _RECTANGULAR

    def probe(self) -> Availability:
        """Available when a named host answers with the quantity. Nothing is asked where no host is named."""
        if self.host is None:
            return Availability(
                False, "no host is named", f'name it under [meter.options]: {self.name} = {{ host = "192.0.2.7" }}'
            )
        try:
            description = self.identify()
            self.read()
        except (OSError, ValueError) as error:
            return Availability(False, f"{self.host}: {error}", f"edgejoule meters --setup {self.name}")
        return Availability(True, f"{description} at {self.host}")

    def facts(self) -> Mapping[str, Sequence[str]]:
        """Where and what."""
        step = f"{self._step:g} {'J' if self.quantity == 'total' else 'W'}"
        return {"plug": [f"{self.quantity} of {self.host}, in steps of {step}"]}

    def channels(self) -> Sequence[Channel]:
        """One: the plug."""
        counts = self.quantity == "total"
        steady_w = 0.0 if counts else self._step / 2  # a constant load is rounded to the same side every time
        return [
            Channel(
                meter=self.name,
                name=CHANNEL,
                domain=self.domain,
                kind=ValueKind.ACCUMULATOR if counts else ValueKind.INSTANT,
                method=self.method,
                gain_rel=self._accuracy_rel * _RECTANGULAR,
                offset_w=math.hypot(self._offset_limit_w, steady_w) * _RECTANGULAR,
                resolution=self._step,
                interval_s=self._update_s if counts else None,
            )
        ]

    def open(self) -> None:
        """Learn the step of the values. Raises MeterError with the fix when the plug does not answer."""
        self.probe().demand(self.name)
        try:
            _, self._step = self.read()
        except (OSError, ValueError) as error:
            raise MeterError(f"{self.name}: {self.host}: {error}") from error
        self._total_j = None

    def poll(self) -> Sequence[Sample]:
        """The power now, or the total when it has moved since the last poll."""
        before_ns = self._clock_ns()
        try:
            value, _ = self.read()
        except (OSError, ValueError) as error:
            return [Sample(CHANNEL, self._clock_ns(), None, f"{self.host}: {error}")]
        if self.quantity == "total":
            if value == self._total_j:
                return []
            self._total_j = value
        return [Sample(CHANNEL, (before_ns + self._clock_ns()) // 2, value)]

    def close(self) -> None:
        """Forgets the total. No connection is open between readings."""
        self._total_j = None
