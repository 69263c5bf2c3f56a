"""A device polled faster than it renews its value: the period is estimated, and the budget holds; with mutants."""

from __future__ import annotations

import itertools
import os
import random
import sqlite3

import numpy as np
import pytest

from edgejoule.energy import energy, integral, renewal
from edgejoule.energy.renewal import Renewal, at_renewals, renewal_of
from edgejoule.meters.base import Channel, Domain, Method, Sample, ValueKind
from edgejoule.meters.trace import Trace
from edgejoule.store.traces import TRACE_SCHEMA, RunTraces
from edgejoule.testing.examine import Conformance, examine
from edgejoule.testing.instrument import Circuit, Instrument, Rig

SEEDS = range(1, 201)
ORIGIN_NS = 5_000_000_000_000
POLL_S = 0.05
STEP_W = 0.01


def seed() -> int:
    chosen = int(os.environ.get("EDGEJOULE_TEST_SEED") or random.SystemRandom().randrange(2**32))
    print(f"EDGEJOULE_TEST_SEED={chosen}")
    return chosen


def channel(kind: ValueKind = ValueKind.INSTANT) -> Channel:
    return Channel("emulated", "rail", Domain.RAIL, kind, Method.MEASURED, 0.0, 0.0, STEP_W)


def polled(rng: np.random.Generator, value_at, seconds: float, poll_s: float = POLL_S) -> Trace:
    """As a scheduler polls: always a little late."""
    count = round(seconds / poll_s)
    time_s = (np.arange(count) + rng.exponential(0.02, count)) * poll_s
    value = np.round(value_at(time_s) / STEP_W) * STEP_W
    return Trace(channel(), ORIGIN_NS + np.round(time_s * 1e9).astype(np.int64), value, poll_s)


