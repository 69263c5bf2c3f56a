"""RAPL over an emulated powercap tree."""

from __future__ import annotations

import errno
from pathlib import Path

import numpy as np
import pytest

from edgejoule.energy import domain_energy, energy
from edgejoule.errors import MeterError
from edgejoule.meters.base import Domain, Meter, ValueKind
from edgejoule.meters.plugins.rapl import Rapl
from edgejoule.meters.trace import Trace

from .emulation import RANGE_UJ, Clock, PowercapTree, raising

RANGE_J = RANGE_UJ / 1e6
STEP_S = 0.05


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def tree(tmp_path: Path) -> PowercapTree:
    return PowercapTree(tmp_path / "powercap")


def meter(tree: PowercapTree, clock: Clock) -> Rapl:
    return Rapl(tree.root, Path("/nonexistent/cpuinfo"), tree.read, clock)


def record(rapl: Rapl, tree: PowercapTree, clock: Clock, watts: dict[str, float], polls: int) -> list[Trace]:
    """Poll as the sampler would while the zones draw these watts."""
    samples = [rapl.poll()]
    for _ in range(polls):
        clock.advance(STEP_S)
        for zone, power in watts.items():
            tree.draw(zone, power * STEP_S)
        samples.append(rapl.poll())
    return traces_of(rapl, samples)


def traces_of(rapl: Rapl, polls: list) -> list[Trace]:
    traces = []
    for place, channel in enumerate(rapl.channels()):
        own = [poll[place] for poll in polls]
        assert {sample.channel for sample in own} == {channel.name}
        values = [np.nan if sample.value is None else sample.value for sample in own]
        reasons = {i: sample.missing_reason for i, sample in enumerate(own) if sample.missing_reason}
        times = np.array([sample.t_ns for sample in own], dtype=np.int64)
        traces.append(Trace(channel, times, np.array(values), STEP_S, reasons))
    return traces


def test_follows_the_meter_contract(tree: PowercapTree, clock: Clock) -> None:
    assert isinstance(meter(tree, clock), Meter)


def test_zones_are_distinguished_by_name_and_the_mmio_double_is_left_out(tree: PowercapTree, clock: Clock) -> None:
    tree.add("intel-rapl:0", "package-0")
    tree.add("intel-rapl:0:0", "core")
    tree.add("intel-rapl:0:1", "uncore")
    tree.add("intel-rapl:0:2", "dram")
    tree.add("intel-rapl:1", "psys")
    tree.add("intel-rapl-mmio:0", "package-0")
    (tree.root / "intel-rapl").mkdir()
    rapl = meter(tree, clock)
    rapl.open()
    result = [(channel.name, channel.domain) for channel in rapl.channels()]
    assert result == [
        ("package-0", Domain.PACKAGE),
        ("core-0", Domain.CORE),
        ("uncore-0", Domain.UNCORE),
        ("dram-0", Domain.DRAM),
        ("psys", Domain.PSYS),
    ]
    assert all(channel.kind is ValueKind.ACCUMULATOR for channel in rapl.channels())


def test_energy_is_right_over_several_wraps(tree: PowercapTree, clock: Clock) -> None:
    tree.range_uj = 300_000_000
    tree.add("intel-rapl:0", "package-0", energy_uj=250_000_000)
    rapl = meter(tree, clock)
    rapl.open()
    traces = record(rapl, tree, clock, {"intel-rapl:0": 800.0}, polls=100)  # 40 J a step
    assert np.count_nonzero(np.diff(traces[0].value) < 0) == 14  # the wraps
    result = domain_energy(traces, *span(traces))
    assert result.energy_j == pytest.approx(4000.0, abs=0.001)


def test_the_modulus_is_one_step_above_the_largest_value(tree: PowercapTree, clock: Clock) -> None:
    tree.add("intel-rapl:0", "package-0")
    rapl = meter(tree, clock)
    rapl.open()
    (channel,) = rapl.channels()
    assert channel.wrap_j is not None
    assert channel.wrap_j - RANGE_J == pytest.approx(61.035e-6, rel=1e-3)
    assert channel.resolution == pytest.approx(61.035e-6, rel=1e-3)


