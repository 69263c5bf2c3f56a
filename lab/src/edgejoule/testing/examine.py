"""Runs an emulated instrument over many seeds and compares the reported joules with the joules drawn.

One run: a random load, the instrument's errors drawn from what its channels declare, a poll every poll_interval_s with
a little jitter, the traces as the sampler makes them, the energy of an interval inside. The requirement: the k=2
interval covers in 93 to 98 of 100 seeds and is at most three times the actual RMS error; no figure is wrong without a
flag; a run without any error is within 0.01 %.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from edgejoule.energy import Energy, domain_energy
from edgejoule.errors import EdgejouleError
from edgejoule.meters.collector import Collector
from edgejoule.testing.instrument import Circuit, Fault, Instrument, Rig
from edgejoule.testing.load import KnownLoad, random_load

COVERAGE_MIN, COVERAGE_MAX = 0.93, 0.98
RUNS_OF_BAR = 200
WIDTH_MAX = 3.0  # the k=2 half width over the RMS error
WRONG_FACTOR = 2.0  # an error above this many k=2 half widths is wrong
IDEAL_MAX_REL = 1e-4
_BEGIN_NS = 1_000_000_000_000  # of CLOCK_MONOTONIC at the begin of a run: a machine has been up for a while
_DRIFT_PPM = 30.0  # standard deviation of a crystal
_POLL_JITTER_REL = 0.02


@dataclass(frozen=True)
class Outcome:
    """One run. reported_j None: refused, reason says why. flags: gaps and notes."""

    seed: int
    known_j: float
    reported_j: float | None
    uncertainty_k2_j: float | None
    flags: tuple[str, ...]
    reason: str | None

    @property
    def error_j(self) -> float:
        """Reported minus known joules; NaN when refused."""
        return math.nan if self.reported_j is None else self.reported_j - self.known_j

    @property
    def covered(self) -> bool:
        """The k=2 interval holds the known joules."""
        return self.uncertainty_k2_j is not None and abs(self.error_j) <= self.uncertainty_k2_j

    @property
    def wrong_unflagged(self) -> bool:
        """A figure far off its own interval, and nothing was said."""
        if self.uncertainty_k2_j is None or self.flags:
            return False
        return not abs(self.error_j) <= WRONG_FACTOR * self.uncertainty_k2_j + abs(self.known_j) * IDEAL_MAX_REL


@dataclass(frozen=True)
class Conformance:
    """What many seeds said of one meter under one set of faults (none: only the instrument's own errors)."""

    meter: str
    fault: Fault | None
    outcomes: tuple[Outcome, ...]

    @property
    def reported(self) -> list[Outcome]:
        """The runs with an energy."""
        return [outcome for outcome in self.outcomes if outcome.reported_j is not None]

    @property
    def coverage(self) -> float:
        """Share of the reported runs whose interval holds the known joules."""
        return float(np.mean([outcome.covered for outcome in self.reported])) if self.reported else math.nan

    @property
    def rms_error_rel(self) -> float:
        """Root mean square of the relative error."""
        return _rms([outcome.error_j / outcome.known_j for outcome in self.reported])

    @property
    def uncertainty_rel(self) -> float:
        """Root mean square of the relative k=2 half width."""
        return _rms([(outcome.uncertainty_k2_j or math.nan) / outcome.known_j for outcome in self.reported])

    @property
    def width(self) -> float:
        """The k=2 half width over the actual RMS error: 2 when the statement is exact."""
        return self.uncertainty_rel / self.rms_error_rel if self.rms_error_rel > 0 else math.inf

    @property
    def flagged(self) -> int:
        """Runs of which something was said, or which were refused."""
        return sum(bool(outcome.flags) or outcome.reported_j is None for outcome in self.outcomes)

    @property
    def wrong_unflagged(self) -> int:
        """Runs with a wrong figure and no flag. Must be 0."""
        return sum(outcome.wrong_unflagged for outcome in self.outcomes)

    @property
    def failings(self) -> list[str]:
        """Describes every broken promise; empty if none."""
        failings = [f"{self.wrong_unflagged} wrong figures without a flag"] if self.wrong_unflagged else []
        if self.fault is None:
            if not _possible(self.coverage, len(self.reported)):
                failings.append(f"coverage {self.coverage:.1%}, expected {COVERAGE_MIN:.0%} to {COVERAGE_MAX:.0%}")
            if not self.width <= WIDTH_MAX:
                failings.append(f"interval {self.width:.1f} times the RMS error, expected at most {WIDTH_MAX:g}")
        return failings


def _possible(coverage: float, runs: int) -> bool:
    """Returns whether the coverage is within the bar; for fewer runs than RUNS_OF_BAR the bar is widened to the
    binomial's 0.1 % limits.
    """
    low, high = COVERAGE_MIN, COVERAGE_MAX
    if 0 < runs < RUNS_OF_BAR:
        low = _binomial_quantile(0.001, runs, COVERAGE_MIN) / runs
        high = _binomial_quantile(0.999, runs, COVERAGE_MAX) / runs
    return low <= coverage <= high


def _binomial_quantile(p: float, trials: int, success: float) -> int:
    """Returns the smallest k with P(X <= k) >= p. Importing scipy.stats for it would take more than a second."""
    return int(np.searchsorted(special.bdtr(np.arange(trials + 1), trials, success), p))


def examine(
    instrument: Instrument,
    seeds: Sequence[int],
    fault: Fault | None = None,
    report: Callable[[Outcome], None] = lambda _: None,
) -> Conformance:
    """Runs the instrument once for each seed. report: called with every outcome."""
    outcomes = []
    for seed in seeds:
        outcomes.append(run_once(instrument, seed, frozenset() if fault is None else frozenset({fault})))
        report(outcomes[-1])
    return Conformance(instrument.name, fault, tuple(outcomes))


def run_once(
    instrument: Instrument, seed: int, faults: frozenset[Fault] = frozenset(), *, ideal: bool = False
) -> Outcome:
    """One run. ideal: an instrument without errors, on a constant load."""
    rng = np.random.default_rng([seed, sum(map(ord, instrument.name))])
    size = instrument.idle_w, instrument.busy_w
    load = random_load(rng, instrument.duration_s, *size, instrument.change_s)
    if ideal:
        load = KnownLoad(np.array([0.0, instrument.duration_s]), np.full(2, sum(size) / 2))
    gain_z, offset_z, model_z, drift_z = (0.0,) * 4 if ideal else rng.standard_normal(4).tolist()
    circuit = Circuit(
        load, instrument.duration_s, gain_z, offset_z, model_z, drift_z * _DRIFT_PPM, faults, rng
    )  # fmt: skip
    begin_s, end_s = (instrument.duration_s * x for x in (0.08, 0.92))
    known_j = float(load.energy_j(end_s) - load.energy_j(begin_s))
    energy, failure = _measured(instrument, circuit, begin_s, end_s)
    if energy is None:
        return Outcome(seed, known_j, None, None, (), failure)
    flags = (*(f"gap: {gap.reason}" for gap in energy.gaps), *energy.notes, *([failure] if failure else []))
    return Outcome(seed, known_j, energy.energy_j, energy.uncertainty_k2_j, flags, energy.missing_reason)


def _measured(
    instrument: Instrument, circuit: Circuit, begin_s: float, end_s: float
) -> tuple[Energy | None, str | None]:
    """The energy between two times of the run, and what the meter raised."""
    now_ns = _BEGIN_NS

    def clock_ns() -> int:
        return now_ns

    rig = instrument.connect(circuit, clock_ns)
    try:
        rig.advance(0)
        rig.meter.open()
        collector = Collector(rig.meter.channels(), rig.meter.poll_interval_s)
        for at_ns in _poll_times_ns(rig, circuit):
            now_ns = _BEGIN_NS + at_ns
            rig.advance(at_ns)
            collector.add(rig.meter.poll())
        begin_ns, end_ns = (_BEGIN_NS + round(x * 1e9) for x in (begin_s, end_s))
        energy = domain_energy(collector.traces(), begin_ns, end_ns)
    except EdgejouleError as error:
        return None, str(error)
    finally:
        rig.meter.close()
    return energy, None


def _poll_times_ns(rig: Rig, circuit: Circuit) -> list[int]:
    """When the meter is polled, ns since the begin of the run: as a scheduler does it, sometimes late."""
    step_s = rig.meter.poll_interval_s
    count = math.ceil(circuit.duration_s / step_s) + 1
    late = circuit.rng.exponential(_POLL_JITTER_REL, count)
    if Fault.JITTER in circuit.faults:
        late += np.where(circuit.rng.random(count) < 0.05, circuit.rng.uniform(0, 1.5, count), 0)
    times = np.maximum.accumulate((np.arange(count) + late) * step_s * 1e9).astype(np.int64)
    return [int(t) for t in np.unique(times)]


def _rms(values: Sequence[float]) -> float:
    return float(np.sqrt(np.mean(np.square(values)))) if values else math.nan
