"""Describes the machine in the record of every experiment. An unreadable value is null, never guessed."""

from __future__ import annotations

import os
import platform
import re
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from edgejoule.machine.block_devices import layers_below, mount_of
from edgejoule.machine.files import read_bytes
from edgejoule.version import __version__

BUSY_WINDOW_S = 0.3  # duration of the check for other CPU use


def capture(data_path: Path, root: Path = Path("/")) -> dict[str, Any]:
    """The environment as nested tables. root: the folder with /proc and /sys (tests emulate a board)."""
    return {
        "machine": {
            "board": _board(root),
            "processor": _processor(root),
            "cores": os.cpu_count(),
            "architecture": platform.machine(),
            "memory_bytes": _memory_bytes(root),
            "virtual_machine": "hypervisor" in (_text(root / "proc/cpuinfo") or ""),
        },
        "system": {
            "operating_system": _os_name(root),
            "kernel": platform.release(),
            "load_average_1min": _load_average(root),
            "cpu_busy_share_before": _busy_share(root),
        },
        "frequency": _frequency(root),
        "temperature_c": _temperatures(root),
        "under_voltage": _text(f"{root}/sys/devices/platform/soc/soc:firmware/get_throttled"),
        "storage": storage(data_path, root),
        "host": platform.node(),
        "edgejoule": __version__,
        "python": platform.python_version(),
    }


THROTTLED_NOW = {0: "under-voltage", 1: "frequency capped", 2: "throttled", 3: "soft temperature limit"}


def state(root: Path = Path("/")) -> dict[str, Any]:
    """What changes from run to run and costs little to read: frequency, temperature, throttling. null: unreadable."""
    temperatures = _temperatures(root)
    return {
        "khz_now": _frequency_file(root, "scaling_cur_freq"),
        "temperature_c": max(temperatures.values()) if temperatures else None,
        "throttled_bits": throttled_bits(root),
        "throttle_count": _throttle_count(root),
    }


def throttling(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Returns flags for throttling during a run. Only values that were read are reported.

    Raspberry Pi: bits 0 to 3 of get_throttled hold now, bits 16 to 19 since the start of the machine. x86: the kernel's
    count of thermal events. Source: Raspberry Pi documentation, "vcgencmd: get_throttled"; Linux admin guide, thermal.
    """
    result = []
    bits = [s["throttled_bits"] for s in (before, after)]
    if bits[0] is not None and bits[1] is not None:
        new = bits[1] & ~bits[0]
        for bit, meaning in THROTTLED_NOW.items():
            if (bits[0] | bits[1]) & (1 << bit) or new & (1 << (bit + 16)):
                result.append(f"the board was held back: {meaning}")
    counts = [s["throttle_count"] for s in (before, after)]
    if counts[0] is not None and counts[1] is not None and counts[1] > counts[0]:
        result.append(f"the processor was held back {counts[1] - counts[0]} times by its temperature")
    return result


def throttled_bits(root: Path = Path("/")) -> int | None:
    """The firmware's bits of a Raspberry Pi (hexadecimal in sysfs)."""
    text = _text(f"{root}/sys/devices/platform/soc/soc:firmware/get_throttled")
    try:
        return int(text, 16) if text else None
    except ValueError:
        return None


def _throttle_count(root: Path) -> int | None:
    folders = _folders(f"{root}/sys/devices/system/cpu", "cpu")
    files = (f"{folder}/thermal_throttle/core_throttle_count" for folder in folders)
    counts = [int(text) for f in files if (text := _text(f)) and text.isdigit()]
    return sum(counts) if counts else None


def _text(path: Path | str) -> str | None:
    try:
        return read_bytes(path).decode("utf-8", errors="replace").strip("\x00\n ") or None
    except OSError:
        return None


def _folders(above: str, prefix: str) -> list[str]:
    """Returns the folders with this prefix, by name. pathlib's glob takes several times as long."""
    try:
        with os.scandir(above) as entries:
            return sorted(entry.path for entry in entries if entry.name.startswith(prefix))
    except OSError:
        return []


def _board(root: Path) -> str | None:
    model = _text(root / "proc/device-tree/model")
    if model:
        return model
    vendor, product = (_text(root / "sys/class/dmi/id" / f) for f in ("sys_vendor", "product_name"))
    return " ".join(part for part in (vendor, product) if part) or None


def _processor(root: Path) -> str | None:
    result = re.search(r"^(?:model name|Model)\s*:\s*(.+)$", _text(root / "proc/cpuinfo") or "", re.MULTILINE)
    return result[1] if result else None


def _memory_bytes(root: Path) -> int | None:
    result = re.search(r"^MemTotal:\s+(\d+) kB", _text(root / "proc/meminfo") or "", re.MULTILINE)
    return int(result[1]) * 1024 if result else None


def _os_name(root: Path) -> str | None:
    result = re.search(r'^PRETTY_NAME="?([^"\n]+)', _text(root / "etc/os-release") or "", re.MULTILINE)
    return result[1] if result else None


def _load_average(root: Path) -> float | None:
    text = _text(root / "proc/loadavg")
    return float(text.split()[0]) if text else None


def _busy_share(root: Path) -> float | None:
    """The share of all CPUs that something uses now, while we do nothing."""
    before = cpu_ticks(root)
    time.sleep(BUSY_WINDOW_S)
    after = cpu_ticks(root)
    if before is None or after is None or after[1] <= before[1]:
        return None
    return round((after[0] - before[0]) / (after[1] - before[1]), 3)


def cpu_ticks(root: Path = Path("/")) -> tuple[int, int] | None:
    """Busy and all ticks of /proc/stat; idle, waiting and stolen time are not busy."""
    result = re.search(r"^cpu +(\d+) (\d+) (\d+) (\d+) (\d+) (\d+) (\d+) (\d+)", _text(root / "proc/stat") or "")
    if not result:
        return None
    user, nice, system, idle, waiting, interrupts, soft, stolen = map(int, result.groups())
    busy = user + nice + system + interrupts + soft
    return busy, busy + idle + waiting + stolen


def _frequency(root: Path) -> dict[str, Any]:
    names = {"governor": "scaling_governor", "khz_now": "scaling_cur_freq", "khz_max": "scaling_max_freq"}
    return {key: _frequency_file(root, name) for key, name in names.items()}


def _frequency_file(root: Path, name: str) -> str | None:
    return _text(f"{root}/sys/devices/system/cpu/cpu0/cpufreq/{name}")


def _temperatures(root: Path) -> dict[str, float] | None:
    result: dict[str, float] = {}
    for zone in _folders(f"{root}/sys/class/thermal", "thermal_zone"):
        text = _text(f"{zone}/temp")
        if text and re.fullmatch(r"-?\d+", text):
            result[_text(f"{zone}/type") or Path(zone).name] = int(text) / 1000
    return result or None


def storage(data_path: Path, root: Path = Path("/")) -> dict[str, Any]:
    """Returns where data lie: the device, the file system with the options that the kernel says are in force, and what
    lies below. model, transport: of the first disk below.
    """
    existing = next((p for p in [data_path.absolute(), *data_path.absolute().parents] if p.exists()), Path("/"))
    usage = shutil.disk_usage(existing)
    mount, layers = mount_of(existing, root), layers_below(existing, root)
    disk = next((layer for layer in layers if layer.kind == "disk"), None)
    return {
        "path": str(existing),
        "device": mount and mount.device,
        "file_system": mount and mount.file_system,
        "mount_options": mount and mount.options,
        "free_bytes": usage.free,
        "model": disk and disk.model,
        "transport": disk and disk.transport,
        "below": [layer.text() for layer in layers] or None,
    }
