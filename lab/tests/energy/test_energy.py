"""From readings to joules: ideal traces, gaps, wraps, baselines, uncertainty; with mutants that must be noticed."""

from __future__ import annotations

import dataclasses
import math
import os
import random

import numpy as np
import pytest

from edgejoule.energy import (
    GAP_SHARE_MAX,
    Baseline,
    Energy,
    baseline,
    comparison_min_ratio,
    domain_energy,
    energy,
    interpolated_baseline,
    net_energy,
    segments,
)
from edgejoule.errors import DataError
from edgejoule.meters.base import Channel, Domain, Method, ValueKind
from edgejoule.meters.trace import Trace

ORIGIN_NS = 5_000_000_000_000
STEP_S = 0.001
WRAP_J = 7.0


def seed() -> int:
    chosen = int(os.environ.get("EDGEJOULE_TEST_SEED") or random.SystemRandom().randrange(2**32))
    print(f"EDGEJOULE_TEST_SEED={chosen}")
    return chosen


def channel(kind: ValueKind, **changes) -> Channel:
    base = Channel("emulated", "board", Domain.BOARD, kind, Method.MEASURED, 0.0, 0.0, 0.0)
    if kind is ValueKind.ACCUMULATOR:
        base = dataclasses.replace(base, wrap_j=WRAP_J, power_w_max=7.0)
    return dataclasses.replace(base, **changes)


def power_w(t_s):
    return 3.0 + 1.5 * np.sin(2 * math.pi * 0.7 * t_s) + 0.4 * t_s


def total_j(t_s):
    """The exact integral of power_w from 0."""
    return 3.0 * t_s + 1.5 * (1 - np.cos(2 * math.pi * 0.7 * t_s)) / (2 * math.pi * 0.7) + 0.2 * t_s**2


def ideal_trace(kind: ValueKind, seconds: float = 6.0, step_s: float = STEP_S, phase_s: float = 0.0) -> Trace:
    t_s = phase_s + np.arange(round(seconds / step_s) + 1) * step_s
    if kind is ValueKind.INSTANT:
        value = power_w(t_s)
    elif kind is ValueKind.ACCUMULATOR:
        value = (2.9 + total_j(t_s)) % WRAP_J
    else:
        value = np.concatenate([[power_w(t_s[0])], np.diff(total_j(t_s)) / np.diff(t_s)])
    return Trace(channel(kind), ORIGIN_NS + np.round(t_s * 1e9).astype(np.int64), value, step_s)


def at(seconds: float) -> int:
    return ORIGIN_NS + round(seconds * 1e9)


def spoiled(trace: Trace, first: int, last: int) -> Trace:
    value = trace.value.copy()
    value[first:last] = np.nan
    return dataclasses.replace(trace, value=value, reasons=dict.fromkeys(range(first, last), "EIO"))


def worst_error(kind: ValueKind, compute, runs: int = 200) -> float:
    rng = random.Random(seed())
    worst = 0.0
    for _ in range(runs):
        trace = ideal_trace(kind, phase_s=rng.random() * STEP_S)
        start = rng.uniform(0.1, 2.0)
        end = rng.uniform(start + 0.5, 5.8)
        result = compute(trace, at(start), at(end))
        exact = total_j(end) - total_j(start)
        worst = max(worst, abs(result.energy_j / exact - 1) if result.energy_j is not None else math.inf)
    return worst


@pytest.mark.parametrize("kind", list(ValueKind))
def test_an_ideal_trace_is_right_to_a_hundredth_of_a_percent_wherever_the_interval_ends(kind: ValueKind) -> None:
    assert worst_error(kind, energy) <= 1e-4


@pytest.mark.parametrize("kind", list(ValueKind))
def test_mutant_without_interpolation_at_the_ends_fails_that_bar(kind: ValueKind) -> None:
    def from_whole_samples(trace: Trace, t0_ns: int, t1_ns: int) -> Energy:
        first, last = np.searchsorted(trace.t_ns, [t0_ns, t1_ns])
        return energy(trace, int(trace.t_ns[first]), int(trace.t_ns[last]))

    assert worst_error(kind, from_whole_samples) > 1e-4


