"""The modelled meter over an emulated /proc, and the board profiles."""

from __future__ import annotations

import errno
import os
import random
import signal
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from edgejoule.energy import energy
from edgejoule.errors import MeterError, UsageError
from edgejoule.meters.base import Block, Meter, Method, Sample, ValueKind
from edgejoule.meters.plugins.profile import BoardProfile
from edgejoule.meters.plugins.profile import meter as profile_meter
from edgejoule.meters.plugins.profile.data import (
    BOARDS,
    Profile,
    all_profiles,
    detected_profile,
    load_profile,
    named_profile,
)
from edgejoule.meters.plugins.profile.usage import TICK_S, parse_cpu
from edgejoule.meters.trace import Trace
from edgejoule.meters.transport.filestream import FileStream, sampler_path

from .emulation import Clock, ProcTree, overwrite, raising

STEP_S = 0.05
built = pytest.mark.skipif(sampler_path() is None, reason="edgejoule-sampler is not built: make build")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def proc(clock: Clock) -> ProcTree:
    return ProcTree(clock, model="Raspberry Pi 4 Model B Rev 1.4")


def meter(proc: ProcTree, clock: Clock, **options) -> BoardProfile:
    options = {"sys": Path("/nonexistent"), "machine": "aarch64", **options}
    return BoardProfile(read=proc.read, clock_ns=clock, **options)


def run(board: BoardProfile, proc: ProcTree, clock: Clock, busy_share, polls: int = 200) -> Trace:
    board.open()
    (channel,) = board.channels()
    samples = list(board.poll())
    for step in range(polls):
        clock.advance(STEP_S)
        proc.busy_s += busy_share(step) * proc.cpus * STEP_S
        samples += board.poll()
    values = [np.nan if sample.value is None else sample.value for sample in samples]
    times = np.array([sample.t_ns for sample in samples], dtype=np.int64)
    return Trace(channel, times, np.array(values), STEP_S)


def whole(trace: Trace):
    return energy(trace, int(trace.t_ns[0]), int(trace.t_ns[-1]))


def test_follows_the_meter_contract(proc: ProcTree, clock: Clock) -> None:
    board = meter(proc, clock)
    assert isinstance(board, Meter)
    assert board.probe().available
    board.open()
    (channel,) = board.channels()
    assert channel.method is Method.MODELLED
    assert channel.kind is ValueKind.ACCUMULATOR
    assert channel.model_rel == pytest.approx(0.2)


@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 1.0])
def test_a_steady_load_gives_the_tables_power(proc: ProcTree, clock: Clock, share: float) -> None:
    result = whole(run(meter(proc, clock), proc, clock, lambda _: share))
    assert result.method is Method.MODELLED
    assert result.power_mean_w == pytest.approx(2.7 + share * 3.7, rel=0.001)


