"""Power events over an emulated tree and counters, and the system call itself on the kernel's software clock."""

from __future__ import annotations

import errno
import time
from pathlib import Path

import pytest

from edgejoule.errors import MeterError
from edgejoule.meters.base import Domain, Meter
from edgejoule.meters.plugins.perf import PerfEnergy
from edgejoule.meters.plugins.perf.events import KernelEvents, PerfEvent
from edgejoule.testing.instruments.perf import make_tree

from .emulation import Clock

ALL = {
    "energy-pkg": "event=0x02",
    "energy-cores": "event=0x01",
    "energy-ram": "event=0x03",
    "energy-psys": "event=0x05",
}


class Counters:
    def __init__(self) -> None:
        self.opened: dict[int, PerfEvent] = {}
        self.counts: dict[str, int] = {}
        self.fault: OSError | None = None

    def open(self, event: PerfEvent) -> int:
        if self.fault:
            raise self.fault
        self.opened[len(self.opened)] = event
        return len(self.opened) - 1

    def count(self, descriptor: int) -> int:
        if self.fault:
            raise self.fault
        return self.counts.get(self.opened[descriptor].name, 0)

    def close(self, descriptor: int) -> None: ...


def meter(root: Path, counters: Counters) -> PerfEnergy:
    return PerfEnergy(root / "power", root / "cpu", events=counters, clock_ns=Clock())


def test_follows_the_meter_contract(tmp_path: Path) -> None:
    assert isinstance(meter(tmp_path, Counters()), Meter)


def test_counts_become_joules_by_the_kernels_scale(tmp_path: Path) -> None:
    # Linux commit 410136f5dd96: energy-pkg.scale is 2.3283064365386962890625e-10, unit Joules
    make_tree(tmp_path, {"energy-pkg": "event=0x02"})
    counters = Counters()
    perf = meter(tmp_path, counters)
    perf.open()
    assert perf.poll()[0].value == 0.0
    counters.counts["package-0"] = 2**32 * 3
    assert perf.poll()[0].value == 3.0


def test_every_package_has_its_events_and_psys_is_one(tmp_path: Path) -> None:
    make_tree(tmp_path, ALL, cpumask="0,18")
    perf = meter(tmp_path, Counters())
    perf.open()
    result = [(channel.name, channel.domain) for channel in perf.channels()]
    assert result[:2] == [("package-0", Domain.PACKAGE), ("package-1", Domain.PACKAGE)]
    assert sorted(result[2:]) == [
        ("core-0", Domain.CORE),
        ("core-1", Domain.CORE),
        ("dram-0", Domain.DRAM),
        ("dram-1", Domain.DRAM),
        ("psys", Domain.PSYS),
    ]


def test_a_failed_read_is_missing_with_its_reason(tmp_path: Path) -> None:
    make_tree(tmp_path, {"energy-pkg": "event=0x02"})
    counters = Counters()
    perf = meter(tmp_path, counters)
    perf.open()
    counters.fault = OSError(errno.ENODEV, "No such device")
    (sample,) = perf.poll()
    assert sample.value is None
    assert "No such device" in (sample.missing_reason or "")


def test_without_permission_the_message_names_the_remedy(tmp_path: Path) -> None:
    make_tree(tmp_path, {"energy-pkg": "event=0x02"})
    counters = Counters()
    counters.fault = PermissionError(errno.EACCES, "Permission denied")
    said = meter(tmp_path, counters).probe()
    assert not said.available
    assert "perf_event_paranoid" in (said.fix or "")
    with pytest.raises(MeterError, match="perf_event_paranoid"):
        meter(tmp_path, counters).open()


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("type", "power"),
        ("cpumask", ""),
        ("events/energy-pkg", "umask=0x1"),
        ("events/energy-pkg.scale", "0"),
        ("events/energy-pkg.scale", "nan"),
        ("events/energy-pkg.unit", "Watts"),
    ],
)
def test_probe_declines_and_never_raises_on_a_damaged_tree(tmp_path: Path, file: str, text: str) -> None:
    make_tree(tmp_path, {"energy-pkg": "event=0x02"})
    (tmp_path / "power" / file).write_text(f"{text}\n")
    assert not meter(tmp_path, Counters()).probe().available


def test_a_kernel_without_power_events_is_reported(tmp_path: Path) -> None:
    assert "no power events" in meter(tmp_path, Counters()).probe().reason
    make_tree(tmp_path, {"energy-cores": "event=0x01"})
    assert "no event energy-pkg" in meter(tmp_path, Counters()).probe().reason


def test_the_system_call_opens_and_counts_a_software_event() -> None:
    # perf_event_open(2): PERF_TYPE_SOFTWARE 1, PERF_COUNT_SW_CPU_CLOCK 0 counts ns of the CPU's clock
    events = KernelEvents()
    try:
        descriptor = events.open(PerfEvent("clock", Domain.PACKAGE, 1, 0, 0, 1e-9))
    except OSError as error:
        pytest.skip(f"the kernel refuses: {error}")
    before_ns, begin, begun_ns = time.monotonic_ns(), events.count(descriptor), time.monotonic_ns()
    time.sleep(0.05)
    ending_ns, counted, ended_ns = time.monotonic_ns(), events.count(descriptor) - begin, time.monotonic_ns()
    events.close(descriptor)
    assert 0.9 * (ending_ns - begun_ns) < counted < 1.1 * (ended_ns - before_ns)


def test_the_system_call_refuses_an_event_that_does_not_exist() -> None:
    with pytest.raises(OSError, match=r".+"):
        KernelEvents().open(PerfEvent("none", Domain.PACKAGE, 0xFFFF, 0, 0, 1.0))