def test_two_sockets_are_one_package_energy_and_other_domains_stay_out(tree: PowercapTree, clock: Clock) -> None:
    for socket in (0, 1):
        tree.add(f"intel-rapl:{socket}", f"package-{socket}")
        tree.add(f"intel-rapl:{socket}:0", "dram")
    rapl = meter(tree, clock)
    rapl.open()
    watts = {"intel-rapl:0": 30.0, "intel-rapl:1": 20.0, "intel-rapl:0:0": 5.0, "intel-rapl:1:0": 4.0}
    traces = record(rapl, tree, clock, watts, polls=200)
    assert domain_energy(traces, *span(traces)).energy_j == pytest.approx(500.0, rel=1e-5)
    assert domain_energy(traces, *span(traces), Domain.DRAM).energy_j == pytest.approx(90.0, rel=1e-5)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (raising(PermissionError(errno.EACCES, "Permission denied")), "Permission denied"),
        (raising(OSError(errno.EIO, "Input/output error")), "Input/output error"),
        (raising(FileNotFoundError(errno.ENOENT, "No such file or directory")), "No such file"),
        (lambda: "", "expected a number"),
        (lambda: "garbage\n", "expected a number"),
        (lambda: "-5\n", "expected a number"),
        (lambda: f"{RANGE_UJ + 1}\n", "above the counter's range"),
    ],
)
def test_a_failed_read_is_missing_with_its_reason_and_costs_no_energy(
    tree: PowercapTree, clock: Clock, fault, message: str
) -> None:
    tree.add("intel-rapl:0", "package-0", energy_uj=50_000_000_000)
    rapl = meter(tree, clock)
    rapl.open()
    polls = [rapl.poll()]
    for step in range(100):
        clock.advance(STEP_S)
        tree.draw("intel-rapl:0", 1.0)
        tree.faults = {"intel-rapl:0": fault} if 40 <= step < 42 else {}
        polls.append(rapl.poll())
    failed = polls[41][0]
    assert failed.value is None
    assert message in (failed.missing_reason or "")
    traces = traces_of(rapl, polls)
    result = domain_energy(traces, *span(traces))
    assert result.energy_j == pytest.approx(100.0, rel=1e-5)  # not 212 kJ
    assert any("2 of 101 readings have no number" in note for note in result.notes)


def test_a_counter_unreadable_to_the_end_is_refused_not_guessed(tree: PowercapTree, clock: Clock) -> None:
    tree.add("intel-rapl:0", "package-0")
    rapl = meter(tree, clock)
    rapl.open()
    polls = [rapl.poll()]
    for step in range(100):
        clock.advance(STEP_S)
        tree.draw("intel-rapl:0", 1.0)
        if step == 60:
            tree.faults = {"intel-rapl:0": raising(OSError(errno.EIO, "Input/output error"))}
        polls.append(rapl.poll())
    traces = traces_of(rapl, polls)
    result = domain_energy(traces, *span(traces))
    assert result.energy_j is None
    assert result.uncertainty_k2_j is None
    assert "no reading" in (result.missing_reason or "")


def test_a_counter_reset_by_a_suspend_is_refused_not_taken_for_a_wrap(tree: PowercapTree, clock: Clock) -> None:
    tree.add("intel-rapl:0", "package-0", energy_uj=50_000_000_000)
    rapl = meter(tree, clock)
    rapl.open()
    polls = [rapl.poll()]
    for step in range(100):
        clock.advance(STEP_S)
        tree.draw("intel-rapl:0", 1.0)
        if step == 50:
            tree.energy_uj["intel-rapl:0"] = 0.0
        polls.append(rapl.poll())
    traces = traces_of(rapl, polls)
    result = domain_energy(traces, *span(traces))
    assert result.energy_j is None
    assert "reset" in (result.missing_reason or "")


