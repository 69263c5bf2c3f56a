"""The environment holds the machine's facts; unknown ones are null."""

from __future__ import annotations

from pathlib import Path

from edgejoule.machine.environment import capture


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_a_board_is_described_by_its_own_files(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "proc/device-tree/model": "Raspberry Pi 4 Model B Rev 1.4\x00",
            "proc/cpuinfo": "processor : 0\nModel : Raspberry Pi 4 Model B Rev 1.4\n",
            "proc/meminfo": "MemTotal:        1893456 kB\nMemFree: 1 kB\n",
            "proc/loadavg": "0.25 0.1 0.1 1/100 999\n",
            "etc/os-release": 'NAME="x"\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n',
            "sys/class/thermal/thermal_zone0/temp": "48312\n",
            "sys/class/thermal/thermal_zone0/type": "cpu-thermal\n",
            "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "ondemand\n",
            "sys/devices/platform/soc/soc:firmware/get_throttled": "50005\n",
            "proc/mounts": "/dev/root / ext4 rw,noatime 0 0\n/dev/sda1 /nowhere ext4 rw 0 0\n",
        },
    )
    result = capture(tmp_path, tmp_path)
    assert result["machine"]["board"] == "Raspberry Pi 4 Model B Rev 1.4"
    assert result["machine"]["memory_bytes"] == 1893456 * 1024
    assert result["system"]["operating_system"] == "Debian GNU/Linux 12 (bookworm)"
    assert result["temperature_c"] == {"cpu-thermal": 48.312}
    assert result["frequency"]["governor"] == "ondemand"
    assert result["under_voltage"] == "50005"
    assert result["storage"]["device"] == "/dev/root"
    assert result["storage"]["mount_options"] == "rw,noatime"


def test_an_unreadable_fact_is_null_and_not_zero(tmp_path: Path) -> None:
    result = capture(tmp_path / "not/yet/there", tmp_path)
    assert result["machine"]["board"] is None
    assert result["machine"]["memory_bytes"] is None
    assert result["temperature_c"] is None
    assert result["system"]["load_average_1min"] is None
    assert result["system"]["cpu_busy_share_before"] is None
    assert result["storage"]["free_bytes"] > 0