def test_mutant_without_wraps_fails_that_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "_counter_steps_j", lambda trace, value: np.diff(value))
    assert worst_error(ValueKind.ACCUMULATOR, energy, runs=5) > 1e-4


@pytest.mark.parametrize("kind", [ValueKind.INSTANT, ValueKind.INTERVAL_MEAN])
def test_a_short_gap_is_reported_and_widens_the_uncertainty(kind: ValueKind) -> None:
    trace = ideal_trace(kind)
    whole = energy(trace, at(1), at(5))
    result = energy(spoiled(trace, 2000, 2100), at(1), at(5))
    assert result.energy_j == pytest.approx(whole.energy_j, rel=0.03)
    assert result.coverage == pytest.approx(1 - 0.1 / 4, abs=0.001)
    assert sum(gap.end_ns - gap.start_ns for gap in result.gaps) == pytest.approx(0.1e9, rel=0.02)
    assert result.gaps[0].reason == "EIO"
    assert any("gap" in note for note in result.notes)
    assert result.uncertainty_k2_j is not None
    assert abs(result.energy_j - whole.energy_j) < result.uncertainty_k2_j


@pytest.mark.parametrize("kind", [ValueKind.INSTANT, ValueKind.INTERVAL_MEAN])
def test_too_many_gaps_are_refused(kind: ValueKind) -> None:
    share = GAP_SHARE_MAX * 1.2
    result = energy(spoiled(ideal_trace(kind), 2000, 2000 + round(4000 * share)), at(1), at(5))
    assert result.energy_j is None
    assert result.uncertainty_k2_j is None
    assert result.budget == ()
    assert "no reading" in (result.missing_reason or "")
    assert result.gaps


@pytest.mark.parametrize("kind", [ValueKind.INSTANT, ValueKind.INTERVAL_MEAN])
def test_a_late_poll_is_a_gap_of_a_power_trace(kind: ValueKind) -> None:
    trace = ideal_trace(kind)
    keep = np.r_[0:2000, 2100 : len(trace)]
    late = dataclasses.replace(trace, t_ns=trace.t_ns[keep], value=trace.value[keep])
    result = energy(late, at(1), at(5))
    assert [gap.reason for gap in result.gaps] == ["no sample in time"]


def test_an_accumulator_counts_on_through_a_gap_inside() -> None:
    result = energy(spoiled(ideal_trace(ValueKind.ACCUMULATOR), 2000, 2900), at(1), at(5))
    assert result.energy_j == pytest.approx(total_j(5.0) - total_j(1.0), rel=1e-6)
    assert result.coverage == 1.0
    assert result.gaps == ()
    assert any("900 of" in note for note in result.notes)


def test_an_accumulator_gap_over_an_end_is_unknown_time() -> None:
    trace = ideal_trace(ValueKind.ACCUMULATOR)
    assert energy(spoiled(trace, 4900, 5100), at(1), at(5)).gaps
    assert energy(spoiled(trace, 4500, 5100), at(1), at(5)).energy_j is None


@pytest.mark.parametrize("kind", list(ValueKind))
def test_time_outside_the_trace_is_never_filled_silently(kind: ValueKind) -> None:
    trace = ideal_trace(kind)
    slightly = energy(trace, at(-0.1), at(5))
    assert [gap.reason for gap in slightly.gaps] == ["before the first sample"]
    assert energy(trace, at(-1), at(5)).energy_j is None
    assert energy(trace, at(1), at(8)).energy_j is None
    assert energy(trace, at(10), at(12)).energy_j is None


@pytest.mark.parametrize("kind", list(ValueKind))
def test_nearly_no_samples_are_refused_with_the_reason(kind: ValueKind) -> None:
    trace = ideal_trace(kind)
    result = energy(spoiled(trace, 1, len(trace)), at(1), at(5))
    assert result.energy_j is None
    assert "expected at least 2" in (result.missing_reason or "")


def test_an_interval_must_have_a_length() -> None:
    with pytest.raises(DataError, match="before it starts"):
        energy(ideal_trace(ValueKind.INSTANT), at(2), at(2))


