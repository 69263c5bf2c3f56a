"""The meters of several servers as one, on emulated instruments."""

from __future__ import annotations

import time
from collections.abc import Mapping

import numpy as np
import pytest
from emulated_meter import SteadyMeter

from edgejoule.eco.federation import FederationServer
from edgejoule.energy import domain_energy
from edgejoule.errors import MeterError
from edgejoule.meters.base import Domain, Meter, Method
from edgejoule.meters.sampler import Sampler
from edgejoule.study.servers import DeclaredPower, ServersMeter, of_server

S = 1_000_000_000


def sampled(meter: ServersMeter, seconds: float = 0.3) -> tuple[list[object], int, int]:
    """Its traces, and an interval within them."""
    meter.open()
    with Sampler(meter) as sampler:
        begin_ns = time.monotonic_ns()
        time.sleep(seconds)
        end_ns = time.monotonic_ns()
        sampler.stop()
    meter.close()
    return list(sampler.traces()), begin_ns, end_ns


def test_the_energy_of_all_is_the_sum_of_each_ones() -> None:
    powers = {"low": 2.0, "high": 5.0}
    meter = ServersMeter({name: SteadyMeter("m", Domain.WALL, watts) for name, watts in powers.items()})
    traces, begin_ns, end_ns = sampled(meter)
    whole = domain_energy(traces, begin_ns, end_ns)  # type: ignore[arg-type]
    duration_s = (end_ns - begin_ns) / S
    assert whole.energy_j == pytest.approx(7 * duration_s, rel=1e-6)
    for name, watts in powers.items():
        own = domain_energy(of_server(name, traces), begin_ns, end_ns)  # type: ignore[arg-type]
        assert own.energy_j == pytest.approx(watts * duration_s, rel=1e-6)


def test_a_sum_with_a_modelled_part_is_modelled() -> None:
    meter = ServersMeter({"low": DeclaredPower(FederationServer("low", 0.5, 2, 1), lambda: 0.0), "high": board()})
    assert meter.method is Method.MODELLED
    traces, begin_ns, end_ns = sampled(meter, 0.8)
    assert domain_energy(traces, begin_ns, end_ns).method is Method.MODELLED  # type: ignore[arg-type]
    high = domain_energy(of_server("high", traces), begin_ns, end_ns)  # type: ignore[arg-type]
    assert high.method is Method.MEASURED


def board() -> SteadyMeter:
    return SteadyMeter("m", Domain.BOARD, 3.0)


def test_meters_of_different_things_are_not_summed() -> None:
    parts: Mapping[str, Meter] = {"low": board(), "high": SteadyMeter("m", Domain.WALL, 3.0)}
    with pytest.raises(MeterError, match="different things \\(low board, high wall\\)"):
        ServersMeter(parts).open()


def test_a_meter_with_another_clock_is_refused_with_its_server() -> None:
    there = SteadyMeter("m", Domain.BOARD, 3.0, theirs_ns=lambda t_ns: np.asarray(t_ns) + 5 * S)
    with pytest.raises(MeterError, match="server high: m reports the times of another clock"):
        ServersMeter({"low": board(), "high": there}).open()


def test_a_slow_meter_is_asked_no_more_often_than_it_wants() -> None:
    class Slow(SteadyMeter):
        poll_interval_s = 1.0

    quick, slow = board(), Slow("m", Domain.BOARD, 3.0)
    quick.poll_interval_s = 0.25
    now = [0.0]
    meter = ServersMeter({"low": quick, "high": slow}, clock_s=lambda: now[0])
    meter.open()
    asked = {"low": 0, "high": 0}
    for tick in range(16):
        now[0] = tick * 0.25
        for each in meter.poll():
            asked[each.channel] += 1
    assert asked == {"low": 16, "high": 4}


def test_declared_watts_make_idle_energy_and_energy_of_cpu_time() -> None:
    now_ns, cpu_s = [5 * S], [1.5]
    meter = DeclaredPower(
        FederationServer("low", share=0.25, busy_w=2.0, idle_w=8.0), lambda: cpu_s[0], lambda: now_ns[0]
    )
    meter.open()
    now_ns[0], cpu_s[0] = 15 * S, 4.0  # ten seconds, all of its quarter of a core
    (sample,) = meter.poll()
    assert sample.value == pytest.approx(10 * (8.0 + 2.0))
