"""A recording becomes part of stored runs: tied by markers, by exchanges or by its wall clock, or refused."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from click.testing import CliRunner, Result

from edgejoule.cli.import_trace import _messages, _Part, _runs_text
from edgejoule.cli.main import main
from edgejoule.clocks.alignment import Aligned
from edgejoule.clocks.marker import pattern_ns
from edgejoule.dictionary.responses import RESPONSES
from edgejoule.energy import Energy
from edgejoule.experiment.model import Spec
from edgejoule.experiment.plan import make_plan
from edgejoule.findings import find
from edgejoule.findings.design import design_of
from edgejoule.meters.base import Channel, Clock, Domain, Method, ValueKind
from edgejoule.meters.clocks import ClockRelation
from edgejoule.meters.trace import Trace
from edgejoule.recordings import attaching
from edgejoule.report.traces import power_trace
from edgejoule.store import Intervals, ResponseValue, Run, RunData, Store

SCHEMA = Path(__file__).resolve().parents[2] / "schemas/run-record.schema.json"
SPEC = """\
name = "s"
question = "?"
[factors]
database = ["noop"]
[fixed]
workload = "workloada"
[design]
replications = 3
"""
BUSY_W, QUIET_W = 10.0, 2.0
ACTIVE_J = 10 * BUSY_W
TRUE_J = ACTIVE_J + 1 * QUIET_W  # settled a second after the last operation
ENERGIES = (
    "energy_j", "energy_per_op_uj", "power_mean_w", "power_idle_w", "power_quiet_w", "energy_net_j",
    "energy_net_quiet_j",
)  # fmt: skip
REALTIME_S, DRIFT, LATE_S = 1_795_000_000, 450e-6, 3.5
RUNS_S = (1000.0, 1043.7, 1090.1)  # when each of them begins


def ns(seconds: float) -> int:
    return round(seconds * 1e9)


def markers_ns(begin_s: float) -> list[list[tuple[int, int]]]:
    return [pattern_ns(ns(begin_s + 1)), pattern_ns(ns(begin_s + 20))]


def clocks(begin_s: float) -> dict[str, Any]:
    wall = [{"realtime_ns": ns(REALTIME_S + s), "monotonic_ns": ns(s)} for s in (begin_s, begin_s + 23)]
    return {"wall": wall, "markers_ns": markers_ns(begin_s), "notes": [], "exchanges": [], "meters": []}


def load_of(begin_s: float) -> dict[str, Any]:
    """The facts of a load that ends 2 s before the run begins."""
    start, end, settled = (ns(begin_s - s) for s in (7.0, 3.0, 2.0))
    return {
        "name": f"run-{begin_s:g}-noop", "runs_before": 0, "records": 1000, "active_s": 4.0, "settled_s": 5.0,
        "intervals": asdict(Intervals(start, end, settled, True)),
        "idle_windows_ns": [[ns(begin_s - 8), start], [settled, ns(begin_s - 1)]],
        "other_programs": {"cpu_s": 0.0, "own_cpu_s": 1.0, "own_read_bytes": 0, "own_write_bytes": 0, "exceeded": []},
    }  # fmt: skip


def own_trace(begin_s: float, share: float) -> Trace:
    """What the run's own, modelled meter said: a share of the truth."""
    t_ns = np.arange(ns(begin_s), ns(begin_s + 23), 50_000_000)
    channel = Channel("own", "p", Domain.BOARD, ValueKind.INSTANT, Method.MODELLED, 0.0, 0.0, 0.0, model_rel=0.2)
    return Trace(channel, t_ns, share * power_w(t_ns / 1e9), 0.05)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with three finished runs of 10 s, settled after 11 s."""
    return stored(tmp_path / "store.db", clocks)


def stored(
    path: Path,
    clocks_of: Callable[[float], dict[str, Any]],
    own_shares: Sequence[float] = (1, 1, 1),
    *,
    loads: bool = False,
) -> Path:
    """own_shares: of the true energy, by each run's own meter. loads: a load of 5 s was made for each run."""
    spec = Spec.model_validate(tomllib.loads(SPEC))
    with Store.open(path, create=True) as opened:
        number = opened.create_experiment(
            spec, SPEC, make_plan(spec), energy_words="Energy here is MODELLED", energy_min_ratio=1.4, environment={}
        )
        for i, begin_s in enumerate(RUNS_S):
            intervals = Intervals(ns(begin_s + 6), ns(begin_s + 16), ns(begin_s + 17), True)
            facts = {"metering": {"meters": [], "recording_cpu_s": 0.1, "clocks": clocks_of(begin_s)}}
            meters = ({"name": "own", "method": "modelled", "describe": "a model"},)
            windows = [[ns(begin_s + 4), ns(begin_s + 5)], [ns(begin_s + 18), ns(begin_s + 19)]]
            idle = {"method": "modelled", "windows_ns": windows, "before_w": 2.0, "after_w": 2.0}
            none = {**idle, "windows_ns": None, "before_w": None, "after_w": None}
            facts["baselines"] = {
                "idle": {**idle, "net_budget_j": {}, "missing_reason": None},
                "quiet": {**none, "net_budget_j": {}, "missing_reason": "a model says nothing of it"},
            }
            if loads:
                facts["load"] = load_of(begin_s)
            run = Run(
                i, i, {"database": "noop"}, "finished", intervals=intervals, facts=facts, meters=meters,
                responses=tuple(
                    ResponseValue(
                        name, own_shares[i] * TRUE_J if name == "energy_j" else 1.0, RESPONSES[name].unit,
                        "modelled" if RESPONSES[name].is_energy else "timed",
                    )
                    for name in (*ENERGIES, *(("load_energy_j",) if loads else ()), "active_s")
                ),
            )  # fmt: skip
            end = {"event": "end", "monotonic_ns": ns(begin_s + 17), "operations": 1000}
            opened.record(number, run, RunData(events=[end], traces=[own_trace(begin_s, own_shares[i])]))
    return path