@pytest.mark.parametrize("kind", list(ValueKind))
def test_energy_adds_up_over_neighbouring_intervals(kind: ValueKind) -> None:
    rng = random.Random(seed())
    trace = ideal_trace(kind)
    first, middle, last = sorted(rng.uniform(0.1, 5.9) for _ in range(3))
    parts = [energy(trace, at(a), at(b)).energy_j for a, b in ((first, middle), (middle, last), (first, last))]
    assert None not in parts
    assert parts[0] + parts[1] == pytest.approx(parts[2], rel=1e-9)


def test_the_budget_has_gain_offset_model_and_their_root_sum_of_squares() -> None:
    trace = ideal_trace(ValueKind.INSTANT)
    rough = dataclasses.replace(trace, channel=channel(ValueKind.INSTANT, gain_rel=0.01, offset_w=0.02, model_rel=0.2))
    result = energy(rough, at(1), at(5))
    lines = {line.name: line.value_j for line in result.budget}
    assert result.energy_j is not None
    assert lines["gain"] == pytest.approx(0.01 * result.energy_j)
    assert lines["offset"] == pytest.approx(0.02 * 4)
    assert lines["model"] == pytest.approx(0.2 * result.energy_j)
    assert result.uncertainty_k2_j == pytest.approx(2 * math.hypot(*lines.values()))


def test_the_interpolated_ends_of_an_accumulator_are_in_the_budget() -> None:
    coarse = ideal_trace(ValueKind.ACCUMULATOR, step_s=0.05)
    result = energy(coarse, at(1.02), at(5.02))
    (line,) = (line for line in result.budget if line.name == "ends")
    assert line.value_j == pytest.approx(math.hypot(power_w(1.02), power_w(5.02)) * 0.05 / math.sqrt(12), rel=0.02)


def test_channels_of_one_domain_add_up_and_their_gain_is_common() -> None:
    traces = [
        dataclasses.replace(
            ideal_trace(ValueKind.INSTANT), channel=channel(ValueKind.INSTANT, name=name, domain=domain, gain_rel=0.01)
        )
        for name, domain in (("a", Domain.PACKAGE), ("b", Domain.PACKAGE), ("c", Domain.DRAM))
    ]
    one = energy(traces[0], at(1), at(5))
    both = domain_energy(traces, at(1), at(5))
    assert one.energy_j is not None
    assert both.energy_j == pytest.approx(2 * one.energy_j)
    assert {x.name: x.value_j for x in both.budget}["gain"] == pytest.approx(2 * 0.01 * one.energy_j)
    assert domain_energy(traces, at(1), at(5), Domain.DRAM).energy_j == pytest.approx(one.energy_j)


def test_missing_in_one_channel_is_missing_in_the_sum() -> None:
    good = ideal_trace(ValueKind.INSTANT)
    bad = dataclasses.replace(spoiled(good, 2000, 4000), channel=channel(ValueKind.INSTANT, name="second"))
    result = domain_energy([good, bad], at(1), at(5))
    assert result.energy_j is None
    assert "second" in (result.missing_reason or "")


def test_meters_and_domains_are_never_mixed() -> None:
    trace = ideal_trace(ValueKind.INSTANT)
    other = dataclasses.replace(trace, channel=channel(ValueKind.INSTANT, meter="another"))
    with pytest.raises(DataError, match="different meters"):
        domain_energy([trace, other], at(1), at(5))
    with pytest.raises(DataError, match="no channel of domain"):
        domain_energy([trace], at(1), at(5), Domain.WALL)


def test_net_energy_may_be_negative_and_a_common_gain_error_cancels() -> None:
    trace = dataclasses.replace(
        ideal_trace(ValueKind.INSTANT), channel=channel(ValueKind.INSTANT, gain_rel=0.05, offset_w=0.1)
    )
    quiet = baseline([trace], at(4), at(5))
    gross = energy(trace, at(0.1), at(1.5))
    net = net_energy(gross, quiet)
    assert net.energy_j == pytest.approx(gross.energy_j - quiet.power_w * 1.4)
    assert net.energy_j < 0
    lines = {line.name: line.value_j for line in net.budget}
    assert lines["gain"] == pytest.approx(0.05 * abs(net.energy_j))
    assert lines["offset"] == pytest.approx(0.0, abs=1e-9)


