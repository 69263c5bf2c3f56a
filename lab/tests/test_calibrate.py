"""Calibration: a known power law of utilisation, in virtual time and once under real load; the profile covers it."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from edgejoule.calibrate import machine as machines
from edgejoule.calibrate.drive import StageRun, StageTiming, drive, from_json, to_json
from edgejoule.calibrate.fit import IDLE_MAX, Fitted, fit
from edgejoule.calibrate.observe import Observation, observe
from edgejoule.calibrate.profile_file import Circumstances, profile_name, profile_toml, write_profile
from edgejoule.calibrate.recording import by_stages, on_this_clock, placed
from edgejoule.calibrate.stages import Stage, StageKind, make_stages
from edgejoule.cli import calibration as command
from edgejoule.cli.main import main
from edgejoule.clocks.marker import Marker, pattern_ns
from edgejoule.errors import DataError, UsageError
from edgejoule.machine.files import read_text
from edgejoule.meters import discovery
from edgejoule.meters.base import Availability, Channel, Domain, Method, Sample, ValueKind
from edgejoule.meters.plugins.imported import Recorder, read_csv, trace_of
from edgejoule.meters.plugins.profile import BoardProfile
from edgejoule.meters.plugins.profile.data import load_profile
from edgejoule.meters.plugins.profile.usage import TICK_S, MachineUsage, parse_cpu
from edgejoule.meters.trace import Trace

CPUS = 4
GAIN_REL = 0.01
READ_J, WRITE_J = 5e-9, 2e-8
ABOUT = Circumstances(
    "my-board", "2026-01-02", {"board": 'A "board"\nof mine', "cores": 4}, "m (measured)", "board", "x"
)


def true_w(utilisation: float) -> float:
    return 3 + 5 * utilisation**0.7


class VirtualMachine:
    """A Machine in virtual time, and the trace of a meter with a gain error in front of it."""

    def __init__(self, seed: int, scatter: float = 0.02) -> None:
        self.rng, self.noise = np.random.default_rng(seed), np.random.default_rng([seed, 1])
        self.scatter, self.gain = scatter, 1 + self.rng.normal() * GAIN_REL
        self.t_ns = 10**12
        self.idle_s = 0.0
        self.moved = [0, 0]
        self.times_ns: list[int] = []
        self.powers_w: list[float] = []
        self.load: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def begin(self, stage: Stage, end_ns: int) -> None:
        share = {StageKind.IDLE: 0.01, StageKind.WRITE: 0.05, StageKind.READ: 0.08, StageKind.LOOPBACK: 0.3}
        utilisation = share.get(stage.kind, stage.workers * stage.share / CPUS) + self.rng.normal() * 0.004
        self.load = (
            float(np.clip(utilisation, 0.002, 0.995)),
            5e7 if stage.kind is StageKind.READ else 0.0,
            2e7 if stage.kind is StageKind.WRITE else 0.0,
        )
        power_w = true_w(self.load[0]) * (1 + self.rng.normal() * self.scatter)
        self.power_w = (power_w + self.load[1] * READ_J + self.load[2] * WRITE_J) * self.gain

    def end(self) -> None:
        pass

    def usage(self) -> MachineUsage:
        idle_s = round(self.idle_s / TICK_S) * TICK_S
        return MachineUsage(CPUS, idle_s, self.moved[0], self.moved[1], 0, 0)

    def now_ns(self) -> int:
        return self.t_ns

    def sleep_until(self, t_ns: int) -> None:
        steps = max(1, round((t_ns - self.t_ns) / 1e9 / 0.1))
        self.times_ns += np.linspace(self.t_ns, t_ns, steps, endpoint=False).astype(np.int64).tolist()
        # Readings that stay the same to the last digit would look like a device that renews its value once a stage.
        self.powers_w += (self.power_w * (1 + 1e-6 * self.noise.normal(size=steps))).tolist()
        seconds = (t_ns - self.t_ns) / 1e9
        self.idle_s += (1 - self.load[0]) * CPUS * seconds
        self.moved = [self.moved[0] + round(self.load[1] * seconds), self.moved[1] + round(self.load[2] * seconds)]
        self.t_ns = t_ns

    def trace(self) -> Trace:
        channel = Channel("m", "c", Domain.BOARD, ValueKind.INSTANT, Method.MEASURED, GAIN_REL, 0.0, 0.0)
        last = (self.t_ns, self.powers_w[-1])
        return Trace(channel, np.array([*self.times_ns, last[0]]), np.array([*self.powers_w, last[1]]), 0.1)


def calibrated(seed: int, scatter: float = 0.02, rounds: int = 3) -> tuple[Fitted, list[Observation]]:
    machine = VirtualMachine(seed, scatter)
    stages = make_stages(CPUS, rounds, seed, storage=True, network=False)
    runs = drive(stages, machine, StageTiming(1.0, 4.0))
    observations, missing = observe(runs, [machine.trace()])
    assert not missing
    return fit(observations), observations


def covered(fits: Sequence[Fitted], scatter: float = 0.02) -> float:
    """The share of new loads whose true energy lies within the profile's interval."""
    result = []
    for seed, fitted in enumerate(fits):
        rng = np.random.default_rng([seed, 3])
        for utilisation in rng.uniform(0, 1, 5):
            power_w = true_w(utilisation) * (1 + rng.normal() * scatter)
            predicted_w = float(np.interp(utilisation, fitted.utilisation, fitted.power_w))
            result.append(abs(predicted_w / power_w - 1) <= fitted.interval_rel)
    return float(np.mean(result))