def test_mutant_that_forgets_what_clipping_cut_off_fails_that_bar(
    proc: ProcTree, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(profile_meter, "CARRY_TICKS_MAX", 0)
    result = whole(run(meter(proc, clock), proc, clock, lambda _: 0.0))
    assert result.power_mean_w != pytest.approx(2.7, rel=0.001)


def test_ten_millisecond_ticks_do_not_add_up_over_a_run(proc: ProcTree, clock: Clock) -> None:
    result = whole(run(meter(proc, clock), proc, clock, lambda step: (step % 7) / 13, polls=2000))
    exact_w = 2.7 + 3.7 * float(np.mean([(step % 7) / 13 for step in range(2000)]))
    assert result.energy_j == pytest.approx(exact_w * 100, abs=2 * 3.7 / 4 * 0.01 + 1e-6)


def test_time_a_hypervisor_stole_and_guests_are_not_counted_as_busy_twice(proc: ProcTree, clock: Clock) -> None:
    board = meter(proc, clock)
    board.open()
    clock.advance(1.0)
    proc.busy_s, proc.guest_s, proc.steal_s = 1.0, 0.0, 1.0
    (sample,) = board.poll()
    assert sample.value == pytest.approx(2.7 + 3.7 * 0.25, rel=0.01)


def test_a_failed_poll_is_missing_and_the_next_covers_its_time(proc: ProcTree, clock: Clock) -> None:
    board = meter(proc, clock)
    board.open()
    clock.advance(0.5)
    proc.broken = raising(OSError(errno.EIO, "Input/output error"))
    (failed,) = board.poll()
    assert failed.value is None
    assert "Input/output error" in (failed.missing_reason or "")
    proc.broken = lambda: "garbage"
    (failed,) = board.poll()
    assert failed.value is None
    assert "expected a line of CPU times" in (failed.missing_reason or "")
    proc.broken = None
    clock.advance(0.5)
    (good,) = board.poll()
    assert good.value == pytest.approx(2.7, rel=0.005)


def test_storage_and_network_bytes_add_their_energy(proc: ProcTree, clock: Clock, tmp_path: Path) -> None:
    text = (BOARDS / "raspberry-pi-4b.toml").read_text()
    terms = 'read_j_per_byte = 1e-6\nwrite_j_per_byte = 2e-6\nsource = "pidramble"\nderivation = "test"\n'
    own = tmp_path / "own.toml"
    own.write_text(f"{text}\n[storage]\n{terms}\n[network]\n{terms}")
    for device in ("block/mmcblk0", "class/net/eth0"):
        (tmp_path / "sys" / device / "device").mkdir(parents=True)
    lines = "   1 0 {name} 10 0 {read} 5 20 0 {written} 6 0 0 0\n"
    net = (
        "Inter-|\n face |\n    lo: 999 1 0 0 0 0 0 0 999 1 0 0 0 0 0 0\n  eth0:{rx} 1 0 0 0 0 0 0 {tx} 1 0 0 0 0 0 0\n"
    )

    def moved(sectors: int, octets: int) -> None:
        names = ("mmcblk0", "mmcblk0p1", "loop0", "zram0")
        proc.diskstats = "".join(lines.format(name=n, read=sectors, written=2 * sectors) for n in names)
        proc.net = net.format(rx=octets, tx=3 * octets)

    moved(100, 1000)
    board = meter(proc, clock, profile=own, sys=tmp_path / "sys")
    board.open()
    clock.advance(1.0)
    moved(1100, 501_000)
    (sample,) = board.poll()
    storage_j = 1000 * 512 * (1e-6 + 2 * 2e-6)
    network_j = 500_000 * (1e-6 + 3 * 2e-6)
    assert sample.value == pytest.approx(2.7 + storage_j + network_j, rel=0.01)


def test_an_unknown_machine_is_declined_with_the_remedy(clock: Clock) -> None:
    board = meter(ProcTree(clock, model="StarFive VisionFive V2"), clock, machine="riscv64")
    said = board.probe()
    assert not said.available
    assert said.reason == "no profile for StarFive VisionFive V2 (machine type riscv64)"
    assert "profile" in (said.fix or "")
    with pytest.raises(MeterError, match="VisionFive"):
        board.open()


def test_an_arm_board_without_a_profile_is_modelled_widely_and_reports_it(clock: Clock) -> None:
    board = meter(ProcTree(clock, model="Rockchip RK3288 Asus Tinker Board S"), clock, machine="armv7l")
    said = board.probe()
    assert said.available
    own = "an ARM machine without its own profile, here Rockchip RK3288 Asus Tinker Board S"
    assert said.reason == f"profile generic-arm: {own}"
    assert "±150% at k=2" in board.describe()
    assert ", here" not in meter(ProcTree(clock, model="Raspberry Pi 4 Model B Rev 1.4"), clock).probe().reason


@pytest.mark.parametrize(
    ("model", "machine", "expected"),
    [
        ("Raspberry Pi Zero W Rev 1.1", "armv6l", "raspberry-pi-zero-w"),
        ("Raspberry Pi Zero 2 W Rev 1.0", "aarch64", "raspberry-pi-zero-2-w"),
        ("Raspberry Pi 3 Model B Rev 1.2", "aarch64", "raspberry-pi-3b"),
        ("Raspberry Pi 3 Model B Plus Rev 1.3", "aarch64", "raspberry-pi-3b-plus"),
        ("Raspberry Pi 4 Model B Rev 1.4", "aarch64", "raspberry-pi-4b"),
        ("Raspberry Pi 5 Model B Rev 1.0", "aarch64", "raspberry-pi-5"),
        ("Hardkernel ODROID-C2", "aarch64", "odroid-c2"),
        (None, "x86_64", "generic-x86"),
        ("Rockchip RK3288 Asus Tinker Board S", "armv7l", "generic-arm"),
        ("linux,dummy-virt", "aarch64", "generic-arm"),
        (None, "aarch64", "generic-arm"),
        (None, "armv6l", "generic-arm"),
        (None, "riscv64", None),
        ("StarFive VisionFive V2", "riscv64", None),
    ],
)
def test_boards_are_distinguished(model: str | None, machine: str, expected: str | None) -> None:
    result = detected_profile(model, machine)
    assert (result.name if result else None) == expected


@pytest.mark.parametrize("profile", all_profiles(), ids=lambda profile: profile.name)
def test_every_profile_rises_and_names_its_sources(profile: Profile) -> None:
    assert (BOARDS / f"{profile.name}.toml").exists()
    powers = [profile.power_w(u, 4) for u in np.linspace(0, 1, 101)]
    assert all(a <= b for a, b in pairwise(powers))
    assert powers[0] > 0
    for point in profile.cpu:
        source = profile.sources[point.source]
        assert source.title
        assert source.where
        assert source.measured
    assert len(profile.prediction_interval_reason) > 20
    assert profile.valid


def test_the_generic_profile_grows_with_the_number_of_cpus() -> None:
    generic = named_profile("generic-x86")
    assert generic.power_w(1.0, 8) == pytest.approx(8 * generic.power_w(1.0, 1))
    assert generic.prediction_interval_rel >= 0.5


def test_the_generic_arm_profile_is_the_middle_of_the_boards_and_its_interval_covers_them() -> None:
    generic = named_profile("generic-arm")
    boards = [profile for profile in all_profiles() if not profile.name.startswith("generic-")]
    assert len(boards) == 7, "a new board: does the generic profile still cover it?"
    for utilisation in (0.0, 1.0):
        per_core_w = [b.power_w(utilisation, 1) / (1 if b.name == "raspberry-pi-zero-w" else 4) for b in boards]
        middle_w = generic.power_w(utilisation, 1)
        assert middle_w == pytest.approx((min(per_core_w) * max(per_core_w)) ** 0.5, rel=0.005)
        for power_w in per_core_w:
            assert max(power_w / middle_w, middle_w / power_w) <= 1 + generic.prediction_interval_rel


@pytest.mark.parametrize(
    ("change", "key", "expected"),
    [
        (("power_w = 6.4", "power_w = 1.0"), "cpu", "must not fall"),
        (("power_w = 6.4", 'power_w = "much"'), "cpu.1.power_w", "number"),
        (("utilisation = 1.0", "utilisation = 0.9"), "cpu", "from 0 to 1"),
        (("utilisation = 1.0", "utilisation = 1.9"), "cpu.1.utilisation", "expected a number of at most 1, got 1.9"),
        (('source = "pidramble"', 'source = "hearsay"'), "", "not among the sources"),
        (("prediction_interval_rel = 0.4\n", ""), "prediction_interval_rel", "is missing"),
        (('name = "raspberry-pi-4b"', 'name = "raspberry-pi-4b"\ncolour = "green"'), "colour", "unknown key"),
        (("[[cpu]]", "[[cpu"), "", "not valid TOML"),
    ],
)
def test_a_wrong_profile_is_refused_with_file_and_key(
    tmp_path: Path, change: tuple[str, str], key: str, expected: str
) -> None:
    wrong = tmp_path / "wrong.toml"
    wrong.write_text((BOARDS / "raspberry-pi-4b.toml").read_text().replace(*change))
    with pytest.raises(UsageError) as error:
        load_profile(wrong)
    assert str(wrong) in str(error.value)
    assert key in str(error.value)
    assert expected in str(error.value)


def test_an_unknown_profile_name_lists_the_known(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"raspberry-pi-4b.*or a \.toml file"):
        named_profile("pi4")
    with pytest.raises(UsageError, match="cannot be read"):
        named_profile(tmp_path / "absent.toml")


def test_old_kernels_without_steal_are_read_and_garbage_is_not() -> None:
    assert parse_cpu("cpu  1 2 3 400 50 6 7\ncpu0 1 2 3 400 50 6 7\n") == (1, 4.5)
    for text in ("", "intr 5\n", "cpu  1 2\ncpu0 1 2\n", "cpu  1 2 3 x 5 6\ncpu0 1\n"):
        with pytest.raises(ValueError, match=r"CPU times|invalid literal"):
            parse_cpu(text)


def test_power_between_the_points_of_a_table_is_that_of_numpy_to_the_last_bit() -> None:
    rng = random.Random(20)
    for profile in all_profiles():
        use = [point.utilisation for point in profile.cpu]
        power = [point.power_w for point in profile.cpu]
        for share in (-0.1, 1.1, *use, *(rng.random() for _ in range(1000))):
            expected = float(np.interp(share, use, power)) * (3 if profile.scale == "per_cpu" else 1)
            assert profile.power_w(share, 3) == expected, (profile.name, share)


#: /proc/stat of a machine as it works, and as two CPUs go offline and one comes back; idle time in ticks.
RECORDED = [
    (4, "cpu  10132 12 2208 4022553 1290 0 156 413 9 0"),
    (4, "cpu  10135 12 2209 4022568 1291 0 156 414 9 0"),
    (4, "cpu  10155 12 2213 4022571 1291 0 156 416 9 0"),
    (2, "cpu  10158 12 2214 4022575 1299 0 157 416 9 0"),
    (2, "cpu  10166 12 2215 4022575 1298 0 157 417 9 0"),
    (3, "cpu  10167 12 2216 4022590 1298 0 157 417 9 0"),
]


def recorded_text(cpus: int, first: str) -> str:
    each = "".join(f"cpu{i} 1 2 3 4 5 6 7 8 9 0\n" for i in range(cpus))
    return padded(f"{first}\n{each}intr 1990473 0 9 0\nctxt 39213\n")


def padded(text: str) -> str:
    """All texts of one length: overwriting one by another is a single write then."""
    return text.ljust(400)


class Asked:
    """A stream of the native sampler that is asked where a test says so; remembers what it answered."""

    def __init__(self, stream: FileStream) -> None:
        self.stream, self.answers = stream, []

    def ask(self):
        self.answers.append(self.stream.ask())
        return self.answers[-1]


@built
def test_energy_by_the_native_sampler_is_that_of_python_from_the_same_file_and_times(tmp_path: Path) -> None:
    stat = tmp_path / "stat"
    stat.write_text(recorded_text(*RECORDED[0]))
    native = BoardProfile(profile="generic-x86", proc=tmp_path)
    native.open()
    opened_ns = native._before[0]
    asked = native._stream = Asked(native._stream)
    values, reasons = [], {}
    for text in [*(recorded_text(*row) for row in RECORDED), padded("garbage\n"), recorded_text(3, RECORDED[-1][1])]:
        time.sleep(0.03)
        overwrite(stat, text)
        time.sleep(0.03)
        (block,) = native.poll()
        reasons |= {len(values) + row: reason for row, reason in block.reasons.items()}
        values += block.value.tolist()
    asked.stream.close()

    times_ns = [int(t) for answer in asked.answers for t in answer.t_ns[:, 0]]
    held = [row for answer in asked.answers for row in zip(answer.value.tolist(), answer.error[:, 0], strict=True)]
    clock = Clock(opened_ns)
    now = {"text": recorded_text(*RECORDED[0])}
    python = BoardProfile(profile="generic-x86", proc=tmp_path, read=lambda _: now["text"], clock_ns=clock)
    python.open()
    for value, at_ns, ((cpus, idle), error) in zip(values, times_ns, held, strict=True):
        clock.now_ns = at_ns
        now["text"] = "garbage" if error else recorded_text(int(cpus), f"cpu  0 0 0 {int(idle)} 0 0 0 0")
        (sample,) = python.poll()
        assert (sample.value is None) == bool(np.isnan(value))
        assert sample.value is None or sample.value == value, "to the last bit"
    assert {row[0][0] for row in held if not row[1]} == {2.0, 3.0, 4.0}
    seen = {(int(cpus), int(idle)) for (cpus, idle), error in held if not error}
    assert seen == {(cpus, round(parse_cpu(recorded_text(cpus, first))[1] / TICK_S)) for cpus, first in RECORDED}
    assert set(reasons.values()) == {"expected the CPU times of /proc/stat"}


@built
def test_a_profile_that_counts_bytes_is_polled_from_python(tmp_path: Path) -> None:
    terms = '[storage]\nread_j_per_byte = 1e-6\nwrite_j_per_byte = 2e-6\nsource = "pidramble"\nderivation = "test"\n'
    own = tmp_path / "own.toml"
    own.write_text(f"{(BOARDS / 'raspberry-pi-4b.toml').read_text()}\n{terms}")
    with_bytes, without = BoardProfile(profile=own), BoardProfile(profile="raspberry-pi-4b")
    for board, gathers in ((with_bytes, False), (without, True)):
        board.open()
        readings = board.poll()
        board.close()
        board.close()
        assert isinstance(readings[0], Block) == gathers
        assert (board.gather_s is not None) == gathers


@built
def test_a_sampler_that_dies_costs_its_readings_and_no_energy() -> None:
    board = BoardProfile(profile="generic-x86")
    board.open()
    board.poll()
    assert board._stream is not None
    os.kill(board._stream.pid, signal.SIGKILL)
    (missing,) = board.poll()
    assert isinstance(missing, Sample)
    assert missing.value is None
    before_j = board._energy_j
    time.sleep(0.1)
    (block,) = board.poll()
    least_w = board.profile.power_w(0.0, os.cpu_count())
    board.close()
    assert block.value[-1] - before_j >= 0.1 * least_w