def power_w(host_s: np.ndarray, *, visible: bool = True) -> np.ndarray:
    watts = np.full(len(host_s), QUIET_W)
    for begin_s in RUNS_S:
        watts[(host_s >= begin_s + 6) & (host_s < begin_s + 16)] = BUSY_W
        for marker in markers_ns(begin_s) if visible else ():
            for on_ns, off_ns in marker:
                watts[(host_s >= on_ns / 1e9) & (host_s < off_ns / 1e9)] += 5.0
    return watts


def recorded(
    folder: Path,
    *,
    form: str = "relative",
    visible: bool = True,
    late_s: float = LATE_S,
    span_s: tuple[float, float] = (990.0, 1120.0),
) -> Path:
    """What the recorder wrote: 50 lines a second; its clock is late_s ahead of the wall's and drifts."""
    rng = np.random.default_rng(3)
    host_s = np.arange(*span_s, 0.02) + 0.0037
    watts = power_w(host_s, visible=visible) + rng.normal(0, 0.05, len(host_s))
    reported_s = late_s + (host_s - 1000) * (1 + DRIFT)
    path = folder / "bench.csv"
    if form == "relative":
        lines = [f"{t - reported_s[0]:.6f},{w:.4f}" for t, w in zip(reported_s, watts, strict=True)]
    elif form == "epoch":
        lines = [f"{REALTIME_S + 1000 + t:.6f},{w:.4f}" for t, w in zip(reported_s, watts, strict=True)]
    else:
        times = [datetime.fromtimestamp(REALTIME_S + 1000 + t, UTC).isoformat() for t in reported_s]
        lines = [f"{t},{w:.4f}" for t, w in zip(times, watts, strict=True)]
    unit = "iso" if form == "iso" else "s"
    path.write_text("\n".join([f"time_{unit},power_w", *lines]) + "\n")
    return path