@pytest.fixture(scope="module")
def fits() -> list[Fitted]:
    return [calibrated(seed)[0] for seed in range(60)]


def test_the_profile_covers_the_truth_in_at_least_93_of_100_new_loads(fits: list[Fitted]) -> None:
    assert covered(fits) >= 0.93


def test_mutant_with_half_the_interval_fails_that_bar(fits: list[Fitted]) -> None:
    assert covered([replace(x, interval_rel=x.interval_rel / 2) for x in fits]) < 0.93


@pytest.mark.slow
@pytest.mark.parametrize("scatter", [0.005, 0.02, 0.05])
def test_over_200_seeds_the_interval_covers_and_half_of_it_does_not(scatter: float) -> None:
    result = [calibrated(seed, scatter)[0] for seed in range(200)]
    assert covered(result, scatter) >= 0.93
    assert covered([replace(x, interval_rel=x.interval_rel / 2) for x in result], scatter) < 0.93


def test_the_interval_is_not_three_times_too_wide(fits: list[Fitted]) -> None:
    errors = [np.interp(u, x.utilisation, x.power_w) / true_w(u) - 1 for x in fits for u in (0.1, 0.4, 0.9)]
    own = np.sqrt(np.mean(np.square(errors)) + 0.02**2)
    assert np.sqrt(np.mean([x.interval_rel**2 for x in fits])) <= 3 * own


def test_the_meters_uncertainty_enters_the_interval() -> None:
    fitted, observations = calibrated(1, scatter=0.0)
    assert fitted.meter_rel == pytest.approx(2 * GAIN_REL)
    better = fit([replace(x, meter_rel=0.0) for x in observations])
    assert fitted.interval_rel > better.interval_rel


def test_joules_per_byte_are_what_the_table_leaves() -> None:
    fitted, _ = calibrated(2, scatter=0.002)
    assert fitted.write_j_per_byte == pytest.approx(WRITE_J, rel=0.3)
    assert fitted.read_j_per_byte == pytest.approx(READ_J, rel=0.6)


def test_storage_that_moves_nothing_has_no_joules_per_byte() -> None:
    _, observations = calibrated(3)
    still = [replace(x, read_bytes_s=0.0, write_bytes_s=0.0) for x in observations]
    fitted = fit(still)
    assert fitted.read_j_per_byte is None
    assert fitted.write_j_per_byte is None
    assert "[storage]" not in profile_toml(fitted, ABOUT)


def test_the_table_never_falls_even_where_the_readings_do() -> None:
    _, observations = calibrated(4, scatter=0.2)
    fitted = fit(observations)
    assert list(fitted.power_w) == sorted(fitted.power_w)
    assert fitted.utilisation[0] == 0
    assert fitted.utilisation[-1] == 1
    assert fitted.power_w[0] > 0


def test_a_busy_machine_is_no_place_for_a_calibration() -> None:
    _, observations = calibrated(5)
    busy = [replace(x, utilisation=0.4 + 0.6 * x.utilisation) for x in observations]
    with pytest.raises(DataError, match="end other programs"):
        fit(busy)