def test_one_models_error_is_common_to_an_energy_and_its_baseline() -> None:
    modelled = channel(ValueKind.INSTANT, method=Method.MODELLED, model_rel=0.25)
    trace = dataclasses.replace(ideal_trace(ValueKind.INSTANT), channel=modelled)
    net = net_energy(energy(trace, at(3.2), at(4.2)), baseline([trace], at(0.8), at(1.2)))
    lines = {line.name: line.value_j for line in net.budget}
    assert lines["model"] == pytest.approx(0.25 * abs(net.energy_j))


def windows(trace: Trace) -> tuple[Baseline, Baseline]:
    """Quiet windows of different length before and after a run."""
    return baseline([trace], at(0.5), at(1.0)), baseline([trace], at(4.0), at(5.0))


RUN = at(1.2), at(3.2)  # between the windows, and not in the middle between them
RUN_WEIGHT = (2.2 - 0.75) / (4.5 - 0.75)  # of the window after it


def test_the_interpolated_baseline_is_that_of_the_run_on_the_line_between_the_windows() -> None:
    before, after = windows(ideal_trace(ValueKind.INSTANT))
    result = interpolated_baseline(before, after, *RUN)
    assert result.power_w == pytest.approx((1 - RUN_WEIGHT) * before.power_w + RUN_WEIGHT * after.power_w)
    assert (result.source.start_ns, result.source.end_ns) == RUN
    assert result.source.power_mean_w == pytest.approx(result.power_w)


def test_both_windows_budgets_enter_net_energy_by_their_weight_and_the_runs_duration() -> None:
    noisy = channel(ValueKind.INSTANT, gain_rel=0.02, offset_w=0.1, resolution=0.05)
    trace = dataclasses.replace(ideal_trace(ValueKind.INSTANT), channel=noisy)
    before, after = windows(trace)
    gross = energy(trace, *RUN)
    net = net_energy(gross, interpolated_baseline(before, after, *RUN))
    lines = {line.name: line.value_j for line in net.budget}
    one, two, whole = ({x.name: x.value_j for x in e.budget} for e in (before.source, after.source, gross))
    parts_j = (one["resolution"] / 0.5 * (1 - RUN_WEIGHT) * 2.0, two["resolution"] / 1.0 * RUN_WEIGHT * 2.0)
    assert lines["resolution"] == pytest.approx(math.hypot(whole["resolution"], *parts_j))
    assert lines["gain"] == pytest.approx(0.02 * abs(net.energy_j))
    assert lines["offset"] == pytest.approx(0.0, abs=1e-9)
    drift_w = abs(after.power_w - before.power_w)
    assert lines["baseline drift"] == pytest.approx(drift_w / 2 * 2.0 / math.sqrt(3))
    assert net.uncertainty_k2_j == pytest.approx(2 * math.sqrt(sum(x * x for x in lines.values())))


def test_a_steady_baseline_has_no_drift_and_gaps_of_both_windows_are_kept() -> None:
    trace = dataclasses.replace(ideal_trace(ValueKind.INSTANT), value=np.full(6001, 2.0))
    result = interpolated_baseline(*windows(trace), *RUN)
    assert result.power_w == pytest.approx(2.0)
    assert "baseline drift" not in {line.name for line in result.source.budget}
    holes = interpolated_baseline(*windows(spoiled(spoiled(trace, 600, 610), 4500, 4510)), *RUN)
    assert len(holes.source.gaps) == 2
    assert holes.source.coverage < 1


def test_baselines_that_do_not_belong_together_are_not_interpolated() -> None:
    before, after = windows(ideal_trace(ValueKind.INSTANT))
    wall = dataclasses.replace(after, source=dataclasses.replace(after.source, domain=Domain.WALL))
    with pytest.raises(DataError, match="no middle"):
        interpolated_baseline(before, wall, *RUN)
    for one, two, run in (
        (after, before, RUN),
        (before, after, (at(0.9), at(3.2))),  # the window before has the first operations in it
        (before, after, (at(1.2), at(4.1))),  # the window after the last work
    ):
        with pytest.raises(DataError, match="reaches into the run"):
            interpolated_baseline(one, two, *run)