def stairs(rng: np.random.Generator, period_s: float, seconds: float, noise_w: float = 0.1) -> Trace:
    phase_s, value = rng.uniform(0, period_s), rng.normal(5, noise_w, round(seconds / period_s) + 3)
    return polled(rng, lambda t: value[((t + phase_s) // period_s).astype(int)], seconds)


@pytest.mark.parametrize("polls", [3, 3.7, 7.3, 20, 41.5])
def test_the_period_is_estimated_at_any_ratio_to_the_polls(polls: float) -> None:
    rng = np.random.default_rng(seed())
    result = [renewal_of(stairs(rng, polls * POLL_S, 80 * polls * POLL_S)) for _ in range(30)]
    periods = [each.period_s / POLL_S for each in result if each]
    assert len(periods) >= 28
    assert periods == pytest.approx([polls] * len(periods), rel=0.04)


def false_estimate_share(trace_of, runs: int = 40) -> float:
    """Returns the share of random traces with an estimated period."""
    rng = np.random.default_rng(seed())
    return float(np.mean([renewal_of(trace_of(rng)) is not None for _ in range(runs)]))


def coarse_ramp(rng: np.random.Generator) -> Trace:
    return polled(rng, lambda t: 5 + 0.03 * t, 30)


def rare_changes(rng: np.random.Generator) -> Trace:
    steps = np.where(rng.random(3000) < rng.uniform(0.05, 0.6), rng.integers(-3, 4, 3000), 0)
    return polled(rng, lambda t: 5 + np.cumsum(steps[: len(t)]) * STEP_W, 60)


def noise(rng: np.random.Generator) -> Trace:
    return polled(rng, lambda t: rng.normal(5, rng.uniform(0.001, 0.2), len(t)), 40)


@pytest.mark.parametrize("trace_of", [coarse_ramp, rare_changes, noise])
def test_a_power_that_changes_by_itself_is_no_slow_renewal(trace_of) -> None:
    assert false_estimate_share(trace_of) <= 0.05


def test_a_constant_power_shows_nothing_about_the_device() -> None:
    assert false_estimate_share(lambda rng: polled(rng, lambda t: np.full(len(t), 5.0), 30)) == 0


def test_mutant_that_takes_single_steps_of_the_resolution_for_renewals_is_detected(monkeypatch) -> None:
    monkeypatch.setattr(renewal, "_single_steps", lambda step, resolution: False)
    assert false_estimate_share(coarse_ramp) > 0.05


def test_mutant_that_does_not_ask_whether_gaps_are_random_is_detected(monkeypatch) -> None:
    monkeypatch.setattr(renewal, "_RANDOM_SHARE", 99.0)
    monkeypatch.setattr(renewal, "_RANDOM_SPREAD", -99.0)
    assert false_estimate_share(rare_changes) > 0.05


def test_one_reading_for_each_renewal_is_kept_also_where_two_are_equal_and_where_one_failed() -> None:
    value = np.repeat([1.0, 2.0, 2.0, 3.0, 1.0], 4)
    value[[5, 18]] = np.nan
    trace = Trace(
        channel(), ORIGIN_NS + np.arange(20) * 50_000_000, value, POLL_S, {5: "EIO", 18: "EAGAIN"}
    )  # fmt: skip
    kept = at_renewals(trace, Renewal(0.2, POLL_S))
    good = ~np.isnan(kept.value)
    assert kept.value[good].tolist() == [1, 2, 2, 3, 1]
    assert ((kept.t_ns[good] - ORIGIN_NS) / 200_000_000).tolist() == [0, 1, 2, 3, 4]
    assert [kept.reasons[i] for i in np.flatnonzero(~good).tolist()] == ["EIO", "EAGAIN"]
    assert kept.interval_s == 0.2


def test_a_silence_longer_than_three_renewals_is_a_gap_and_a_shorter_one_is_not() -> None:
    rng = np.random.default_rng(seed())
    whole = stairs(rng, 0.5, 60)
    for lost_s, gaps in ((0.9, 0), (2.4, 1)):
        keep = np.abs((whole.t_ns - ORIGIN_NS) / 1e9 - 30) > lost_s / 2
        result = energy(
            Trace(whole.channel, whole.t_ns[keep], whole.value[keep], POLL_S),
            ORIGIN_NS + 10**10,
            ORIGIN_NS + 5 * 10**10,
        )
        assert len(result.gaps) == gaps


def test_the_store_gives_the_same_as_the_readings_in_memory() -> None:
    rng = np.random.default_rng(seed())
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.row_factory = sqlite3.Row
    connection.executescript(f"CREATE TABLE runs (id INTEGER PRIMARY KEY); INSERT INTO runs VALUES (1); {TRACE_SCHEMA}")
    trace, ends = stairs(rng, 0.5, 60), (ORIGIN_NS + 3_300_000_000, ORIGIN_NS + 55_100_000_000)
    rows = RunTraces(connection, 1)
    rows.insert(trace)
    memory, stored = energy(trace, *ends), energy(rows.stored()[0], *ends)
    assert memory.renewal is not None
    assert stored.renewal == memory.renewal
    assert stored.energy_j == pytest.approx(memory.energy_j, rel=1e-9)
    assert stored.uncertainty_k2_j == pytest.approx(memory.uncertainty_k2_j, rel=1e-6)


# Known joules: an instrument whose value is an instant one, renewed slower than it is polled.


def slow_instrument(period_s: float, poll_s: float, noise_w: float, change_s: float, duration_s: float) -> Instrument:
    """period_s, poll_s: of its value; noise_w: of the load between two renewals, white."""

    def connect(circuit: Circuit, clock_ns) -> Rig:
        meter = SlowMeter(circuit, clock_ns, poll_s, period_s, noise_w)
        return Rig(meter, meter.advance)

    return Instrument("slow", connect, 2.0, 8.0, duration_s, change_s, frozenset())


class SlowMeter:
    name, method, domain = "slow", Method.MEASURED, Domain.RAIL
    gain_rel = 0.002

    def __init__(self, circuit: Circuit, clock_ns, poll_s: float, period_s: float, noise_w: float) -> None:
        self._circuit, self._clock_ns, self.poll_interval_s = circuit, clock_ns, poll_s
        rng, count = circuit.rng, int(circuit.duration_s / period_s) + 3
        begins_s = np.arange(count) * period_s - rng.uniform(0, period_s)
        power_w = circuit.load.power_w(begins_s) * (1 + self.gain_rel * circuit.gain_z) + rng.normal(0, noise_w, count)
        self._begins_s, self._power_w = begins_s, np.round(power_w, 3).tolist()
        self._now_s = 0.0

    def advance(self, to_ns: int) -> None:
        self._now_s = to_ns / 1e9

    def channels(self):
        return [Channel("slow", "p", self.domain, ValueKind.INSTANT, self.method, self.gain_rel, 0.0, 1e-3)]

    def open(self) -> None: ...

    def close(self) -> None: ...

    def poll(self):
        last = int(np.searchsorted(self._begins_s, self._now_s, "right")) - 1
        return [Sample("p", self._clock_ns(), self._power_w[last])]


QUICK = slow_instrument(0.25, 0.1, 0.3, 2.0, 60.0)
SLOW = slow_instrument(1.0, 0.1, 0.3, 3.0, 120.0)


def examined(instrument: Instrument) -> Conformance:
    result = examine(instrument, SEEDS)
    print(f"coverage {result.coverage:.1%}, {result.width:.2f} times the RMS error")
    return result


@pytest.mark.slow
@pytest.mark.parametrize("instrument", [QUICK, SLOW], ids=["2.5 polls", "10 polls"])
def test_the_interval_covers_though_the_value_is_polled_faster_than_it_is_renewed(instrument) -> None:
    result = examined(instrument)
    assert result.failings == []
    assert result.flagged == 0  # a slow renewal is no doubt about the run


@pytest.mark.slow
@pytest.mark.parametrize("instrument", [QUICK, SLOW], ids=["2.5 polls", "10 polls"])
def test_mutant_that_takes_every_poll_for_a_sample_covers_too_rarely(instrument, monkeypatch) -> None:
    monkeypatch.setattr(integral, "renewal_at_start", lambda readings: None)
    assert examined(instrument).coverage < 0.7


@pytest.mark.slow
def test_mutant_that_keeps_the_runs_of_identical_values_covers_too_rarely(monkeypatch) -> None:
    monkeypatch.setattr(integral, "at_renewals", lambda trace, renewal: trace)
    assert examined(SLOW).coverage < 0.7


def test_what_a_value_may_be_old_counts_where_the_interval_ends_under_load() -> None:
    rng = np.random.default_rng(seed())
    trace = stairs(rng, 1.0, 60, noise_w=0.05)
    rising = Trace(trace.channel, trace.t_ns, trace.value + (trace.t_ns > trace.t_ns[600]) * 3.0, POLL_S)
    ends = [ORIGIN_NS + round(x * 1e9) for x in (10, 30, 50)]
    across, within = (
        {line.name: line.value_j for line in energy(rising, t0, t1).budget}
        for t0, t1 in ((ends[0], ends[2]), (ends[0], ends[1]))
    )
    assert across["renewal"] == pytest.approx(3 * 0.5 / 3**0.5, rel=0.2)
    assert all(isinstance(x, float) for x in itertools.chain(across.values(), within.values()))