def test_what_the_table_only_continues_widens_the_interval() -> None:
    """An idle that was never quiet: the interval must still hold the truth at rest."""
    _, observations = calibrated(5, scatter=0.002)
    wide = fit(
        [replace(x, utilisation=0.12, power_w=true_w(0.12)) if x.utilisation < 0.12 else x for x in observations]
    )
    assert wide.interpolation_rel > fit(observations).interpolation_rel
    assert abs(wide.power_w[0] / true_w(0) - 1) <= wide.interval_rel


def test_a_run_with_the_written_profile_covers_the_true_joules(tmp_path: Path) -> None:
    """From stages to TOML to the modelled meter over an emulated /proc, against the law's own integral."""
    fitted, _ = calibrated(6)
    path = tmp_path / "my.toml"
    write_profile(profile_toml(fitted, ABOUT), path)
    profile = load_profile(path)
    assert profile.prediction_interval_rel >= fitted.interval_rel
    clock_ns, busy_s = 0, 0.0

    def read(_: Path) -> str:
        ticks = round((clock_ns / 1e9 * CPUS - busy_s) / TICK_S)
        return f"cpu  0 0 0 {ticks} 0 0 0 0\n" + "".join(f"cpu{i} 0 0 0 0 0 0 0 0\n" for i in range(CPUS))

    own = replace_storage(path)
    board = BoardProfile(own, read=read, clock_ns=lambda: clock_ns, machine="aarch64")
    board.open()
    true_j, rng = 0.0, np.random.default_rng(1)
    for utilisation in rng.uniform(0, 1, 200):
        clock_ns += 500_000_000
        busy_s += utilisation * CPUS * 0.5
        true_j += true_w(utilisation) * 0.5
        (sample,) = board.poll()
    assert abs(sample.value / true_j - 1) <= profile.prediction_interval_rel


def replace_storage(path: Path) -> Path:
    """The profile without its storage terms: the emulated /proc here has no disks."""
    text = path.read_text()
    own = path.with_name("own.toml")
    own.write_text(text[: text.index("[storage]")] + text[text.index("[sources.") :])
    return own


def test_the_written_profile_says_whose_it_is(tmp_path: Path) -> None:
    fitted, _ = calibrated(7)
    path = tmp_path / "my.toml"
    write_profile(profile_toml(fitted, replace(ABOUT, domain="package")), path)
    profile = load_profile(path)
    assert profile.domain is Domain.PACKAGE
    assert BoardProfile(path).domain is Domain.PACKAGE
    assert profile.sources["calibration"].title == "edgejoule calibrate, 2026-01-02"
    assert "m (measured)" in profile.sources["calibration"].measured
    assert profile.board == 'A "board"\nof mine (calibrated)'
    assert profile.storage is not None


def test_a_profile_that_would_be_refused_replaces_nothing(tmp_path: Path) -> None:
    path = tmp_path / "my.toml"
    path.write_text("before")
    with pytest.raises(UsageError):
        write_profile("name = 'x'", path)
    assert path.read_text() == "before"
    assert [p.name for p in tmp_path.iterdir()] == ["my.toml"]


def test_stages_that_scatter_wildly_make_no_profile() -> None:
    fitted, _ = calibrated(8)
    with pytest.raises(DataError, match="off their own fit"):
        profile_toml(replace(fitted, interval_rel=2.5), ABOUT)


def test_every_round_has_every_stage_once_and_a_file_is_written_before_it_is_read() -> None:
    for seed in range(20):
        stages = make_stages(6, 2, seed, storage=True, network=True)
        rounds = [[x for x in stages if x.round == number] for number in (0, 1)]
        assert sorted(x.label for x in rounds[0]) == sorted(x.label for x in rounds[1])
        kinds = [x.kind for x in stages]
        assert kinds.index(StageKind.WRITE) < kinds.index(StageKind.READ)
        assert {x.workers for x in stages if x.kind is StageKind.CPU} == {1, 2, 4, 6}
    assert {x.workers for x in make_stages(1, 1, 1, storage=False, network=False)} == {0, 1}


@pytest.mark.parametrize(("text", "name"), [("My Board 2", "my-board-2"), ("ÄÖ", "calibrated"), ("a_b", "a-b")])
def test_names_become_what_profiles_may_be_called(text: str, name: str) -> None:
    assert profile_name(text) == name


def test_the_stages_survive_json() -> None:
    runs = [StageRun(Stage(StageKind.CPU, 2, 0.5, 1), 1, 2, 0.5, 1.0, 2.0)]
    assert from_json(json.loads(json.dumps(to_json(runs)))) == runs
    with pytest.raises(DataError, match="not the stages"):
        from_json([{"kind": "cpu"}])