def attach(path: Path, store: Path, *arguments: object) -> Result:
    fixed = "--gain-rel", 0.0001, "--offset-w", 0, "--attach", "latest", "--store", store
    return CliRunner().invoke(main, ["import", *map(str, (path, *fixed, *arguments))])


def imported_intervals(result: Result) -> list[dict[str, Any]]:
    assert result.exit_code == 0, result.output
    outcome: list[dict[str, Any]] = json.loads(result.stdout)["intervals"]
    return outcome


def settled(result: Result) -> list[dict[str, Any]]:
    return [part for part in imported_intervals(result) if part["interval"].endswith("settled")]


def within(part: dict[str, Any]) -> bool:
    """The truth lies in the k=2 interval, which is narrower than 20 ms of the load's step."""
    true_j = TRUE_J if part["interval"].endswith("settled") else ACTIVE_J
    return bool(abs(part["energy_j"] - true_j) <= part["uncertainty_k2_j"] < 0.16)


def test_a_recording_with_relative_times_is_tied_by_the_markers_with_offset_and_drift(
    tmp_path: Path, store: Path
) -> None:
    parts = imported_intervals(attach(recorded(tmp_path), store, "--json"))
    assert [part["interval"] for part in parts[1::2]] == ["run 1 settled", "run 2 settled", "run 3 settled"]
    assert all(within(part) for part in parts), parts
    assert all("timing" in part["budget_j"] for part in parts)
    assert "6 of 6 markers" in parts[0]["clock"]
    with Store.open(store) as opened:
        run = opened.runs(1)[0]
        relation = run.facts["metering"]["clocks"]["meters"][0]["relation"]
    assert relation["drift"] == pytest.approx(-DRIFT, abs=2 * relation["drift_u"])
    assert relation["drift_u"] < 5e-5, "better than a crystal's"


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("sign of the offset", lambda r: replace(r, host_ns=2 * r.device_ns - r.host_ns)),
        ("drift ignored", lambda r: replace(r, drift=0.0)),
        ("sign of the drift", lambda r: replace(r, drift=-r.drift)),
        ("offset applied twice", lambda r: replace(r, host_ns=2 * r.host_ns - r.device_ns)),
        ("late by a tenth of a second", lambda r: replace(r, host_ns=r.host_ns + ns(0.1))),
    ],
)
def test_mutants_fail_that_bar(
    name: str,
    change: Callable[[ClockRelation], ClockRelation],
    tmp_path: Path,
    store: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    right = attaching.by_markers

    def wrong(*given: Any) -> Aligned:
        result = right(*given)
        return replace(result, relation=change(result.relation))

    monkeypatch.setattr(attaching, "by_markers", wrong)
    result = attach(recorded(tmp_path), store, "--json")
    assert result.exit_code != 0 or not all(within(part) for part in imported_intervals(result)), name


def test_what_is_attached_is_like_any_other_meters(tmp_path: Path, store: Path) -> None:
    assert attach(recorded(tmp_path), store, "--run", 2).exit_code == 0
    with Store.open(store) as opened:
        experiment = opened.find("latest")
        run = opened.runs(1)[1]
        jsonschema.validate(run.record("s"), json.loads(SCHEMA.read_text()))
        (trace,) = [t for t in opened.data(run).traces if t.channel.meter == "trace"]
        drawn = power_trace(run, opened.data(run), design_of(experiment.spec), 2000)
        assert [meter["name"] for meter in run.meters] == ["own", "trace"]
        assert "trace" not in {m["name"] for m in opened.runs(1)[0].meters}
    assert trace.channel.clock is Clock.DEVICE
    assert drawn is not None
    assert (drawn.method, drawn.channel) == ("measured", "trace, power"), "what was measured is drawn, not the model"
    busy = [w for t, w in zip(drawn.time_s, drawn.power_w, strict=True) if 0.1 < t < 9.9 and w is not None]
    assert min(busy) > 0.9 * BUSY_W
    shown = CliRunner().invoke(main, ["show", "--run", "2", "--store", str(store)], env={"COLUMNS": "160"})
    assert "clock of trace: tied to this host's clock by 6 of 6 markers" in shown.output
    assert "timing" in shown.output
    samples = CliRunner().invoke(main, ["export", "--samples", "--store", str(store)]).output
    assert '"meter": "trace"' in samples


def test_what_holds_for_several_runs_is_printed_once() -> None:
    energy = Energy(1.0, Method.MEASURED, Domain.BOARD, 0, 1, 0.1, 1.0)
    flags = (("gap",), ("gap",), ("gap", "late"))
    parts = [_Part(f"run {i} active", energy, 9, 0, "tied", own) for i, own in enumerate(flags, 1)]
    messages = {text: _runs_text(runs, 3) for text, runs in _messages(parts).items()}
    assert messages == {"tied": "all 3 runs", "flag: gap": "all 3 runs", "flag: late": "run 3"}
    assert _runs_text(["1", "3"], 3) == "runs 1 and 3"


def test_a_bundle_has_the_trace_and_comes_back_to_the_same_bytes(tmp_path: Path, store: Path) -> None:
    assert attach(recorded(tmp_path), store).exit_code == 0
    first, again, other = tmp_path / "a.zip", tmp_path / "b.zip", tmp_path / "other.db"
    for arguments in (
        ("export", "--bundle", first, "--store", store),
        ("import", first, "--store", other),
        ("export", "--bundle", again, "--store", other),
    ):
        assert CliRunner().invoke(main, list(map(str, arguments))).exit_code == 0
    assert first.read_bytes() == again.read_bytes()
    with Store.open(store) as one, Store.open(other) as two:
        assert one.runs(1)[2].facts == two.runs(1)[2].facts


def test_a_second_trace_is_refused_or_replaces_the_first_when_asked(tmp_path: Path, store: Path) -> None:
    path = recorded(tmp_path)
    assert attach(path, store, "--run", 1).exit_code == 0
    refused = attach(path, store)
    assert refused.exit_code == 2
    assert "run 1 has a trace already, bench.csv; --replace" in refused.output
    assert attach(path, store, "--replace").exit_code == 0
    with Store.open(store) as opened:
        for run in opened.runs(1):
            assert [m["name"] for m in run.meters] == ["own", "trace"]
            assert [m["meter"] for m in run.facts["metering"]["meters"]] == ["trace"]
            assert len([t for t in opened.data(run).traces if t.channel.meter == "trace"]) == 1


def test_as_the_primary_meter_its_joules_become_the_responses_of_all_runs(tmp_path: Path, store: Path) -> None:
    path = recorded(tmp_path)
    assert attach(path, store, "--primary").exit_code == 0
    with Store.open(store) as opened:
        experiment = opened.find("latest")
        for run in opened.runs(1):
            jsonschema.validate(run.record("s"), json.loads(SCHEMA.read_text()))
            values = {r.name: r for r in run.responses}
            assert {r.method for name, r in values.items() if name != "active_s"} == {"measured"}
            assert values["energy_j"].value == pytest.approx(TRUE_J, abs=values["energy_j"].uncertainty_k2)
            assert values["energy_per_op_uj"].value == pytest.approx(TRUE_J * 1e3, rel=0.01)
            assert values["energy_net_j"].value == pytest.approx(TRUE_J - 11 * QUIET_W, abs=1.5)
            assert values["energy_net_quiet_j"].missing_reason == "a model says nothing of it"
            assert values["active_s"].value == 1.0
            assert [meter["name"] for meter in run.meters] == ["trace", "own"]
    assert experiment.energy_words.startswith("Energy here is MEASURED: bench.csv")
    assert experiment.energy_min_ratio is None
    assert experiment.environment["identity"]["meter"] == "trace", "runs of another meter cannot be added any more"
    again = attach(path, store, "--replace")
    assert again.exit_code == 2
    assert "add --primary" in again.output
    assert attach(path, store, "--replace", "--primary").exit_code == 0


def test_a_load_that_was_measured_gets_its_joules_from_the_trace_too(tmp_path: Path) -> None:
    store = stored(tmp_path / "loads.db", clocks, loads=True)
    assert attach(recorded(tmp_path), store, "--primary").exit_code == 0
    with Store.open(store) as opened:
        for run in opened.runs(1):
            jsonschema.validate(run.record("s"), json.loads(SCHEMA.read_text()))
            load = next(r for r in run.responses if r.name == "load_energy_j")
            assert load.method == "measured"
            assert load.value == pytest.approx(5 * QUIET_W, abs=load.uncertainty_k2)
            assert run.value("energy_j") == pytest.approx(TRUE_J, rel=0.01)


def test_a_trace_that_does_not_cover_a_load_does_not_become_the_primary_meter(tmp_path: Path) -> None:
    store = stored(tmp_path / "loads.db", clocks, loads=True)
    refused = attach(recorded(tmp_path, span_s=(995.0, 1120.0)), store, "--primary")
    assert refused.exit_code == 1
    assert "does not cover the load of run 1; joules of two meters are not compared" in " ".join(refused.output.split())
    with Store.open(store) as opened:
        assert {r.method for run in opened.runs(1) for r in run.responses} == {"modelled", "timed"}


def test_joules_of_two_meters_are_never_compared(tmp_path: Path, store: Path) -> None:
    part = attach(recorded(tmp_path, span_s=(1041, 1120)), store, "--primary")
    assert part.exit_code == 1
    assert "covers 2 of 3 runs, not run 1; joules of two meters are not compared: give a trace of all" in part.output
    assert "of all runs" in attach(recorded(tmp_path), store, "--primary", "--run", 1).output
    with Store.open(store) as opened:
        assert {r.method for run in opened.runs(1) for r in run.responses} == {"modelled", "timed"}


def test_without_a_visible_marker_relative_times_are_refused_with_the_remedy(tmp_path: Path, store: Path) -> None:
    path = recorded(tmp_path, visible=False)
    refused = attach(path, store, "--run", 1)
    assert refused.exit_code == 1
    assert "not visible" in refused.output
    assert "--starts TIME with --clock-within S" in refused.output
    with Store.open(store) as opened:
        assert "imported" not in opened.runs(1)[0].facts
        assert {t.channel.meter for t in opened.data(opened.runs(1)[0]).traces} == {"own"}
    lost = attach(path, store, "--run", 1, "--starts", 16)
    assert "--starts goes with --clock-within" in lost.output
    part = settled(attach(path, store, "--run", 1, "--starts", 16.0, "--clock-within", 0.1, "--json"))[0]
    assert abs(part["energy_j"] - TRUE_J) <= part["uncertainty_k2_j"]
    assert part["budget_j"]["timing"] > 0.3


@pytest.mark.parametrize("form", ["epoch", "iso"])
def test_wall_clock_times_are_taken_within_what_is_stated_and_checked_by_markers(
    form: str, tmp_path: Path, store: Path
) -> None:
    path = recorded(tmp_path, form=form, visible=False)
    refused = attach(path, store, "--run", 1)
    assert "the largest difference of its wall clock" in refused.output
    part = settled(attach(path, store, "--run", 1, "--clock-within", 4, "--json"))[0]
    assert abs(part["energy_j"] - TRUE_J) <= part["uncertainty_k2_j"]
    assert part["uncertainty_k2_j"] > 5
    sure = attach(recorded(tmp_path, form=form), store, "--clock-within", 4, "--json", "--replace")
    assert all(within(part) for part in imported_intervals(sure)), "the markers make it better"


def test_a_limit_that_the_markers_contradict_is_flagged(tmp_path: Path, store: Path) -> None:
    result = attach(recorded(tmp_path, form="epoch", late_s=1.5), store, "--run", 1, "--clock-within", 0.05)
    assert result.exit_code == 3
    with Store.open(store) as opened:
        run = opened.runs(1)[0]
    assert any("do NOT agree" in flag for flag in run.flags)
    assert run.flags == tuple(run.facts["imported"]["flags"])
    assert attach(recorded(tmp_path), store, "--run", 1, "--replace").exit_code == 0
    with Store.open(store) as opened:
        assert opened.runs(1)[0].flags == ()


def test_exchanges_with_the_recorders_host_tie_it_where_no_marker_is_visible(tmp_path: Path) -> None:
    def exchanged(begin_s: float) -> dict[str, Any]:
        device_ns = ns(REALTIME_S + 1000 + LATE_S) + ns((begin_s - 1000) * (1 + DRIFT))
        known = ClockRelation(device_ns, ns(begin_s), 1 / (1 + DRIFT) - 1, 1e-4, 1e-5)
        result = {"meter": "trace", "address": "bench:7123", "series": [None, None], "relation": asdict(known)}
        return {**clocks(begin_s), "exchanges": [result]}

    store = stored(tmp_path / "store.db", exchanged)
    parts = imported_intervals(attach(recorded(tmp_path, form="epoch", visible=False), store, "--json"))
    assert all(within(part) for part in parts), parts
    assert "exchanges with its host" in parts[0]["clock"]
    elsewhere = attach(recorded(tmp_path, visible=False), store, "--replace")
    assert "did `edgejoule clock serve` answer with the clock of its times?" in elsewhere.output


@pytest.mark.parametrize("span_s", [(1003.8, 1023.5), (1043, 1068)])
def test_bursts_that_may_be_any_runs_are_refused(span_s: tuple[float, float], tmp_path: Path, store: Path) -> None:
    """One burst of many, or both of one run where others lie as far apart."""
    cut = recorded(tmp_path, span_s=span_s)
    assert "not which of the 6 it is" in attach(cut, store, "--run", 1).output


def test_only_the_runs_that_are_covered_get_the_trace(tmp_path: Path, store: Path) -> None:
    parts = settled(attach(recorded(tmp_path, span_s=(1041, 1120)), store, "--json"))
    assert [part["interval"] for part in parts] == ["run 2 settled", "run 3 settled"]
    one = attach(recorded(tmp_path, span_s=(1041, 1120)), store, "--run", 1)
    assert one.exit_code == 1
    assert "run 1 is not covered" in one.output


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--run", 9), "no run 9"),
        (("--starts", 3, "--clock-within", 1), "name the run by --run N"),
        (("--from", 3), "takes the run's intervals"),
        (("--run", 1, "--clock-within", 1), "no wall-clock times"),
    ],
)
def test_contradictory_options_are_refused(
    arguments: tuple[object, ...], reason: str, tmp_path: Path, store: Path
) -> None:
    result = attach(recorded(tmp_path), store, *arguments)
    assert result.exit_code == 2
    assert reason in result.output


