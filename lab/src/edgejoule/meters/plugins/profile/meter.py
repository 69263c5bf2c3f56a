"""The modelled meter: energy from a board's profile and what the machine used.

The channel is an accumulator, J since open(). Each poll adds the table's power at the utilisation since the poll
before. Utilisation comes from cumulative totals, so the 10 ms steps of /proc/stat shift energy between neighbouring
polls but do not add up: what clipping to 0 and 1 cuts off is carried to the next poll. A failed poll loses nothing, the
next one covers its time. Where the native sampler is built it reads /proc/stat (edgejoule.meters.transport.filestream),
and a poll gives the energies at all of its readings.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from edgejoule.errors import MeterError
from edgejoule.machine.files import ReadText, read_text
from edgejoule.meters.base import Availability, Block, Channel, Domain, Method, Sample, ValueKind
from edgejoule.meters.plugins.profile.data import Profile, detected_profile, named_profile
from edgejoule.meters.plugins.profile.usage import TICK_S, MachineUsage, UsageReader
from edgejoule.meters.transport.filestream import (
    CPU_TIMES,
    GATHER_S,
    FileReadings,
    FileStream,
    reads_files,
    sampler_path,
    started_stream,
)

CHANNEL = "board"
CARRY_TICKS_MAX = 2  # per CPU; more than steps can explain is not carried on


class BoardProfile:
    """Modelled power of this board.

    profile: a profile's name or a .toml file, None to detect the board. proc, sys, machine, read and clock_ns are the
    transport. devices: block devices to count, None for all physical ones. gather_s: see base.Meter; known after
    open().
    """

    name = "board-profile"
    method = Method.MODELLED
    poll_interval_s = 0.05

    def __init__(
        self,
        profile: str | Path | None = None,
        proc: Path = Path("/proc"),
        sys: Path = Path("/sys"),
        machine: str | None = None,
        devices: Sequence[str] | None = None,
        read: ReadText = read_text,
        clock_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._proc = proc
        self._read = read
        self._clock_ns = clock_ns
        self._machine = platform.machine() if machine is None else machine
        self._model = self._device_tree_model()
        self.profile = named_profile(profile) if profile is not None else detected_profile(self._model, self._machine)
        self.domain = self.profile.domain if self.profile is not None else Domain.BOARD
        self._usage = UsageReader(
            proc,
            sys,
            read,
            with_storage=self.profile is not None and self.profile.storage is not None,
            with_network=self.profile is not None and self.profile.network is not None,
            devices=None if devices is None else tuple(devices),
        )
        self._before: tuple[int, MachineUsage] | None = None
        self._carried_s = 0.0
        self._energy_j = 0.0
        self._native = reads_files(read, clock_ns) and not (self._usage.with_storage or self._usage.with_network)
        self._stream: FileStream | None = None
        self.gather_s: float | None = None

    def probe(self) -> Availability:
        """Available when the board has a profile and /proc/stat can be read."""
        if self.profile is None:
            here = f"{self._model or 'this machine'} (machine type {self._machine})"
            return Availability(False, f"no profile for {here}", "name one: profile = NAME or FILE.toml")
        try:
            self._usage.now()
        except (OSError, ValueError) as error:
            return Availability(False, f"utilisation cannot be read: {error}")
        generic = bool(self._model) and self._machine in self.profile.machines
        here = f", here {self._model}" if generic else ""
        return Availability(True, f"profile {self.profile.name}: {self.profile.board}{here}")

    def describe(self) -> str:
        """Which profile, and how far off it may be."""
        if self.profile is None:
            return "board power from utilisation, by a profile of the board"
        nominal = ", vendor-nominal figures" if self.profile.nominal else ""
        interval = f"{self.profile.prediction_interval_rel:.0%}"
        return f"power of {self.profile.board} from CPU utilisation by a profile, ±{interval} at k=2{nominal}"

    @property
    def method_text(self) -> str:
        """The source of the figures, the profile and the error, for one short line."""
        profile = self._opened_profile()
        return f"from CPU use ({profile.name}, ±{100 * profile.prediction_interval_rel:.0f} %)"

    def facts(self) -> Mapping[str, Sequence[str]]:
        """The profile's sources, its range, and why its interval is as wide as it is."""
        profile = self._opened_profile()
        interval = f"±{profile.prediction_interval_rel:.0%} at k=2: {profile.prediction_interval_reason}"
        return {
            "sources": [f"{s.title} ({s.where}): {s.measured}" for s in profile.sources.values()],
            "model valid for": [profile.valid],
            "prediction interval": [interval],
            "not modelled": [profile.not_modelled],
        }

    def channels(self) -> Sequence[Channel]:
        """One accumulator for the whole board, or what else the profile covers."""
        profile = self._opened_profile()
        cpus = self._before[1].cpus if self._before is not None else 1
        step_w = profile.power_w(1.0, cpus) - profile.power_w(0.0, cpus)
        return [
            Channel(
                meter=self.name,
                name=CHANNEL,
                domain=self.domain,
                kind=ValueKind.ACCUMULATOR,
                method=self.method,
                gain_rel=0.0,
                offset_w=0.0,
                resolution=step_w / cpus * TICK_S,
                model_rel=profile.prediction_interval_rel / 2,
            )
        ]

    def open(self) -> None:
        """Start counting at 0 J. Raises MeterError when the board has no profile or /proc cannot be read."""
        self.probe().demand(self.name)
        self._before = (self._clock_ns(), self._usage.now())
        self._carried_s = self._energy_j = 0.0
        if self._native:
            self._stream = started_stream(sampler_path(), [f"{CPU_TIMES}{self._usage.stat}"], self.poll_interval_s)
        self.gather_s = GATHER_S if self._stream is not None else None

    def poll(self) -> Sequence[Sample | Block]:
        """The energy so far, or at all readings since the last poll. A failed read is a missing sample."""
        assert self._before is not None, "a meter is opened before it is polled"
        try:
            if self._stream is not None:
                return [self._block(self._stream.ask())]
            now_ns, usage = self._clock_ns(), self._usage.now()
        except (OSError, ValueError, MeterError) as error:
            return [Sample(CHANNEL, self._clock_ns(), None, str(error))]
        return [Sample(CHANNEL, now_ns, self._energy_at(now_ns, usage))]

    def helper_cpu_s(self) -> float:
        """CPU time of the native sampler so far."""
        return 0.0 if self._stream is None else self._stream.cpu_s()

    def close(self) -> None:
        """End the native sampler; nothing else is held open. May be called twice."""
        if self._stream is not None:
            self._stream.close()
        self._stream, self._before = None, None

    def _block(self, readings: FileReadings) -> Block:
        """The energies at the native sampler's readings."""
        times_ns, reasons = readings.t_ns[:, 0], readings.reasons(0)
        rows = zip(times_ns.tolist(), readings.value.tolist(), strict=True)
        energies_j = [
            np.nan if row in reasons else self._energy_at(t_ns, MachineUsage.of_cpu_times(int(cpus), int(idle_ticks)))
            for row, (t_ns, (cpus, idle_ticks)) in enumerate(rows)
        ]
        return Block(CHANNEL, times_ns, np.array(energies_j), readings.arrived_ns, reasons)

    def _energy_at(self, now_ns: int, usage: MachineUsage) -> float:
        """The energy since open(), at a time after all those before."""
        assert self._before is not None, "a meter is opened before it is polled"
        profile, (before_ns, before) = self._opened_profile(), self._before
        elapsed_s = (now_ns - before_ns) / 1e9
        if elapsed_s > 0:
            share = self._busy_share(before, usage, elapsed_s)
            self._energy_j += profile.power_w(share, usage.cpus) * elapsed_s + _traffic_j(profile, before, usage)
            self._before = (now_ns, usage)
        return self._energy_j

    def _busy_share(self, before: MachineUsage, now: MachineUsage, elapsed_s: float) -> float:
        """Busy share of all CPUs since the poll before, 0 to 1."""
        available_s = elapsed_s * now.cpus
        busy_s = available_s - (now.idle_s - before.idle_s) + self._carried_s
        possible_s = min(available_s, max(0.0, busy_s))
        most_s = CARRY_TICKS_MAX * now.cpus * TICK_S
        self._carried_s = min(most_s, max(-most_s, busy_s - possible_s))
        return possible_s / available_s

    def _opened_profile(self) -> Profile:
        if self.profile is None:
            raise MeterError(f"{self.name}: {self.probe().reason}")
        return self.profile

    def _device_tree_model(self) -> str | None:
        try:
            return self._read(self._proc / "device-tree" / "model").rstrip("\0\n") or None
        except (OSError, ValueError):
            return None


def _traffic_j(profile: Profile, before: MachineUsage, now: MachineUsage) -> float:
    energy_j = 0.0
    if profile.storage is not None:
        energy_j += (now.storage_read_bytes - before.storage_read_bytes) * profile.storage.read_j_per_byte
        energy_j += (now.storage_write_bytes - before.storage_write_bytes) * profile.storage.write_j_per_byte
    if profile.network is not None:
        energy_j += (now.network_read_bytes - before.network_read_bytes) * profile.network.read_j_per_byte
        energy_j += (now.network_write_bytes - before.network_write_bytes) * profile.network.write_j_per_byte
    return energy_j