# A recording of another device.


def recording(
    path: Path, markers: Sequence[Marker], offset_s: float, drift: float, header: str = "time_s,power_w"
) -> None:
    rng = np.random.default_rng(1)
    begin_s, end_s = markers[0].start_ns / 1e9 - 3, markers[-1].start_ns / 1e9 + 5
    host_s = np.arange(begin_s, end_s, 0.02)
    power_w = 3 + rng.normal(0, 0.05, len(host_s))
    for marker in markers:
        for on_ns, off_ns in marker.busy_ns:
            power_w[(host_s >= on_ns / 1e9) & (host_s < off_ns / 1e9)] += 2
    rows = (f"{t * (1 + drift) + offset_s:.6f},{p:.5f}" for t, p in zip(host_s, power_w, strict=True))
    path.write_text("\n".join([header, *rows]) + "\n")


MARKERS = [Marker(tuple(pattern_ns(start_s * 10**9))) for start_s in (1000, 1060)]
RECORDER = Recorder(0.01, 0.0, Domain.BOARD)


def test_a_recording_is_tied_to_the_stages_by_its_markers(tmp_path: Path) -> None:
    recording(tmp_path / "r.csv", MARKERS, offset_s=1.7e9, drift=80e-6)
    trace, _ = on_this_clock(trace_of(read_csv(tmp_path / "r.csv"), RECORDER), MARKERS)
    assert trace.t_ns[0] / 1e9 == pytest.approx(997, abs=0.02)
    assert trace.t_ns[-1] / 1e9 == pytest.approx(1065, abs=0.05)


def test_a_recording_without_markers_is_refused(tmp_path: Path) -> None:
    recording(tmp_path / "r.csv", MARKERS[:1], offset_s=5.0, drift=0)
    trace = trace_of(read_csv(tmp_path / "r.csv"), RECORDER)
    with pytest.raises(DataError, match="must show others too"):
        on_this_clock(trace, MARKERS)


def slow_recording(seed: int, interval_s: float = 1.0) -> tuple[Trace, list[StageRun], float]:
    """A USB tester's log of the stages: a sample a second, on a different clock."""
    machine = VirtualMachine(seed)
    runs = drive(make_stages(CPUS, 3, seed, storage=False, network=False), machine, StageTiming(2.0, 8.0))
    rng = np.random.default_rng([seed, 5])
    shift_s = rng.uniform(-1e4, 1e4)
    begin_s, end_s = machine.times_ns[0] / 1e9, machine.t_ns / 1e9
    host_s = np.arange(begin_s - rng.uniform(5, 90), end_s + rng.uniform(5, 90), interval_s)
    power_w = np.interp(host_s, np.array(machine.times_ns) / 1e9, machine.powers_w, left=3.0, right=3.0)
    whole = machine.trace()
    t_ns = np.rint((host_s + shift_s) * 1e9).astype(np.int64)
    return Trace(whole.channel, t_ns, power_w + rng.normal(0, 0.05, len(host_s)), interval_s), runs, shift_s


def test_a_slow_recording_is_tied_by_the_stages_within_what_they_settle() -> None:
    for seed in range(20):
        trace, runs, shift_s = slow_recording(seed)
        moved_s = (trace.t_ns[0] - by_stages(trace, runs).trace.t_ns[0]) / 1e9
        assert abs(moved_s - shift_s) < 2.0, f"seed {seed}"
        observations, missing = observe(runs, [by_stages(trace, runs).trace])
        assert not missing
        assert fit(observations).interval_rel < 0.2


def test_a_recording_of_a_running_total_is_tied_as_well() -> None:
    trace, runs, shift_s = slow_recording(2)
    channel = replace(trace.channel, kind=ValueKind.ACCUMULATOR)
    total = replace(trace, channel=channel, value=np.cumsum(trace.value) * trace.interval_s)
    moved_s = (trace.t_ns[0] - by_stages(total, runs).trace.t_ns[0]) / 1e9
    assert abs(moved_s - shift_s) < 2.0


def test_a_recording_of_something_else_is_tied_nowhere() -> None:
    for seed in range(20):
        trace, runs, _ = slow_recording(seed)
        other = replace(trace, value=np.random.default_rng([seed, 6]).permutation(trace.value))
        with pytest.raises(DataError, match="follows the stages nowhere"):
            by_stages(other, runs)
        _, others, _ = slow_recording(seed + 100)
        with pytest.raises(DataError, match="follows the stages nowhere"):
            by_stages(trace, others)


