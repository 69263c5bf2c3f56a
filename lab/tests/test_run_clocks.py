"""Clocks around a run: exchanges with a meter's host, marker bursts in its trace, and what both make of its joules."""

from __future__ import annotations

import contextlib
import re
import threading
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from emulated_meter import SteadyMeter

from edgejoule.cli.main import main
from edgejoule.clocks.alignment import by_markers
from edgejoule.clocks.clock_exchange import Responder
from edgejoule.clocks.marker import BURST_S, REST_S, Marker, check, pattern_ns
from edgejoule.energy import Energy, energy
from edgejoule.errors import DataError, UsageError
from edgejoule.experiment.model import Spec, Timing
from edgejoule.experiment.plan import make_plan
from edgejoule.meters.base import Channel, Clock, Domain, Method, ValueKind
from edgejoule.meters.clocks import DRIFT_UNKNOWN, Arrivals, ClockRelation
from edgejoule.meters.trace import Trace
from edgejoule.store import Intervals, Run, RunData, Store
from edgejoule.study import run_clocks
from edgejoule.study.metering import Metering, checked
from edgejoule.study.run_clocks import ClockPlan, RunClocks, clock_plan, refined

SECOND = 10**9
SPEC = 'name = "s"\nquestion = "?"\n[factors]\ndatabase = ["noop"]\n[fixed]\nworkload = "workloada"'


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    spec = Spec.model_validate(tomllib.loads(SPEC))
    with Store.open(tmp_path / "store.db", create=True) as opened:
        opened.create_experiment(spec, "", make_plan(spec), energy_words="", energy_min_ratio=None, environment={})
        yield opened


@dataclass
class TwoClocks:
    """This host's clock, which can be moved on, and the meter host's: another origin, another rate."""

    ahead_ns: int = 0
    origin_ns: int = 7_000 * SECOND
    drift: float = 80e-6

    def ours_ns(self) -> int:
        return time.monotonic_ns() + self.ahead_ns

    def theirs_ns(self) -> int:
        return int(self.as_theirs(self.ours_ns()))

    def as_theirs(self, ours_ns: int | np.ndarray) -> int | np.ndarray:
        gained = np.rint((np.asarray(ours_ns) - self.base_ns) * self.drift).astype(np.int64)
        return ours_ns + self.origin_ns + gained

    def __post_init__(self) -> None:
        self.base_ns = time.monotonic_ns()


@contextlib.contextmanager
def served(clock_ns: Callable[[], int]) -> Iterator[Responder]:
    """A responder with that clock in a thread."""
    with Responder(clock_ns=clock_ns) as responder:
        ending = threading.Event()
        thread = threading.Thread(target=responder.serve, args=(60.0, ending.is_set))
        thread.start()
        try:
            yield responder
        finally:
            ending.set()
            thread.join()


RUN_S, PERIOD_S, BUSY_W, QUIET_W = 600.0, 40.0, 10.0, 2.0


def square_w(since_s: np.ndarray) -> np.ndarray:
    """10 W in the first half of every 40 s, 2 W in the second."""
    return np.where(since_s % PERIOD_S < PERIOD_S / 2, BUSY_W, QUIET_W)


def remote(
    clocks: TwoClocks, begin_ns: int, marks: Sequence[Marker] = (), *, late_s: float = 0.0, rate_hz: float = 100.0
) -> Trace:
    """What a meter on the other host shows, on that host's clock; its lines come 0.05 to 0.25 s later."""
    rng = np.random.default_rng(4)
    since_s = np.arange(-10, RUN_S + 10, 1 / rate_hz) + 0.0037  # the load does not step as a sample is taken
    ours_ns = begin_ns + np.rint(since_s * 1e9).astype(np.int64)
    power_w = square_w(since_s)
    for marker in marks:
        for on_ns, off_ns in marker.busy_ns:
            power_w[(ours_ns >= on_ns) & (ours_ns < off_ns)] += 5.0
    t_ns = np.asarray(clocks.as_theirs(ours_ns)) + round(late_s * 1e9)
    channel = Channel(
        "trace", "power", Domain.BOARD, ValueKind.INSTANT, Method.MEASURED, 1e-5, 0.0, 0.0, clock=Clock.DEVICE,
        delay_s_max=1.0,
    )  # fmt: skip
    arrived = ours_ns[::25] + rng.integers(50_000_000, 250_000_000, len(ours_ns[::25]))
    return Trace(channel, t_ns, power_w, 1 / rate_hz, arrivals=Arrivals(t_ns[::25], arrived))