def test_the_intervals_of_runs_are_in_seconds_from_the_traces_first_line(tmp_path: Path, store: Path) -> None:
    parts = imported_intervals(attach(recorded(tmp_path), store, "--json"))
    edges = [(part["from_s"], part["to_s"]) for part in parts if part["interval"].endswith("active")]
    for (begin_s, end_s), run_s in zip(edges, RUNS_S, strict=True):
        assert (begin_s, end_s) == (pytest.approx(run_s + 6 - 990, abs=0.1), pytest.approx(run_s + 16 - 990, abs=0.1))
    wall = imported_intervals(attach(recorded(tmp_path, form="iso"), store, "--replace", "--clock-within", 5, "--json"))
    assert wall[0]["from_s"] == pytest.approx(16, abs=0.1)


@pytest.mark.parametrize("zone", [True, False])
def test_a_trace_of_another_time_shows_both_times_and_the_zone_assumed(zone: bool, tmp_path: Path, store: Path) -> None:
    path = recorded(tmp_path, form="iso", visible=False, late_s=3600.5)
    if not zone:
        path.write_text(path.read_text().replace("+00:00", ""))
    refused = attach(path, store, "--clock-within", 1)
    assert refused.exit_code == 1

    def utc(host_s: float) -> str:
        return f"{datetime.fromtimestamp(REALTIME_S + host_s, UTC):%Y-%m-%d %H:%M:%S}"

    assert (
        f"covers none of the 3 runs: it is from {utc(990 + 3600)} to {utc(1120 + 3600)} UTC, the runs from "
        f"{utc(RUNS_S[0] + 6)} to {utc(RUNS_S[-1] + 17)} UTC" in refused.output
    )
    assert ("its times have no time zone and are read as UTC" in refused.output) is not zone