def test_a_recording_too_slow_or_too_short_reports_it() -> None:
    trace, runs, _ = slow_recording(1, interval_s=5.0)
    with pytest.raises(DataError, match="too slow"):
        by_stages(trace, runs)
    trace, runs, _ = slow_recording(1)
    with pytest.raises(DataError, match="shorter than the stages"):
        by_stages(replace(trace, t_ns=trace.t_ns[:50], value=trace.value[:50]), runs)
    with pytest.raises(DataError, match=r"not visible.*shorter than the stages"):
        placed(replace(trace, t_ns=trace.t_ns[:50], value=trace.value[:50]), MARKERS, runs)


# The command, with a meter that follows the law of this machine's real utilisation.


class RealLaw:
    """A measured meter that is not there: it reads /proc/stat and says true_w of the utilisation, as an accumulator."""

    name = "law"
    method = Method.MEASURED
    domain = Domain.BOARD
    poll_interval_s = 0.05

    def __init__(self) -> None:
        self._energy_j = 0.0
        self._before = (time.monotonic_ns(), *self._stat())

    @staticmethod
    def _stat() -> tuple[int, float]:
        return parse_cpu(read_text(Path("/proc/stat")))

    def probe(self) -> Availability:
        return Availability(True, "always")

    def describe(self) -> str:
        return "a known law of utilisation"

    def facts(self) -> dict[str, list[str]]:
        return {}

    def channels(self) -> list[Channel]:
        return [
            Channel("law", "b", Domain.BOARD, ValueKind.ACCUMULATOR, Method.MEASURED, 0.005, 0.0, 0.0, interval_s=0.3)
        ]

    def open(self) -> None:
        pass

    def poll(self) -> list[Sample]:
        t_ns, (cpus, idle_s) = time.monotonic_ns(), self._stat()
        seconds = (t_ns - self._before[0]) / 1e9
        if seconds > 0.19:  # ticks of 10 ms: a longer step keeps the law's curvature from being the tick's
            share = min(1.0, max(0.0, 1 - (idle_s - self._before[2]) / (cpus * seconds)))
            self._energy_j += true_w(share) * seconds
            self._before = (t_ns, cpus, idle_s)
            return [Sample("b", t_ns, self._energy_j)]
        return []

    def close(self) -> None:
        pass


class Plugin:
    name, value = "law", "tests:RealLaw"

    @staticmethod
    def load() -> type[RealLaw]:
        return RealLaw


@pytest.fixture
def with_law(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "discover", lambda prefer, options: discovery.discover(prefer, options, [Plugin()]))


@pytest.mark.slow
@pytest.mark.alone
def test_a_real_calibration_finds_the_law_of_real_utilisation(with_law: None, tmp_path: Path) -> None:
    target = tmp_path / "here.toml"
    arguments = ["calibrate", "-o", str(target), "--rounds", "2", "--observe-s", "1.5", "--settle-s", "0.4"]
    result = CliRunner().invoke(main, [*arguments, "--data", str(tmp_path), "--json"])
    if "end other programs" in result.output:
        pytest.skip("this machine is busy: " + result.output.strip())
    assert result.exit_code == 0, result.output
    profile = load_profile(target)
    # Below the idle that is asked for this law bends away from any line: the profile says from where on it is valid.
    for utilisation in np.linspace(IDLE_MAX, 1, 18):
        off = profile.power_w(float(utilisation), 2) / true_w(float(utilisation)) - 1
        assert abs(off) <= profile.prediction_interval_rel, (utilisation, off)


def test_dry_run_shows_stages_and_time_and_loads_nothing(
    with_law: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "ThisMachine", lambda *_, **__: pytest.fail("nothing is to be loaded"))
    result = CliRunner().invoke(main, ["calibrate", "--dry-run", "-o", str(tmp_path / "x.toml")])
    assert result.exit_code == 0
    assert "law (measured): a known law" in result.output
    assert "stages of 10 s, about" in result.output
    plan = json.loads(CliRunner().invoke(main, ["calibrate", "--dry-run", "--no-storage", "--json"]).output)
    assert not {"write", "read"} & {row["stage"] for row in plan["stages"]}


