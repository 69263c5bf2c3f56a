"""Meters that read files, commands, plugs and testers keep their stated accuracy; a defective one is detected."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from edgejoule.meters.base import Sample
from edgejoule.testing.examine import IDEAL_MAX_REL, examine, run_once
from edgejoule.testing.instrument import Circuit, Fault, Instrument, Rig
from edgejoule.testing.instruments import hwmon, nvml, perf, pmic, profile, shelly, tasmota, um25c

INSTRUMENTS = [each.INSTRUMENT for each in (hwmon, pmic, tasmota, shelly, um25c, perf, nvml, profile)]
every_instrument = pytest.mark.parametrize("instrument", INSTRUMENTS, ids=lambda instrument: instrument.name)
FAULTS = [(instrument, fault) for instrument in INSTRUMENTS for fault in sorted(instrument.faults)]


class _Changed:
    """A meter whose samples are changed on their way."""

    def __init__(self, meter, change: Callable[[Sample], Sample]) -> None:
        self._meter, self._change = meter, change

    def __getattr__(self, name: str):
        return getattr(self._meter, name)

    def poll(self) -> list[Sample]:
        return [self._change(sample) for sample in self._meter.poll()]


def defective(instrument: Instrument, change: Callable[[Sample], Sample]) -> Instrument:
    """An instrument whose driver has a defect."""

    def connect(circuit: Circuit, clock_ns: Callable[[], int]) -> Rig:
        rig = instrument.connect(circuit, clock_ns)
        return replace(rig, meter=_Changed(rig.meter, change))

    return replace(instrument, connect=connect)


def scaled(factor: float) -> Callable[[Sample], Sample]:
    return lambda sample: sample if sample.value is None else replace(sample, value=sample.value * factor)


def zero_for_none(sample: Sample) -> Sample:
    return replace(sample, value=0.0, missing_reason=None) if sample.value is None else sample


@every_instrument
def test_an_ideal_instrument_reports_the_drawn_joules(instrument: Instrument) -> None:
    result = run_once(instrument, 1, ideal=True)
    assert result.reason is None
    assert not result.flags
    assert abs(result.error_j) / result.known_j <= IDEAL_MAX_REL


@pytest.mark.parametrize(("instrument", "fault"), FAULTS, ids=[f"{x.name}-{fault}" for x, fault in FAULTS])
def test_no_fault_makes_a_wrong_figure_without_a_flag(instrument: Instrument, fault: Fault) -> None:
    result = examine(instrument, range(1, 3), fault)
    assert result.wrong_unflagged == 0
    if fault in (Fault.GARBAGE, Fault.DISCONNECT):
        assert result.flagged == 2


@every_instrument
@pytest.mark.parametrize("factor", [1000.0, 3.6, 0.5])
def test_a_wrong_unit_is_detected(instrument: Instrument, factor: float) -> None:
    assert examine(defective(instrument, scaled(factor)), range(1, 3)).failings


@every_instrument
def test_zero_for_a_failed_reading_is_detected(instrument: Instrument) -> None:
    gone = frozenset({Fault.DISCONNECT})
    outcomes = (run_once(defective(instrument, zero_for_none), seed, gone) for seed in range(1, 31))
    assert any(outcome.wrong_unflagged or outcome.reason for outcome in outcomes)