def caveats(store: Path) -> list[str]:
    with Store.open(store) as opened:
        return [caveat for caveat in find(opened, opened.find("latest")).caveats if "meter" in caveat]


ADVICE = (
    "The joules of this report are of the model. To use those of the attached meter, import its recording of all runs "
    "with --primary."
)


def test_the_report_says_that_the_attached_meter_contradicts_the_model_and_by_how_much(tmp_path: Path) -> None:
    store = stored(tmp_path / "store.db", clocks, (0.5, 0.5, 0.5))
    assert caveats(store) == []
    assert attach(recorded(tmp_path), store).exit_code == 3
    difference = "The attached meter gives 102 J, the model 51.0 J (ratio 2.00), the mean of 3 runs"
    assert caveats(store) == [f"{difference}; their uncertainties do not explain this.", ADVICE]
    assert attach(recorded(tmp_path), store, "--replace", "--primary").exit_code == 3
    assert caveats(store) == [], "the report has its joules now"


def test_one_run_that_the_attached_meter_contradicts_is_named(tmp_path: Path) -> None:
    store = stored(tmp_path / "store.db", clocks, (1, 0.6, 0.9))
    attach(recorded(tmp_path), store)
    difference = "The attached meter gives 102 J, the model 61.2 J (ratio 1.67) in run 2"
    assert caveats(store) == [f"{difference}; their uncertainties do not explain this.", ADVICE]