def kept(store: Store, trace: Trace, clocks: RunClocks, begin_ns: int) -> tuple[Energy, dict, tuple[str, ...]]:
    """The energy of an interval whose ends lie in busy time, as the store has it when the clocks are settled."""
    levels = store.runs(1)[0].levels
    store.record(1, Run(0, 0, levels, "failed", cause="not over"), RunData(traces=[trace]))
    result = clocks.findings([store.readings(1)], lambda m, c, r: store.relate(1, m, c, r))
    (readings,) = store.readings(1)
    return energy(readings, *interval_ns(begin_ns)), result.facts, result.flags


def interval_ns(begin_ns: int) -> tuple[int, int]:
    """Late in the run, from 0.1 s before a rise to 0.1 s before the fall."""
    return begin_ns + round(559.9 * SECOND), begin_ns + round(579.9 * SECOND)


TRUE_J = 0.1 * QUIET_W + 19.9 * BUSY_W


def by_exchange(store: Store, *, drift: float = 80e-6) -> tuple[Energy, dict, tuple[str, ...]]:
    clocks = TwoClocks(drift=drift)
    with served(clocks.theirs_ns) as responder:
        run = RunClocks(ClockPlan(servers={"trace": responder.address}), clocks.ours_ns)
        run.begin()
        begin_ns = clocks.ours_ns() + 10 * SECOND
        clocks.ahead_ns += round((RUN_S + 20) * 1e9)
        run.end()
    return kept(store, remote(clocks, begin_ns), run, begin_ns)


def within(energy: Energy) -> bool:
    """The truth lies in the k=2 interval, and that is narrow enough to resolve an eighth of a second."""
    assert energy.energy_j is not None
    assert energy.uncertainty_k2_j is not None
    return abs(energy.energy_j - TRUE_J) <= energy.uncertainty_k2_j < 1


@pytest.mark.parametrize("drift", [80e-6, -350e-6])
def test_the_joules_of_a_square_load_are_right_by_exchanges_with_the_meters_host(store: Store, drift: float) -> None:
    result, facts, flags = by_exchange(store, drift=drift)
    assert flags == ()
    assert within(result)
    assert "timing" in {line.name for line in result.budget}
    (exchange,) = facts["exchanges"]
    # drift_u allows for what a crystal of DRIFT_UNKNOWN gains within a series, which a busy machine makes longer.
    allowed = 3 * exchange["relation"]["drift_u"] * max(1, abs(drift) / DRIFT_UNKNOWN)
    assert exchange["relation"]["drift"] == pytest.approx(-drift / (1 + drift), abs=allowed + 1e-9)
    assert facts["meters"][0]["source"] == "exchanges"


Relate = Callable[..., ClockRelation]


