"""The doctor reports a machine's facts, why others are unknown, and what to change first."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from edgejoule.cli.doctor import doctor
from edgejoule.doctor import examine
from edgejoule.machine import environment, storage_speed
from edgejoule.machine.block_devices import mount_of
from edgejoule.machine.file_system import FileSystem, MadeFileSystem
from edgejoule.machine.storage_speed import LARGE_FILE_BYTES_MAX, measure_speed, measure_throughput

CPU0 = "sys/devices/system/cpu/cpu0"
BOARD = {
    "proc/device-tree/model": "Raspberry Pi 4 Model B Rev 1.4\x00",
    "proc/cpuinfo": "Model : Raspberry Pi 4 Model B Rev 1.4\n",
    "proc/meminfo": "MemTotal:        1893456 kB\n",
    "proc/mounts": "/dev/mmcblk0p2 / ext4 rw,noatime 0 0\n",
    "sys/devices/system/clocksource/clocksource0/current_clocksource": "arch_sys_counter\n",
    f"{CPU0}/cpufreq/scaling_governor": "ondemand\n",
    f"{CPU0}/cpufreq/scaling_cur_freq": "600000\n",
    f"{CPU0}/cpufreq/scaling_max_freq": "1500000\n",
    "sys/class/thermal/thermal_zone0/temp": "81312\n",
    "sys/class/thermal/thermal_zone0/type": "cpu-thermal\n",
    "sys/devices/platform/soc/soc:firmware/get_throttled": "50005\n",
    "sys/class/rfkill/rfkill0/type": "wlan\n",
    "sys/class/rfkill/rfkill0/soft": "0\n",
    "sys/class/rfkill/rfkill0/hard": "0\n",
    "sys/class/rfkill/rfkill1/type": "bluetooth\n",
    "sys/class/rfkill/rfkill1/soft": "1\n",
    "sys/class/rfkill/rfkill1/hard": "0\n",
    "sys/class/drm/card1-HDMI-A-1/status": "connected\n",
    "sys/class/drm/card1-HDMI-A-2/status": "disconnected\n",
    "sys/bus/usb/devices/1-1/product": "USB3.0 SSD\n",
    "sys/bus/usb/devices/1-1:1.0/interface": "no device of its own\n",
}


def board(root: Path) -> Path:
    for name, text in BOARD.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_a_board_is_examined_and_what_draws_power_is_named(tmp_path: Path) -> None:
    result = examine(tmp_path, 0, board(tmp_path))
    assert result.value("board") == "Raspberry Pi 4 Model B Rev 1.4"
    assert result.value("clock_source") == "arch_sys_counter"
    assert (result.value("governor"), result.value("khz_now"), result.value("khz_max")) == ("ondemand", 600000, 1500000)
    assert result.value("temperature_c") == {"cpu-thermal": 81.312}
    assert result.value("throttled_bits") == 0x50005
    assert (result.value("wifi"), result.value("bluetooth")) == ("on", "off")
    assert result.value("hdmi") == {"HDMI-A-1": "connected", "HDMI-A-2": "disconnected"}
    assert result.value("usb_devices") == ["USB3.0 SSD"]
    text = next(f.words for f in result.facts if f.name == "throttled_bits")
    assert text == "0x50005: now: under-voltage, throttled; since the start: under-voltage, throttled"
    advice = "\n".join(result.advice)
    for phrase in ("ondemand", "held back", "wifi is on", "display is connected"):
        assert phrase in advice
    assert "bluetooth" not in advice


def test_an_unreadable_fact_has_its_reason(tmp_path: Path) -> None:
    result = examine(tmp_path, 0, tmp_path)
    for fact in result.facts:
        assert (fact.value is None) == (fact.why is not None), fact
        assert fact.why is None or len(fact.why) > 10
    assert {f.name for f in result.facts if f.value is None} >= {
        "governor",
        "temperature_c",
        "wifi",
        "hdmi",
        "busy_share",
    }


def test_the_storage_is_measured_and_the_scratch_file_removed(tmp_path: Path) -> None:
    speed = measure_speed(tmp_path, 0.05)
    assert speed.sync_writes.per_s is not None
    assert speed.sync_writes.median_us is not None
    assert speed.sync_writes.per_s > 0
    assert speed.sync_writes.median_us <= (speed.sync_writes.p99_us or 0)
    reads = speed.random_reads
    assert (reads.per_s is None) == (reads.why is not None), "a file system without O_DIRECT says so"
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_is_missing_and_not_zero() -> None:
    speed = measure_speed(Path("/proc"), 0.05)
    assert speed.sync_writes.per_s is None
    assert speed.sync_writes.why
    assert speed.random_reads.per_s is None
    throughput = measure_throughput(Path("/proc"), 0.05)
    assert (throughput.dd_write.mb_s, throughput.file_bytes) == (None, 0)
    assert throughput.dd_write.why


@pytest.fixture
def disk() -> Iterator[Path]:
    """A folder that is not in memory, as /tmp may be."""
    with tempfile.TemporaryDirectory(prefix="edgejoule-doctor-", dir="/var/tmp") as folder:
        if mount_of(Path(folder)) is None or mount_of(Path(folder)).file_system in ("tmpfs", "overlay"):  # type: ignore[union-attr]
            pytest.skip("/var/tmp lies on no disk")
        yield Path(folder)


def test_a_disk_is_written_and_read_as_dd_does_and_past_the_page_cache(disk: Path) -> None:
    tests: list[str] = []
    measured = measure_throughput(disk, 0.05, tests.append)
    assert 1 << 20 <= measured.file_bytes <= LARGE_FILE_BYTES_MAX
    for speed in (measured.dd_write, measured.dd_read, measured.sequential_write, measured.random_read):
        assert speed.mb_s is not None, speed.why
        assert speed.mb_s > 0
    assert measured.sequential_write.bytes_each == 1 << 20
    assert measured.random_read.mb_s == pytest.approx(measured.random_read.per_s * 4096 / 1e6)  # type: ignore[operator]
    assert len(tests) == 8
    assert list(disk.iterdir()) == []


def test_the_read_as_dd_begins_without_pages_of_the_file(disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage_speed, "forget", lambda files: None)
    measured = measure_throughput(disk, 0.05)
    assert measured.dd_read.mb_s is None
    assert "page cache" in (measured.dd_read.why or "")


@pytest.mark.root
def test_the_page_cache_of_an_image_below_is_dropped_too(disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, dropped = MadeFileSystem(disk / "data"), []
    monkeypatch.setattr(storage_speed, "forget", lambda files: dropped.append([*files]))
    try:
        measure_throughput(made.make(FileSystem("ext4", size_mb=2048)), 0.05)
    finally:
        made.remove()
    ((scratch, image),) = dropped
    assert (scratch.parent, image) == (Path("/proc/self/fd"), made.image)


def test_no_test_writes_or_reads_more_than_the_file_has() -> None:
    offsets: list[int] = []
    storage_speed._timed(offsets.append, 8 << 20, 60.0, 1 << 20)
    assert offsets == [number << 20 for number in range(8)]
    storage_speed._timed(offsets.append, 1 << 20, 60.0)
    assert len(offsets) == 8 + 256


def test_memory_is_named_as_what_it_is() -> None:
    if not Path("/dev/shm").is_dir():
        pytest.skip("no file system in memory")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        measured = measure_throughput(Path(folder), 0.02)
        if measured.file_bytes == 0:
            pytest.skip("the file system in memory is too small")
        assert "in memory" in (measured.dd_read.why or "")
        assert environment.storage(Path(folder))["below"] == ["memory (tmpfs)"]


def test_the_command_prints_every_fact_and_json_holds_them() -> None:
    plain = CliRunner().invoke(doctor, ["--seconds", "0.05"])
    assert plain.exit_code == 0, plain.output
    for name in ("board", "governor", "clock source", "write 4 KB blocks, as dd", "conv=fdatasync", "meter", "wifi"):
        assert name in plain.output
    facts = json.loads(CliRunner().invoke(doctor, ["--seconds", "0", "--json"]).stdout)
    assert {f["name"] for f in facts["facts"]} >= {"board", "kernel", "busy_share", "free_bytes", "below", "meter"}
    skipped = next(f for f in facts["facts"] if f["name"] == "sync_random_write_4kb")
    assert re.search("not measured", skipped["why"])


STATE = {"khz_now": None, "temperature_c": None, "throttled_bits": None, "throttle_count": None}


@pytest.mark.parametrize(
    ("before", "after", "flags"),
    [
        ({}, {}, []),
        ({"throttled_bits": 0}, {"throttled_bits": 0}, []),
        ({"throttled_bits": 0x50000}, {"throttled_bits": 0x50000}, []),
        ({"throttled_bits": 0}, {"throttled_bits": 0x4}, ["the board was held back: throttled"]),
        ({"throttled_bits": 0}, {"throttled_bits": 0x10000}, ["the board was held back: under-voltage"]),
        ({"throttled_bits": None}, {"throttled_bits": 0x4}, []),
        ({"throttle_count": 3}, {"throttle_count": 5}, ["the processor was held back 2 times by its temperature"]),
        ({"throttle_count": 3}, {"throttle_count": 3}, []),
    ],
)
def test_a_run_is_flagged_for_what_held_it_back_and_for_nothing_before_it(
    before: dict[str, int], after: dict[str, int], flags: list[str]
) -> None:
    assert environment.throttling(STATE | before, STATE | after) == flags


def test_the_state_of_a_board_is_read_from_its_own_files(tmp_path: Path) -> None:
    for cpu in (0, 1):
        folder = board(tmp_path) / f"sys/devices/system/cpu/cpu{cpu}/thermal_throttle"
        folder.mkdir(parents=True)
        (folder / "core_throttle_count").write_text("4\n")
    expected = {"khz_now": "600000", "temperature_c": 81.312, "throttled_bits": 0x50005, "throttle_count": 8}
    assert environment.state(tmp_path) == expected