def test_a_wrong_trace_is_detached_and_leaves_nothing(tmp_path: Path, store: Path) -> None:
    def detach(*arguments: object) -> Result:
        return CliRunner().invoke(main, ["import", *map(str, ("--store", store, *arguments))])

    with Store.open(store) as opened:
        before = [(run.flags, run.meters, run.responses, run.facts["metering"]) for run in opened.runs(1)]
    assert attach(recorded(tmp_path), store).exit_code == 0
    done = detach("--detach", "latest", "--run", 2)
    assert (done.exit_code, done.stdout) == (0, "bench.csv: detached from 1 run of latest\n")
    assert "run 2 has no attached trace" in detach("--detach", "latest", "--run", 2).output
    assert detach("--detach", "latest").exit_code == 0
    with Store.open(store) as opened:
        assert [(run.flags, run.meters, run.responses, run.facts["metering"]) for run in opened.runs(1)] == before
        assert all("imported" not in run.facts for run in opened.runs(1))
        assert {t.channel.meter for run in opened.runs(1) for t in opened.data(run).traces} == {"own"}
    assert "latest has no attached trace" in detach("--detach", "latest").output
    assert attach(recorded(tmp_path), store, "--primary").exit_code == 0
    assert "has its joules from bench.csv, which replaced the others" in detach("--detach", "latest").output
    assert detach().exit_code == 2
    assert "takes no FILE" in detach("--detach", "latest", "bench.csv").output