def test_a_reader_that_turns_failures_into_zero_is_caught(tree: PowercapTree, clock: Clock) -> None:
    """The mutant of the tests above: were a failed read 0, it would count as a wrap of 212 kJ."""
    tree.add("intel-rapl:0", "package-0", energy_uj=50_000_000_000)
    rapl = meter(tree, clock)
    rapl.open()
    (trace,) = record(rapl, tree, clock, {"intel-rapl:0": 20.0}, polls=100)
    zeroed = trace.value.copy()
    zeroed[40] = 0.0
    mutant = Trace(trace.channel, trace.t_ns, zeroed, STEP_S)
    naive_j = float(np.sum(np.where(np.diff(zeroed) < 0, np.diff(zeroed) + RANGE_J, np.diff(zeroed))))
    assert naive_j > 200_000
    assert energy(mutant, *span([mutant])).energy_j is None


def test_a_gap_longer_than_half_a_wrap_is_flagged_and_longer_than_a_wrap_refused(
    tree: PowercapTree, clock: Clock
) -> None:
    tree.add("intel-rapl:0", "package-0")
    rapl = meter(tree, clock)
    rapl.open()
    for pause_s, usable in ((100.0, True), (150.0, True), (300.0, False)):
        polls = [rapl.poll()]
        for seconds in (*[STEP_S] * 20, pause_s, *[STEP_S] * 20):
            clock.advance(seconds)
            tree.draw("intel-rapl:0", 10.0 * seconds)
            polls.append(rapl.poll())
        (trace,) = traces_of(rapl, polls)
        result = energy(trace, *span([trace]))
        assert (result.energy_j is not None) is usable
        assert any("half of what a wrap" in note for note in result.notes) is (pause_s == 150.0)


def test_probe_declines_with_the_fix_when_reading_is_not_permitted(tree: PowercapTree, clock: Clock) -> None:
    tree.add("intel-rapl:0", "package-0")
    tree.faults = {"intel-rapl:0": raising(PermissionError(errno.EACCES, "Permission denied"))}
    rapl = meter(tree, clock)
    said = rapl.probe()
    assert not said.available
    assert "no permission" in said.reason
    assert "chmod" in (said.fix or "")
    with pytest.raises(MeterError, match="chmod"):
        rapl.open()


def test_a_processor_without_such_counters_is_not_sent_for_a_driver(tmp_path: Path) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text("processor\t: 0\nFeatures\t: fp asimd evtstrm\nCPU implementer\t: 0x41\n")
    said = Rapl(tmp_path / "powercap", cpuinfo).probe()
    assert "only Intel and AMD processors have it" in said.reason
    assert said.fix is None


def test_probe_reports_a_virtual_machine_hides_the_tree(tmp_path: Path) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text("processor\t: 0\nflags\t\t: fpu vme hypervisor lahf_lm\n")
    said = Rapl(tmp_path / "powercap", cpuinfo).probe()
    assert not said.available
    assert "virtual machine" in said.reason
    assert "virtual machine" in (said.fix or "")


def test_probe_never_raises_on_a_damaged_tree(tree: PowercapTree, clock: Clock) -> None:
    tree.add("intel-rapl:0", "package-0")
    (tree.root / "intel-rapl:0" / "max_energy_range_uj").write_text("much\n")
    assert not meter(tree, clock).probe().available
    (tree.root / "intel-rapl:0" / "max_energy_range_uj").unlink()
    assert not meter(tree, clock).probe().available


def test_polls_far_below_half_the_wrap_time(tree: PowercapTree, clock: Clock) -> None:
    tree.range_uj = 65_532_610_987  # the shortest in use: AMD
    tree.add("intel-rapl:0", "package-0")
    rapl = meter(tree, clock)
    rapl.open()
    (channel,) = rapl.channels()
    assert channel.wrap_j is not None
    assert channel.power_w_max is not None
    assert rapl.poll_interval_s < channel.wrap_j / channel.power_w_max / 2


def span(traces: list[Trace]) -> tuple[int, int]:
    return int(traces[0].t_ns[0]), int(traces[0].t_ns[-1])