def test_dry_run_shows_the_stages_without_a_meter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "discover", lambda *_: [])  # a machine without any meter
    dry = ["calibrate", "--dry-run", "-o", str(tmp_path / "x.toml")]
    result = CliRunner().invoke(main, dry)
    assert result.exit_code == 0, result.output
    assert "meter: a meter that measures or counts, which cannot be used here yet; `edgejoule meters" in result.output
    assert "stages of 10 s, about" in result.output
    assert len(json.loads(CliRunner().invoke(main, [*dry, "--json"]).output)["stages"]) > 10
    assert CliRunner().invoke(main, dry[:1] + dry[2:]).exit_code == 1  # the calibration itself needs one


def test_an_interrupt_leaves_nothing_behind(with_law: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "drive", interrupted)
    monkeypatch.setattr(machines, "_FREE_BYTES_MIN", 0)
    result = CliRunner().invoke(main, ["calibrate", "-o", str(tmp_path / "x.toml"), "--data", str(tmp_path)])
    assert result.exit_code == 130
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-o", "x.txt"], "ends in .toml"),
        (["--meter", "board-profile"], "a model itself"),
        (["--meter", "nothing"], "no meter is called 'nothing'"),
        (["--meter-option", "a=1"], "needs --meter"),
        (["--stages", "x.json"], "--stages needs --trace"),
        (["--trace", "x.csv"], "x.csv: state the accuracy of what recorded it: --gain-rel and --offset-w"),
        (["--trace", "x.csv", "--gain-rel", "0", "--offset-w", "0", "--stages", "absent.json"], "cannot be read"),
    ],
)
def test_invalid_options_are_refused_with_a_message(arguments: list[str], said: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(
        main, ["calibrate", *(["-o", str(tmp_path / "x.toml")] if "-o" not in arguments else []), *arguments]
    )
    assert result.exit_code == 2
    assert said in result.output


def test_an_existing_profile_is_only_replaced_by_force(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text("mine")
    result = CliRunner().invoke(main, ["calibrate", "-o", str(tmp_path / "x.toml")])
    assert result.exit_code == 2
    assert "--force" in result.output


def test_a_recording_and_the_stages_of_an_earlier_call_make_a_profile(tmp_path: Path) -> None:
    """Drives nothing: the stages come from the file an earlier call left, the power from the CSV."""
    machine = VirtualMachine(9, scatter=0.01)
    machine.gain = 1.0
    stages = make_stages(CPUS, 2, 1, storage=False, network=False)
    machine.t_ns = MARKERS[0].start_ns + 4 * 10**9
    runs = drive(stages, machine, StageTiming(0.5, 2.0))
    last = Marker(tuple(pattern_ns(machine.t_ns + 10**9)))
    markers = [MARKERS[0], last]
    host_s = np.arange(MARKERS[0].start_ns / 1e9 - 3, machine.t_ns / 1e9 + 5, 0.02)
    power_w = np.interp(host_s, np.array(machine.times_ns) / 1e9, machine.powers_w, left=3.0, right=3.0)
    for on_ns, off_ns in (interval for marker in markers for interval in marker.busy_ns):
        power_w[(host_s >= on_ns / 1e9) & (host_s < off_ns / 1e9)] = 8.0
    (tmp_path / "r.csv").write_text(
        "time_s,power_w\n" + "".join(f"{t + 77:.4f},{p:.5f}\n" for t, p in zip(host_s, power_w, strict=True))
    )
    record = {
        "format": "stages of edgejoule calibrate",
        "date": "2026-01-02",
        "machine": {"board": "A board of mine", "cores": 4},
        "markers_ns": [m.busy_ns for m in markers],
        "stages": to_json(runs),
    }
    (tmp_path / "s.json").write_text(json.dumps(record))
    arguments = ["--trace", str(tmp_path / "r.csv"), "--stages", str(tmp_path / "s.json"), "--gain-rel", "0.002"]
    target = tmp_path / "out.toml"
    result = CliRunner().invoke(main, ["calibrate", *arguments, "--offset-w", "0", "-o", str(target)])
    assert result.exit_code == 0, result.output
    assert "by 2 of 2 markers" in target.read_text()
    assert "this machine: A board of mine, 4 CPUs" in target.read_text()
    profile = load_profile(target)
    for utilisation in (0.05, 0.3, 0.6, 0.95):
        assert profile.power_w(utilisation, 4) == pytest.approx(
            true_w(utilisation), rel=profile.prediction_interval_rel
        )
