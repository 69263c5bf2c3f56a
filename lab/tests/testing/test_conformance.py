"""Conformance: known joules against reported ones; mutants fail."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass, replace
from importlib.metadata import EntryPoint
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner

from edgejoule.cli.main import main
from edgejoule.energy import segments
from edgejoule.errors import MeterError
from edgejoule.meters.base import Channel, Domain, Method, Sample, ValueKind
from edgejoule.testing import examine as examining
from edgejoule.testing import registry
from edgejoule.testing.examine import IDEAL_MAX_REL, examine, run_once
from edgejoule.testing.instrument import Circuit, Evidence, Fault, Instrument, Rig
from edgejoule.testing.instruments.rapl import INSTRUMENT as RAPL
from edgejoule.testing.load import KnownLoad, random_load
from edgejoule.testing.real import compare_with_known

SEEDS = range(1, 201)
FAULT_SEEDS = range(1, 21)


def test_a_loads_energy_is_the_integral_of_its_power() -> None:
    for seed in range(5):
        load = random_load(np.random.default_rng(seed), 10, 1, 50, 0.7)
        time_s = np.linspace(0, 10, 2_000_001)
        power_w = load.power_w(time_s)
        by_sums = np.concatenate([[0], np.cumsum((power_w[1:] + power_w[:-1]) / 2 * np.diff(time_s))])
        assert np.max(np.abs(load.energy_j(time_s) - by_sums)) < 0.005
    assert float(KnownLoad(np.array([1.0, 3.0]), np.array([2.0, 4.0])).energy_j(5.0)) == pytest.approx(2 + 6 + 8)


def test_rapl_keeps_what_it_states() -> None:
    result = examine(RAPL, SEEDS)
    assert result.failings == []
    perfect = run_once(RAPL, 1, ideal=True)
    assert abs(perfect.error_j) / perfect.known_j <= IDEAL_MAX_REL


@pytest.mark.parametrize("fault", sorted(RAPL.faults))
def test_no_fault_makes_a_wrong_figure_without_a_flag(fault: Fault) -> None:
    result = examine(RAPL, FAULT_SEEDS, fault)
    assert result.wrong_unflagged == 0
    if fault in (Fault.DROPOUT, Fault.GARBAGE, Fault.DISCONNECT):
        assert result.flagged == len(FAULT_SEEDS)


# Mutants: a meter or an integral with a known defect must not pass.


@dataclass
class _Channelled:
    """A meter whose channels are changed."""

    meter: object
    changes: dict[str, object]

    def __getattr__(self, name: str):
        return getattr(self.meter, name)

    def channels(self):
        return [replace(channel, **self.changes) for channel in self.meter.channels()]


def on_rapl(changed: type[_Channelled], **changes: object) -> Instrument:
    """RAPL whose meter is changed."""

    def connect(circuit: Circuit, clock_ns) -> Rig:
        rig = RAPL.connect(circuit, clock_ns)
        return replace(rig, meter=changed(rig.meter, changes))

    return replace(RAPL, connect=connect)


@pytest.mark.slow
def test_an_understated_gain_error_fails_the_coverage() -> None:
    assert any("coverage" in failing for failing in examine(on_rapl(_Channelled, gain_rel=0.025), SEEDS).failings)


@pytest.mark.slow
def test_an_overstated_gain_error_fails_the_width() -> None:
    assert any("RMS error" in failing for failing in examine(on_rapl(_Channelled, gain_rel=0.1), SEEDS).failings)


def test_a_wrap_that_is_not_undone_is_no_figure_and_one_that_is_taken_for_energy_is_wrong(monkeypatch) -> None:
    assert not examine(on_rapl(_Channelled, wrap_j=None), FAULT_SEEDS, Fault.WRAP).reported  # refused
    monkeypatch.setattr(segments, "_counter_steps_j", lambda trace, value: np.abs(np.diff(value)))
    monkeypatch.setattr(segments, "_ambiguous_steps", lambda trace, steps_j, steps_s: np.zeros(len(steps_j), np.int8))
    assert examine(RAPL, FAULT_SEEDS, Fault.WRAP).wrong_unflagged == len(FAULT_SEEDS)


def test_a_failed_read_taken_for_zero_is_wrong(monkeypatch) -> None:
    class Zeroed(_Channelled):
        def poll(self):
            return [replace(s, value=0.0, missing_reason=None) if s.value is None else s for s in self.meter.poll()]

    monkeypatch.setattr(segments, "_ambiguous_steps", lambda trace, steps_j, steps_s: np.zeros(len(steps_j), np.int8))
    monkeypatch.setattr(segments, "_counter_steps_j", lambda trace, value: np.maximum(np.diff(value), 0))
    assert examine(on_rapl(Zeroed, wrap_j=None), FAULT_SEEDS, Fault.DROPOUT).wrong_unflagged == len(FAULT_SEEDS)


def test_an_instrument_without_outside_evidence_reports_it() -> None:
    assert Evidence().sentence == "self-consistent only"
    assert Evidence(("a", "b")).sentence == "a; b"


@pytest.mark.parametrize("name", registry.names())
def test_an_instrument_without_errors_is_reported_right(name: str) -> None:
    instrument = registry.instrument(name)
    assert instrument.name == name
    one = run_once(instrument, 1, ideal=True)
    assert one.reported_j is not None, one.reason
    assert abs(one.error_j) <= IDEAL_MAX_REL * one.known_j


@pytest.mark.slow
@pytest.mark.parametrize("name", registry.names())
def test_every_meter_conforms(name: str) -> None:
    instrument = registry.instrument(name)
    assert examine(instrument, SEEDS).failings == []
    for fault in sorted(instrument.faults):
        assert examine(instrument, FAULT_SEEDS, fault).failings == []


def test_a_plug_in_that_cannot_be_loaded_is_reported_only_when_it_is_asked_for() -> None:
    broken = [EntryPoint("broken", "no.such.module:Thing", "edgejoule.conformance")]
    assert registry.names(broken) == ["broken"]
    with pytest.raises(MeterError, match="cannot be loaded: ModuleNotFoundError"):
        registry.instrument("broken", broken)


class Announced:
    """An instrument as a package may also announce it: a class with the attributes of Instrument."""

    name, idle_w, busy_w, duration_s, change_s = "announced", 5.0, 60.0, 20.0, 0.5
    faults, evidence = RAPL.faults, Evidence()

    def connect(self, circuit: Circuit, clock_ns) -> Rig:
        return RAPL.connect(circuit, clock_ns)


def test_a_plug_in_may_announce_an_instrument_or_a_class_of_one(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "somebodys_meter", SimpleNamespace(instrument=RAPL, Announced=Announced))
    plugins = [
        EntryPoint(name, f"somebodys_meter:{attribute}", "edgejoule.conformance")
        for name, attribute in (("value", "instrument"), ("class", "Announced"))
    ]
    assert registry.instrument("value", plugins) is RAPL
    assert not examine(registry.instrument("class", plugins), range(1, 3)).wrong_unflagged


def test_the_command_prints_a_line_per_meter_and_json() -> None:
    table = CliRunner().invoke(main, ["conformance", "rapl", "--seeds", "24", "--fault-seeds", "2"])
    assert table.exit_code == 0, table.output
    assert "Linux powercap.rst" in table.output
    listed = CliRunner().invoke(main, ["conformance", "rapl", "--seeds", "24", "--fault-seeds", "2", "--json"])
    (entry,) = json.loads(listed.stdout)
    assert [x["injected"] for x in entry["conditions"]] == [None, *sorted(map(str, RAPL.faults))]
    assert entry["conditions"][0]["runs"] == 24


def test_the_command_fails_when_a_meter_does_not_conform(monkeypatch) -> None:
    monkeypatch.setattr(examining, "COVERAGE_MIN", 1.0)
    refused = CliRunner().invoke(main, ["conformance", "rapl", "--seeds", "50", "--fault-seeds", "0"])
    assert refused.exit_code == 1


def test_few_seeds_are_judged_by_what_chance_makes_of_the_bar_and_the_full_number_by_the_bar_itself() -> None:
    few = {hits: examining._possible(hits / 12, 12) for hits in (12, 10, 6)}
    assert few == {12: True, 10: True, 6: False}
    full = {hits: examining._possible(hits / 200, 200) for hits in (185, 186, 196, 197)}
    assert full == {185: False, 186: True, 196: True, 197: False}


def test_an_unknown_meter_is_a_usage_error_that_names_the_known_ones() -> None:
    refused = CliRunner().invoke(main, ["conformance", "voltcraft"])
    assert refused.exit_code == 2
    assert "rapl" in refused.output


class _Resistor:
    """A steady load on an instrument that reads a little too much."""

    name, method, domain, poll_interval_s = "resistor", Method.MEASURED, Domain.RAIL, 0.1

    def __init__(self, power_w: float) -> None:
        self.power_w = power_w

    def channels(self):
        return [Channel("resistor", "p", Domain.RAIL, ValueKind.INSTANT, Method.MEASURED, 0.005, 0.0, 1e-4)]

    def open(self) -> None: ...

    def poll(self):
        return [Sample("p", time.monotonic_ns(), self.power_w)]

    def close(self) -> None: ...


@pytest.mark.slow
def test_a_real_meter_agrees_with_a_known_load_within_both_uncertainties_or_does_not() -> None:
    good = compare_with_known(_Resistor(2.015), known_w=2.0, known_u_w=0.01, seconds=1)
    assert good.agrees
    assert good.reported_j / good.known_j == pytest.approx(1.0075, rel=1e-3)
    assert "they agree" in good.sentence
    bad = compare_with_known(_Resistor(2.05), known_w=2.0, known_u_w=0.01, seconds=1)
    assert not bad.agrees
    assert "do NOT agree" in bad.sentence


def test_a_real_meter_that_is_not_there_is_refused_with_its_reason() -> None:
    refused = CliRunner().invoke(main, ["conformance", "ppk2", "--known-w", "5", "--option", "ppk2.port=/dev/nowhere"])
    assert refused.exit_code == 1
    assert "cannot be used here" in refused.output
    assert CliRunner().invoke(main, ["conformance", "--known-w", "5"]).exit_code == 2
    assert CliRunner().invoke(main, ["conformance", "rapl", "--known-w", "5", "--option", "rapl"]).exit_code == 2
