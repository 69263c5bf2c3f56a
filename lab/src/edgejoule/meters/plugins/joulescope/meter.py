"""The meter over a Joulescope: its own running total of energy, on its own clock.

The instrument adds up every sample (1 or 2 MHz) and sends the total with the number of the last sample in it; a message
that is lost loses no energy. Source: Jetperch, joulescope_driver, "Streaming and statistics topics", Statistics.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from edgejoule.errors import MeterError, UsageError
from edgejoule.meters.base import Availability, Block, Channel, Sample, ValueKind
from edgejoule.meters.plugins.joulescope.driver import JoulescopeDriver, Message, make_driver
from edgejoule.meters.transport.streaming import StreamedChannel

CHANNEL = "energy"
GAIN_REL = 0.0029
OFFSET_W = 0.0005
POWER_W_MAX = 300.0
_SILENT_S = 2.0
_STEP_J = 2.0**-52
_NATIVE_HZ = {"js110": 2_000_000}
_NATIVE_HZ_OTHER = 1_000_000


class Joulescope(StreamedChannel):
    """device: its path or the end of it (serial number), by default the first. rate_hz: totals per second.

    make_driver, clock_ns: the transport.
    """

    name = "joulescope"
    poll_interval_s = 0.05
    channel_name, kind = CHANNEL, ValueKind.ACCUMULATOR
    gain_rel, offset_w = GAIN_REL, OFFSET_W
    delay_s_max = 0.02

    def __init__(
        self,
        device: str | None = None,
        rate_hz: int = 50,
        make_driver: Callable[[], JoulescopeDriver] = make_driver,
        clock_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        if not isinstance(rate_hz, int) or not 1 <= rate_hz <= 1000:
            raise UsageError(f"joulescope: rate_hz is a whole number from 1 to 1000, not {rate_hz!r}")
        self._wanted, self._rate_hz = device, rate_hz
        self.interval_s = 1 / rate_hz
        self._make_driver, self._clock_ns = make_driver, clock_ns
        self._driver: JoulescopeDriver | None = None
        self._path: str | None = None
        self._heard: deque[Message] = deque()
        self._last_ns, self._offset_ns, self._reported_ns = -1, 0, 0

    def probe(self) -> Availability:
        """Available when an instrument is plugged in; none is opened."""
        try:
            driver = self._make_driver()
        except MeterError as error:
            what, _, fix = str(error).partition(": ")
            return Availability(False, what, fix or None)
        try:
            path = self._chosen(driver)
        except Exception as error:  # noqa: BLE001 - whatever a foreign library raises is reported, never fatal
            return Availability(False, f"the Joulescopes cannot be listed: {error}")
        finally:
            driver.finalize()
        if path is None:
            return Availability(
                False, "no Joulescope is plugged in", "connect its USB port; the udev rule is in README"
            )
        return Availability(True, f"Joulescope {path}")

    def describe(self) -> str:
        """Returns the description of quantity and accuracy."""
        return f"the board's supply by a Joulescope's running total (±{2 * GAIN_REL:.1%} assumed)"

    def facts(self) -> Mapping[str, Sequence[str]]:
        """Which instrument."""
        return {"joulescope": [self._path]} if self._path else {}

    def channels(self) -> Sequence[Channel]:
        """One accumulator."""
        return [replace(channel, resolution=_STEP_J, power_w_max=POWER_W_MAX) for channel in super().channels()]

    def open(self) -> None:
        """Begin to hear totals, ranges automatic. Raises MeterError with the fix."""
        self._last_ns, self._offset_ns = -1, 0
        self._driver = self._make_driver()
        try:
            self._begin(self._driver)
        except Exception as error:
            self.close()
            raise MeterError(f"{self.name}: {error}; unplug it and plug it in again") from error

    def poll(self) -> Sequence[Sample | Block]:
        """The totals that have come since."""
        if self._driver is None:
            return []
        now_ns = self._clock_ns()
        messages = [self._heard.popleft() for _ in range(len(self._heard))]
        readings = [reading for reading in map(self._reading, messages) if reading is not None]
        if not readings:
            if now_ns - self._reported_ns > _SILENT_S * 1e9:
                self._reconnect(now_ns)
            return []
        self._reported_ns = now_ns
        t_ns, energy_j = (np.array(column) for column in zip(*readings, strict=True))
        return [Block(CHANNEL, t_ns.astype(np.int64), energy_j.astype(np.float64), now_ns)]

    def close(self) -> None:
        """Stop hearing. The path through the instrument stays closed: the board keeps its supply."""
        driver, self._driver = self._driver, None
        if driver is None:
            return
        try:
            if self._path is not None:
                driver.unsubscribe(f"{self._path}/s/stats/value", self._hear)
                driver.publish(f"{self._path}/s/stats/ctrl", 0)
                driver.close(self._path)
        except Exception:  # noqa: BLE001 - whatever a driver says of an instrument that has gone
            self._path = None
        finally:
            driver.finalize()

    def _chosen(self, driver: JoulescopeDriver) -> str | None:
        paths = [path for path in driver.device_paths() if "/js" in path]
        return next((path for path in paths if self._wanted is None or path.endswith(self._wanted)), None)

    def _begin(self, driver: JoulescopeDriver) -> None:
        path = self._chosen(driver)
        if path is None:
            raise MeterError(f"no Joulescope {self._wanted or ''} is plugged in".replace("  ", " "))
        self._path = path
        driver.open(path, "restore")  # as it is set: another mode could cut the board's supply
        older = "js110" in path
        driver.publish(f"{path}/s/i/range/{'select' if older else 'mode'}", "auto")
        if older:  # its totals are made on this machine, from its streams
            for signal in ("i", "v", "p"):
                driver.publish(f"{path}/s/{signal}/ctrl", "on")
        native_hz = next((hz for name, hz in _NATIVE_HZ.items() if name in path), _NATIVE_HZ_OTHER)
        driver.publish(f"{path}/s/stats/scnt", native_hz // self._rate_hz)
        self._heard.clear()
        driver.subscribe(f"{path}/s/stats/value", "pub", self._hear)
        driver.publish(f"{path}/s/stats/ctrl", "on" if older else 1)
        self._reported_ns = self._clock_ns()

    def _hear(self, _topic: str, value: Message) -> None:
        self._heard.append(value)

    def _reading(self, message: Message) -> tuple[int, float] | None:
        """Time and total; None for another message, or one that is not later than the last."""
        try:
            number = int(_leaf(message, "time", "accum_samples")[-1])
            rate_hz = float(_leaf(message, "time", "sample_freq"))
            energy_j = float(_leaf(message, "accumulators", "energy"))
        except (KeyError, TypeError, ValueError, IndexError):
            return None
        if not np.isfinite(energy_j) or not rate_hz > 0:
            return None
        t_ns = round(number / rate_hz * 1e9) + self._offset_ns
        if t_ns <= self._last_ns:
            return None
        self._last_ns = t_ns
        return t_ns, energy_j

    def _reconnect(self, now_ns: int) -> None:
        """After silence. Its clock and its total begin at 0: the times go on where the host's clock says; the total is
        passed on as it is, so that an interval across the break is refused.
        """
        assert self._driver is not None
        silent_ns, self._reported_ns = now_ns - self._reported_ns, now_ns
        try:
            self._begin(self._driver)
        except Exception:  # noqa: BLE001 - still gone; tried again after as much silence
            self._offset_ns += silent_ns
            return
        self._offset_ns = self._last_ns + silent_ns


def _leaf(message: Message, group: str, name: str) -> Any:
    return message[group][name]["value"]
