"""The doctor reports a machine's facts, why others are unknown, and what to change first."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from edgejoule.cli.doctor import doctor
from edgejoule.doctor import examine
from edgejoule.machine import environment
from edgejoule.machine.storage_speed import measure_speed

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


def test_the_command_prints_every_fact_and_json_holds_them() -> None:
    plain = CliRunner().invoke(doctor, ["--seconds", "0.05"])
    assert plain.exit_code == 0, plain.output
    for name in ("board", "governor", "clock source", "sync writes 4 KB", "random reads 4 KB", "meter", "wifi"):
        assert name in plain.output
    facts = json.loads(CliRunner().invoke(doctor, ["--seconds", "0", "--json"]).stdout)
    assert {f["name"] for f in facts["facts"]} >= {"board", "kernel", "busy_share", "free_bytes", "meter"}
    skipped = next(f for f in facts["facts"] if f["name"] == "sync_writes_4kb_per_s")
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