def net_of_nothing_j(interpolate) -> float:
    """Returns the net energy of an idle run while the machine's power rose steadily: about 0."""
    trace = ideal_trace(ValueKind.INSTANT)
    rising = dataclasses.replace(trace, value=2.0 + 0.3 * np.arange(len(trace.value)) * STEP_S)
    net = net_energy(energy(rising, *RUN), interpolate(*windows(rising), *RUN))
    return net.energy_j


def test_of_a_run_that_did_nothing_on_a_steady_drift_no_net_energy_is_left() -> None:
    assert net_of_nothing_j(interpolated_baseline) == pytest.approx(0.0, abs=1e-9)


def with_power(baseline: Baseline, power_w: float) -> Baseline:
    return dataclasses.replace(baseline, power_w=power_w)


@pytest.mark.parametrize(
    "mutant",
    [
        lambda b, a, *run: with_power(interpolated_baseline(b, a, *run), (b.power_w + a.power_w) / 2),  # halfway
        lambda b, a, *run: with_power(  # a sign error
            interpolated_baseline(b, a, *run), b.power_w - RUN_WEIGHT * (a.power_w - b.power_w)
        ),
        lambda b, a, *run: with_power(  # the weights swapped
            interpolated_baseline(b, a, *run), RUN_WEIGHT * b.power_w + (1 - RUN_WEIGHT) * a.power_w
        ),
        lambda b, a, *run: with_power(interpolated_baseline(b, a, *run), b.power_w),  # the one before alone
        lambda b, a, *run: interpolated_baseline(b, a, run[0], run[0] + 1000),  # at the run's begin
    ],
)
def test_mutants_of_the_interpolation_leave_energy_where_there_is_none(mutant) -> None:
    assert abs(net_of_nothing_j(mutant)) > 1e-3


def covered_share(interpolate) -> float:
    """Of 200 machines whose idle power jumps once, at an unknown time during the run: how often the interval of the net
    energy of a run that did nothing holds the nothing.
    """
    rng = np.random.default_rng(seed())
    trace = ideal_trace(ValueKind.INSTANT, step_s=0.01)
    t_s = np.arange(len(trace.value)) * 0.01
    covered = 0
    for _ in range(200):
        jump_w, when_s = rng.normal(0, 0.3), rng.uniform(1.0, 4.0)
        jumping = dataclasses.replace(trace, value=np.where(t_s < when_s, 2.0, 2.0 + jump_w))
        gross = energy(jumping, at(1.0), at(4.0))
        net = net_energy(gross, interpolate(*windows(jumping), at(1.0), at(4.0)))
        covered += abs(net.energy_j) <= net.uncertainty_k2_j
    return covered / 200


def without_drift(before: Baseline, after: Baseline, t0_ns: int, t1_ns: int) -> Baseline:
    result = interpolated_baseline(before, after, t0_ns, t1_ns)
    lines = tuple(line for line in result.source.budget if line.name != "baseline drift")
    return dataclasses.replace(result, source=dataclasses.replace(result.source, budget=lines))


def test_an_idle_power_that_jumps_during_the_run_stays_inside_the_net_energys_uncertainty() -> None:
    assert covered_share(interpolated_baseline) >= 0.95


def test_the_mutant_without_drift_does_not_cover() -> None:
    assert covered_share(without_drift) < 0.5


def test_no_baseline_comes_from_a_window_without_readings() -> None:
    with pytest.raises(DataError, match="no baseline"):
        baseline([spoiled(ideal_trace(ValueKind.INSTANT), 4000, 5000)], at(4), at(5))


def test_comparison_ratio_of_modelled_joules() -> None:
    assert comparison_min_ratio(0.0) == 1.0
    assert comparison_min_ratio(0.5) == pytest.approx(1.7743, abs=1e-4)
    with pytest.raises(DataError, match="at least 0"):
        comparison_min_ratio(-0.1)


def test_independent_model_errors_rarely_exceed_the_comparison_ratio() -> None:
    rng = np.random.default_rng(seed())
    for interval in (0.25, 0.5):
        sigma = math.log1p(interval) / 2
        ratios = np.exp(rng.normal(0, sigma, 100_000) - rng.normal(0, sigma, 100_000))
        beyond = np.mean((ratios > comparison_min_ratio(interval)) | (ratios < 1 / comparison_min_ratio(interval)))
        assert beyond == pytest.approx(0.0455, abs=0.004)  # k=2