def mutated(monkeypatch: pytest.MonkeyPatch, change: Callable[[ClockRelation], ClockRelation]) -> None:
    right = run_clocks.relation
    monkeypatch.setattr(run_clocks, "relation", lambda *series: change(right(*series)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("sign of the offset", lambda r: replace(r, host_ns=2 * r.device_ns - r.host_ns)),
        ("drift ignored", lambda r: replace(r, drift=0.0)),
        ("sign of the drift", lambda r: replace(r, drift=-r.drift)),
        ("offset applied twice", lambda r: replace(r, host_ns=2 * r.host_ns - r.device_ns)),
    ],
)
def test_mutants_fail_that_bar(
    name: str, change: Callable[[ClockRelation], ClockRelation], store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    mutated(monkeypatch, change)
    result, _, flags = by_exchange(store, drift=400e-6)
    assert result.energy_j is None or not within(result), name
    assert flags or "drift" in name, "an offset that is wrong is flagged by when the readings arrive"


def test_mutant_that_relates_times_twice_fails_that_bar(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    right = ClockRelation.to_host_ns
    monkeypatch.setattr(ClockRelation, "to_host_ns", lambda self, t: right(self, right(self, t)))
    result, *_ = by_exchange(store)
    assert result.energy_j is None


def test_a_server_that_stops_answering_is_flagged_and_its_drift_no_longer_known(store: Store) -> None:
    clocks = TwoClocks()
    with served(clocks.theirs_ns) as responder:
        run = RunClocks(ClockPlan(servers={"trace": responder.address}), clocks.ours_ns)
        run.begin()
        begin_ns = clocks.ours_ns() + 10 * SECOND
    clocks.ahead_ns += round((RUN_S + 20) * 1e9)
    run.end()
    result, facts, flags = kept(store, remote(clocks, begin_ns), run, begin_ns)
    assert any("clock serve" in flag for flag in flags)
    assert within(result)
    assert facts["exchanges"][0]["series"][1] is None
    assert facts["exchanges"][0]["relation"]["drift_u"] > 5e-5


def test_a_server_that_never_answers_leaves_the_arrivals_and_a_flag(store: Store) -> None:
    clocks = TwoClocks()
    with served(clocks.theirs_ns) as responder:
        address = responder.address
    run = RunClocks(ClockPlan(servers={"trace": address}), clocks.ours_ns)
    run.begin()
    begin_ns = clocks.ours_ns() + 10 * SECOND
    run.end()
    result, facts, flags = kept(store, remote(clocks, begin_ns), run, begin_ns)
    assert len(flags) == 1
    assert result.energy_j == pytest.approx(TRUE_J, abs=result.uncertainty_k2_j)
    assert facts["meters"][0]["source"] == "arrivals"


def test_a_server_with_another_clock_than_the_meters_is_flagged(store: Store) -> None:
    clocks = TwoClocks()
    with served(time.time_ns) as responder:
        run = RunClocks(ClockPlan(servers={"trace": responder.address}), time.monotonic_ns)
        run.begin()
        begin_ns = clocks.ours_ns() + 10 * SECOND
        run.end()
    result, _, flags = kept(store, remote(clocks, begin_ns), run, begin_ns)
    assert result.energy_j is None
    assert any("where their arrival puts them" in flag for flag in flags)


def marked(
    store: Store, *, late_s: float = 0.0, rate_hz: float = 100.0, monkeypatch: pytest.MonkeyPatch
) -> tuple[Energy, dict, tuple[str, ...]]:
    """With a marker before and after, and no server; the trace's arrivals leave half a second open."""
    clocks = TwoClocks()
    begin_ns = clocks.ours_ns() + 10 * SECOND
    starts_ns = [begin_ns - 6 * SECOND, begin_ns + round((RUN_S + 3) * 1e9)]
    markers = [Marker(tuple(pattern_ns(at_ns))) for at_ns in starts_ns]
    made = iter(markers)
    monkeypatch.setattr(run_clocks, "burst", lambda: next(made))
    run = RunClocks(ClockPlan(marker=True), clocks.ours_ns)
    run.mark()
    run.mark()
    return kept(store, remote(clocks, begin_ns, markers, late_s=late_s, rate_hz=rate_hz), run, begin_ns)


def test_markers_that_agree_with_the_arrivals_make_the_offset_known_to_milliseconds(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    result, facts, flags = marked(store, monkeypatch=monkeypatch)
    assert flags == ()
    assert within(result)
    (meter,) = facts["meters"]
    assert [s["agrees"] for s in meter["sightings"]] == [True, True]
    assert meter["relation"]["offset_s"] < 0.01
    assert "2 of 2 markers seen" in meter["words"]
    budget = {line.name: line.value_j for line in result.budget}
    steps_j = (BUSY_W - QUIET_W) * meter["relation"]["offset_s"]
    assert steps_j * 0.5 < budget["timing"] < np.hypot(2 * steps_j, 2 * meter["relation"]["drift_u"] * TRUE_J)


def test_mutant_that_leaves_the_markers_unused_is_far_less_sure(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_clocks, "refined", lambda stated, *_: stated)
    assert not within(marked(store, monkeypatch=monkeypatch)[0])


def test_mutant_that_moves_by_the_marker_the_wrong_way_fails(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    right = run_clocks.refined

    def wrong(stated: ClockRelation, *rest: object) -> ClockRelation:
        result = right(stated, *rest)
        at_ns = stated.device_ns
        moved = int(result.to_host_ns(np.array([at_ns]))[0]) - int(stated.to_host_ns(np.array([at_ns]))[0])
        return replace(result, host_ns=result.host_ns - 2 * moved)

    monkeypatch.setattr(run_clocks, "refined", wrong)
    assert not within(marked(store, monkeypatch=monkeypatch)[0])


def test_markers_that_disagree_flag_the_run_with_a_message_and_widen_its_uncertainty(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = run_clocks.StoredTrace.by_arrivals.func
    late = property(lambda self: replace(right(self), host_ns=right(self).host_ns + 1_300_000_000, offset_s=0.01))
    monkeypatch.setattr(run_clocks.StoredTrace, "by_arrivals", late)
    result, facts, flags = marked(store, monkeypatch=monkeypatch)
    assert any("do NOT agree" in flag and "markers seen, shifted by" in flag for flag in flags)
    assert facts["meters"][0]["relation"]["offset_s"] > 0.4
    assert abs((result.energy_j or 0) - TRUE_J) <= (result.uncertainty_k2_j or 0)


def test_a_meter_too_slow_for_the_marker_is_reported_and_not_flagged(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    result, facts, flags = marked(store, rate_hz=2.0, monkeypatch=monkeypatch)
    assert flags == ()
    assert "could not be checked" in facts["meters"][0]["words"]
    assert [s["agrees"] for s in facts["meters"][0]["sightings"]] == [None, None]
    assert result.energy_j is not None


def test_a_marker_that_others_prevented_is_reported_and_not_flagged(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hindered() -> Marker:
        raise DataError("other programs hold the CPUs")

    monkeypatch.setattr(run_clocks, "burst", hindered)
    run = RunClocks(ClockPlan(marker=True))
    run.mark()
    result = run.findings([], lambda *_: None)
    assert result.flags == ()
    assert result.facts["notes"] == ["other programs hold the CPUs"]


def steady(clocks: TwoClocks | None, interval_s: float = 0.01) -> SteadyMeter:
    """5 W, with the times of the meter's host, or of this one."""
    return SteadyMeter("trace", Domain.BOARD, 5.0, clocks.as_theirs if clocks else None, interval_s)


def test_a_metered_run_asks_the_meters_host_before_and_after_and_plays_its_markers_outside_what_is_measured(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    clocks = TwoClocks()
    played: list[int] = []

    def burst() -> Marker:
        played.append(time.monotonic_ns())
        return Marker(tuple(pattern_ns(played[-1])))

    monkeypatch.setattr(run_clocks, "burst", burst)
    with served(clocks.theirs_ns) as responder:
        plan = replace(clock_plan(Timing(marker=True), {"trace": responder.address}, [steady(clocks)]), rest_s=0.02)
        with Metering(store, 1, [steady(clocks)], lambda _: None, plan).during(0) as metered:
            begin_ns = time.monotonic_ns()
            time.sleep(0.3)
            end_ns = time.monotonic_ns()
    facts, flags = checked(metered, Intervals(begin_ns, end_ns, end_ns, True))
    assert not [flag for flag in flags if "clock" in flag]
    assert played[0] + 20_000_000 <= begin_ns < end_ns < played[1]
    recorded_clocks = facts["clocks"]
    assert [len(x["series"]) for x in recorded_clocks["exchanges"]] == [2]
    assert (
        recorded_clocks["wall"][0]["monotonic_ns"] < played[0] < played[1] < recorded_clocks["wall"][1]["monotonic_ns"]
    )
    assert "could not be checked" in recorded_clocks["meters"][0]["words"], "a steady power shows no marker"
    assert facts["meters"][0]["energy"]["settled_j"] == pytest.approx(5.0 * (end_ns - begin_ns) / 1e9, rel=0.01)


@pytest.mark.parametrize(
    ("asked", "interval_s", "played"),
    [(None, 0.01, True), (None, 1.0, False), (True, 1.0, True), (False, 0.01, False)],
)
def test_markers_are_played_where_a_meter_on_another_clock_can_show_them_or_where_asked(
    asked: bool | None, interval_s: float, played: bool
) -> None:
    plan = clock_plan(Timing(marker=asked), {}, [steady(TwoClocks(), interval_s)])
    assert plan.marker is played
    assert plan.marker_s == pytest.approx(2 * BURST_S + REST_S if played else 0)
    assert ("too slow" in (plan.why_not or "")) is (asked is None and not played)


@pytest.mark.parametrize("method", [Method.MODELLED, Method.MEASURED])
def test_a_marker_that_is_seen_late_flags_a_meter_on_this_hosts_clock_and_no_model(
    store: Store, monkeypatch: pytest.MonkeyPatch, method: Method
) -> None:
    begin_ns = time.monotonic_ns() + 10 * SECOND
    marker = Marker(tuple(pattern_ns(begin_ns - 6 * SECOND)))
    monkeypatch.setattr(run_clocks, "burst", lambda: marker)
    run = RunClocks(ClockPlan(marker=True))
    run.mark()
    seen = remote(TwoClocks(), begin_ns, [marker])
    channel = replace(seen.channel, method=method, clock=Clock.HOST_MONOTONIC)
    ours_ns = begin_ns + np.rint((np.arange(len(seen.t_ns)) / 100 - 10 + 0.0037) * 1e9).astype(np.int64)
    late = replace(seen, channel=channel, t_ns=ours_ns + SECOND // 10, arrivals=None)
    _, facts, flags = kept(store, late, run, begin_ns)
    assert any("do NOT agree" in flag for flag in flags) is (method is Method.MEASURED)
    assert ("has no clock" in facts["meters"][0]["words"]) is (method is Method.MODELLED)


def test_a_meter_on_this_hosts_clock_needs_no_marker_and_no_server() -> None:
    own = steady(None)
    assert clock_plan(Timing(), {}, [own]) == ClockPlan()
    with pytest.raises(UsageError, match="are this host's already"):
        clock_plan(Timing(), {"trace": "h:1"}, [own])
    own.name = "a"
    with pytest.raises(UsageError, match="the study has a"):
        clock_plan(Timing(), {"b": "h:1"}, [own])
    assert clock_plan(Timing(), {"trace": "h:1"}, [own]).marker, "a recording that comes afterwards is tied by it"


def rested(monkeypatch: pytest.MonkeyPatch, timing: Timing) -> list[str | float]:
    """What a run with markers does before it begins, in its order: bursts, and seconds of rest."""
    done: list[str | float] = []
    monkeypatch.setattr(run_clocks, "burst", lambda: done.append("burst"))
    monkeypatch.setattr(run_clocks.time, "sleep", done.append)
    run = RunClocks(clock_plan(timing, {}, []))
    run.mark()
    run.rest()
    return done


@pytest.mark.parametrize(
    ("timing", "done"),
    [
        (Timing(marker=True, idle_s=0.5), ["burst", REST_S]),
        (Timing(marker=True, idle_s=30), ["burst", 30]),
        (Timing(marker=False, idle_s=30), []),
    ],
)
def test_power_rests_after_a_burst_as_long_as_it_is_then_checked_and_two_seconds_at_least(
    timing: Timing, done: list[str | float], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert rested(monkeypatch, timing) == done


def test_a_metered_run_rests_between_its_first_burst_and_what_it_measures(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    for name in ("mark", "rest"):
        monkeypatch.setattr(RunClocks, name, lambda _, name=name: done.append(name))
    with Metering(store, 1, [steady(None)], lambda _: None).during(0):
        done.append("run")
    assert done == ["mark", "rest", "run", "mark"]


def test_a_study_whose_clock_server_does_not_answer_is_refused_before_its_first_run(tmp_path: Path) -> None:
    spec, store = tmp_path / "experiment.toml", tmp_path / "s.db"
    spec.write_text(
        "schema_version = 1\n"
        + SPEC
        + "recordcount = 10\noperationcount = 10\n".join(["\n", ""])
        + '[meter]\nclocks = { trace = "127.0.0.1:1" }\n'
    )
    refused = CliRunner().invoke(main, ["run", str(spec), "--store", str(store)])
    assert refused.exit_code == 2, refused.output
    assert "meter.clocks.trace: 127.0.0.1:1" in refused.output
    assert not store.exists()


def test_a_dry_run_counts_the_time_of_the_markers(tmp_path: Path) -> None:
    spec, where = tmp_path / "experiment.toml", ("--store", str(tmp_path / "s.db"))
    spec.write_text(
        'name = "s"\nquestion = "?"\n[factors]\ndatabase = ["noop"]\n'
        '[fixed]\nworkload = "workloada"\nrecordcount = 100\nmaxexecutiontime = 1\noperationcount = 0\n'
        "[timing]\nmarker = true\nidle_s = 0.3\n[meter]\nrun_s_min = 0\n[design]\nreplications = 1"
    )
    output = CliRunner().invoke(main, ["run", str(spec), "--dry-run", *where]).stdout
    without = CliRunner().invoke(main, ["run", str(spec), "--dry-run", "--set", "timing.marker=false", *where]).stdout
    assert "a marker burst before and after each run, with 2 s of rest after the first: 7 s of that time" in output
    assert "marker burst" not in without
    assert _seconds(output) - _seconds(without) == pytest.approx(2 * BURST_S + REST_S, abs=1)


def _seconds(output: str) -> int:
    minutes, seconds = re.search(r"; about (?:(\d+) min )?(\d+) s", output).groups()
    return 60 * int(minutes or 0) + int(seconds)


def seeded(seed: int, rate_hz: float, run_s: float) -> tuple[Trace, list[Marker], Callable[[float], int], float]:
    """A noisy device at 2 W, 5 W more in its markers, whose readings arrive 0 to half a second late; its time of a time
    of the host's, and when the run begins.
    """
    rng = np.random.default_rng([seed, round(rate_hz)])
    begin_s, drift, ahead_s = 1000.0, rng.normal(0, 40e-6), rng.uniform(0, 1e5)

    def theirs_ns(host_s: float) -> int:
        return round((host_s * (1 + drift) + ahead_s) * 1e9)

    markers = [Marker(tuple(pattern_ns(round(at_s * 1e9)))) for at_s in (begin_s - 6, begin_s + run_s + 3)]
    time_s = np.arange(begin_s - 12 + rng.random() / rate_hz, begin_s + run_s + 12, 1 / rate_hz)
    power_w = np.full(len(time_s), 2.0)
    for on_ns, off_ns in (interval for marker in markers for interval in marker.busy_ns):
        on_s, off_s = (t / 1e9 + rng.uniform(-0.002, 0.002) for t in (on_ns, off_ns))
        power_w[(time_s >= on_s) & (time_s < off_s)] += 5.0
    t_ns = np.array([theirs_ns(t) for t in time_s])
    late_s = rng.uniform(0, 0.45) + rng.exponential(0.01, len(time_s))
    channel = replace(steady(TwoClocks()).channels()[0], delay_s_max=0.5)
    arrivals = Arrivals(t_ns, np.rint((time_s + late_s) * 1e9).astype(np.int64))
    trace = Trace(channel, t_ns, power_w + rng.normal(0, 0.4, len(time_s)), 1 / rate_hz, arrivals=arrivals)
    return trace, markers, theirs_ns, begin_s


Tie = Callable[[Trace, Sequence[Marker]], tuple[ClockRelation, bool]]


def by_arrivals_and_markers(trace: Trace, markers: Sequence[Marker]) -> tuple[ClockRelation, bool]:
    checks = [check(trace, marker) for marker in markers]
    result = refined(trace.on_host_clock()[1], markers, checks)
    assert result is not None
    return result, all(each.agrees for each in checks)


def by_markers_alone(trace: Trace, markers: Sequence[Marker]) -> tuple[ClockRelation, bool]:
    result = by_markers(trace, markers)
    return result.relation, all(result.agrees(seen) for seen in result.sightings)


@pytest.mark.parametrize("tie", [by_arrivals_and_markers, by_markers_alone])
@pytest.mark.parametrize(
    ("rates_hz", "seeds"),
    [
        ((20,), range(15)),
        pytest.param((4000,), range(3), marks=pytest.mark.slow),
        pytest.param((10, 50, 200), range(100, 200), marks=pytest.mark.slow),
    ],
)
def test_the_uncertainty_of_a_time_during_the_run_holds_and_no_run_is_flagged_in_vain(
    rates_hz: Sequence[int], seeds: range, tie: Tie
) -> None:
    ratios, agreed = [], []
    for rate_hz in rates_hz:
        for seed in seeds:
            trace, markers, theirs_ns, begin_s = seeded(seed, rate_hz, run_s=30.0)
            known, agree = tie(trace, markers)
            at_s = begin_s + np.random.default_rng(seed).uniform(0, 30)
            reported_ns = int(known.to_host_ns(np.array([theirs_ns(at_s)]))[0])
            ratios.append((reported_ns / 1e9 - at_s) / known.uncertainty_s(reported_ns))
            agreed.append(agree)
    assert np.mean(np.abs(ratios) <= 2) >= 0.93
    assert np.sqrt(np.mean(np.square(ratios))) > 0.25, "not wider than it need be"
    assert np.mean(agreed) >= 0.98
