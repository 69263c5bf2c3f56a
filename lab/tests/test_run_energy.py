"""Gross, the two baselines and what lies above each, of a trace whose powers are known; with mutants of the windows."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from edgejoule.dictionary.responses import BASELINE_NET, BASELINE_POWER
from edgejoule.meters.base import Channel, Domain, Method, ValueKind
from edgejoule.meters.trace import Trace
from edgejoule.store import Intervals
from edgejoule.study.run_energy import Quiet, QuietWindows, RunEnergies, energies

ORIGIN_NS = 7_000_000_000_000
STEPS = ((1.0, 1.0), (2.0, 1.4), (4.0, 3.0), (5.0, 1.6), (6.0, 1.2))  # until s: W. idle, open, run, open, idle
IDLE_W, OPEN_W, RUN_W, RUN_S = 1.1, 1.5, 3.0, 2.0  # at the run


def at(seconds: float) -> int:
    return ORIGIN_NS + round(seconds * 1e9)


def trace(method: Method = Method.MEASURED) -> Trace:
    """Means of 1 ms each, so that the steps lie between two readings."""
    t_s = np.arange(6001) * 0.001
    value = np.select([t_s <= end_s for end_s, _ in STEPS], [watts for _, watts in STEPS])
    channel = Channel("emulated", "board", Domain.BOARD, ValueKind.INTERVAL_MEAN, method, 0.01, 0.01, 0.0)
    return Trace(channel, ORIGIN_NS + np.round(t_s * 1e9).astype(np.int64), value, 0.001)


RUN = Intervals(at(2), at(3.5), at(4), True)
GOOD = Quiet(QuietWindows((at(0), at(1)), (at(5), at(6))), QuietWindows((at(1), at(2)), (at(4), at(5))))


def values(energies: RunEnergies) -> dict[str, float | None]:
    return {r.name: r.value for r in energies.responses}


def wrong(quiet: Quiet) -> list[str]:
    """Which figures are not those that the trace was made of."""
    result = values(energies([trace()], RUN, quiet, 1000))
    expected = {
        "energy_j": RUN_W * RUN_S, "power_idle_w": IDLE_W, "power_quiet_w": OPEN_W,
        "energy_net_j": (RUN_W - IDLE_W) * RUN_S, "energy_net_quiet_j": (RUN_W - OPEN_W) * RUN_S,
        "power_net_w": RUN_W - IDLE_W,
    }  # fmt: skip
    return [name for name, value in expected.items() if result[name] != pytest.approx(value, rel=1e-6)]


def test_gross_both_baselines_and_both_nets_stand_side_by_side() -> None:
    assert wrong(GOOD) == []


@pytest.mark.parametrize(
    ("mutant", "caught"),
    [
        (
            Quiet(GOOD.open, GOOD.idle),
            {"power_idle_w", "power_quiet_w", "power_net_w", "energy_net_j", "energy_net_quiet_j"},
        ),
        (
            dataclasses.replace(GOOD, open=QuietWindows((at(1), at(2.1)), GOOD.open.after)),  # first operations in it
            {"power_quiet_w", "energy_net_quiet_j"},
        ),
        (
            dataclasses.replace(GOOD, open=QuietWindows(GOOD.open.before, (at(3.9), at(5)))),  # not settled yet
            {"power_quiet_w", "energy_net_quiet_j"},
        ),
        (
            dataclasses.replace(GOOD, idle=QuietWindows((at(0), at(1.2)), GOOD.idle.after)),  # the database opens in it
            {"power_idle_w", "power_net_w", "energy_net_j"},
        ),
    ],
)
def test_windows_that_are_not_what_they_should_be_are_detected(mutant: Quiet, caught: set[str]) -> None:
    assert set(wrong(mutant)) == caught


def test_a_window_that_reaches_into_the_run_leaves_net_missing_with_its_reason() -> None:
    early = QuietWindows((at(1), at(2.1)), GOOD.open.after)
    result = energies([trace()], RUN, dataclasses.replace(GOOD, open=early), 1000)
    (net,) = (r for r in result.responses if r.name == "energy_net_quiet_j")
    assert net.value is None
    assert "reaches into the run" in (net.missing_reason or "")


def test_a_run_without_a_window_has_no_such_net_and_reports_why_and_never_zero() -> None:
    result = energies([trace()], RUN, dataclasses.replace(GOOD, open=QuietWindows(why_none="not measured")), 1000)
    for name in (BASELINE_POWER["quiet"], BASELINE_NET["quiet"]):
        (r,) = (r for r in result.responses if r.name == name)
        assert (r.value, r.uncertainty_k2, r.missing_reason) == (None, None, "not measured")
    assert values(result)["energy_net_j"] == pytest.approx((RUN_W - IDLE_W) * RUN_S)
    assert result.baselines["quiet"]["before_w"] is None
    assert result.baselines["quiet"]["missing_reason"] == "not measured"


def test_windows_without_a_reading_of_this_meter_are_kept_for_another_ones_trace() -> None:
    deaf = trace()
    deaf.value[4000:5000] = np.nan
    deaf = dataclasses.replace(deaf, reasons=dict.fromkeys(range(4000, 5000), "EIO"))
    quiet = energies([deaf], RUN, GOOD, 1000).baselines["quiet"]
    assert quiet["before_w"] is None
    assert quiet["missing_reason"]
    assert quiet["windows_ns"] == [[at(1), at(2)], [at(4), at(5)]]
    assert (
        energies([deaf], RUN, dataclasses.replace(GOOD, open=QuietWindows()), 1).baselines["quiet"]["windows_ns"]
        is None
    )


def test_a_run_without_any_reading_is_flagged_with_the_reason() -> None:
    silent = trace()
    silent = dataclasses.replace(silent, t_ns=silent.t_ns[:0], value=silent.value[:0])
    result = energies([silent], RUN, GOOD, 1000)
    assert values(result)["energy_j"] is None
    assert any(flag.startswith("no energy: ") for flag in result.flags)
    assert energies([trace()], RUN, GOOD, 1000).flags == []


def test_a_window_too_short_for_a_mean_is_none() -> None:
    short = QuietWindows((at(1.9), at(2)), (at(4), at(4.1)))
    assert short.refusal
    assert GOOD.open.refusal is None


def test_net_may_be_negative_and_is_not_clamped() -> None:
    hungry = Intervals(at(1), at(1.5), at(1.8), True)
    result = energies([trace()], hungry, Quiet(GOOD.idle, QuietWindows((at(0.2), at(0.9)), (at(2), at(4)))), 1000)
    assert values(result)["energy_net_quiet_j"] < 0


def test_the_windows_and_the_drift_between_them_are_kept() -> None:
    result = energies([trace()], RUN, GOOD, 1000)
    idle, quiet = result.baselines["idle"], result.baselines["quiet"]
    assert (idle["before_w"], idle["after_w"]) == pytest.approx((1.0, 1.2), rel=1e-3)
    assert (quiet["before_w"], quiet["after_w"]) == pytest.approx((1.4, 1.6), rel=1e-3)
    spreads = {r.name: r.uncertainty_k2 for r in result.responses}
    for name, facts in result.baselines.items():
        drift_j = 0.2 / 2 * RUN_S / 3**0.5
        assert facts["net_budget_j"]["baseline drift"] == pytest.approx(drift_j, rel=1e-2)
        assert spreads[BASELINE_NET[name]] >= 2 * drift_j * 0.99
        assert facts["method"] == "measured"
