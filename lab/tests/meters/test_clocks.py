"""A device's clock tied to the host's by arrivals alone."""

from __future__ import annotations

import numpy as np
import pytest

from edgejoule.errors import DataError
from edgejoule.meters.clocks import Arrivals, clock_relation

BOOT_NS = 5_000_000_000_000


def arrivals(
    seed: int, *, seconds: float, drift: float, delay_s: float, late_s: float, step_s: float = 0.05
) -> Arrivals:
    """True readings every step; each arrives after the shortest delay and a random one more."""
    rng = np.random.default_rng(seed)
    true_s = np.arange(0, seconds, step_s)
    device_ns = np.rint(true_s * (1 - drift) * 1e9).astype(np.int64)
    host_s = true_s + delay_s + rng.exponential(late_s, len(true_s))
    return Arrivals(device_ns, BOOT_NS + np.rint(np.maximum.accumulate(host_s) * 1e9).astype(np.int64))


@pytest.mark.parametrize("drift", [0.0, 40e-6, -90e-6])
def test_drift_and_offset_are_estimated_below_late_arrivals(drift: float) -> None:
    result = clock_relation(arrivals(1, seconds=300, drift=drift, delay_s=0.002, late_s=0.003), delay_s_max=0.004)
    assert result.drift == pytest.approx(drift, abs=2e-6)
    end_ns = round(300 * (1 - drift) * 1e9)
    assert (int(result.to_host_ns(np.array([end_ns]))[0]) - BOOT_NS) / 1e9 == pytest.approx(300, abs=0.0005)


def test_the_stated_uncertainty_of_a_time_holds_over_many_seeds() -> None:
    errors = []
    for seed in range(200):
        rng = np.random.default_rng([seed, 7])
        drift, delay_s = rng.normal(0, 30e-6), rng.uniform(0, 0.004)
        result = clock_relation(arrivals(seed, seconds=60, drift=drift, delay_s=delay_s, late_s=0.002), 0.004)
        at_s = rng.uniform(0, 60)
        reported_ns = int(result.to_host_ns(np.array([round(at_s * (1 - drift) * 1e9)]))[0])
        error_s = (reported_ns - BOOT_NS) / 1e9 - at_s
        errors.append(error_s / result.uncertainty_s(reported_ns))
    assert np.mean(np.abs(errors) <= 2) >= 0.93
    assert np.sqrt(np.mean(np.square(errors))) > 2 / 3  # nor is it three times too wide


def test_a_short_run_does_not_pretend_to_know_the_drift() -> None:
    result = clock_relation(arrivals(1, seconds=2, drift=50e-6, delay_s=0.0, late_s=0.01), delay_s_max=0.0)
    assert result.drift == 0.0
    assert result.drift_u == pytest.approx(100e-6 / np.sqrt(3))


def test_a_clock_that_no_crystal_has_is_refused_with_a_message() -> None:
    with pytest.raises(DataError, match="ppm off the host's"):
        clock_relation(arrivals(1, seconds=300, drift=0.01, delay_s=0.0, late_s=0.001), delay_s_max=0.0)


def test_without_an_arrival_there_is_no_relation() -> None:
    nothing = np.empty(0, np.int64)
    with pytest.raises(DataError, match="nothing has arrived"):
        clock_relation(Arrivals(nothing, nothing), 0.0)
