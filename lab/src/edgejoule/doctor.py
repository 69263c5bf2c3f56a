"""Inspects this machine before a study and advises what to change so that its figures can be trusted.

An unreadable fact has a reason. The machine is not changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from edgejoule.errors import EdgejouleError
from edgejoule.findings.text import number
from edgejoule.machine import environment
from edgejoule.machine.storage_speed import OnTest, Speed, Throughput, measure_throughput
from edgejoule.meters.discovery import choose

SPEED = "storage speed"  # the group of facts that `edgejoule doctor` prints as a table
_BUSY_SHARE_MAX = 0.1
_FREE_BYTES_MIN = 5 << 30
_GOOD_CLOCKS = ("tsc", "arch_sys_counter", "kvm-clock")


@dataclass(frozen=True)
class Fact:
    """One fact about the machine. value: None exactly when `why` gives the reason. words: the text for people."""

    group: str
    name: str
    value: Any
    words: str
    why: str | None = None


@dataclass(frozen=True)
class Examination:
    """All facts in the order to be read, and advice: what makes figures of this machine doubtful, with the way out."""

    facts: tuple[Fact, ...]
    advice: tuple[str, ...]

    def value(self, name: str) -> Any:
        """Returns the value of the fact with this name, or None if it is missing."""
        return next((f.value for f in self.facts if f.name == name), None)

    def to_json(self) -> dict[str, Any]:
        """Returns {"facts": [...], "advice": [...]}."""
        return {"facts": [asdict(f) for f in self.facts], "advice": list(self.advice)}


def examine(folder: Path, seconds: float, root: Path = Path("/"), on_test: OnTest = lambda name: None) -> Examination:
    """Inspects the machine and measures the data path `folder` for about eight times `seconds` (0: not at all).

    root: the folder with /proc and /sys (tests emulate a board). on_test: receives the name of each storage test.
    """
    captured = environment.capture(folder, root)
    facts = [
        *_machine(captured),
        *_processor(captured, root),
        *_peripherals(root),
        *_storage(captured),
        *_speeds(Path(captured["storage"]["path"]), seconds, on_test),
        *_meter(),
    ]
    whole = Examination(tuple(facts), ())
    return Examination(whole.facts, tuple(_advice(whole)))


def _fact(group: str, name: str, value: Any, why: str, text: str | None = None) -> Fact:
    if value is None:
        return Fact(group, name, None, "", why)
    return Fact(group, name, value, str(value) if text is None else text)


def _machine(facts: Mapping[str, Any]) -> Iterator[Fact]:
    machine, system = facts["machine"], facts["system"]
    nowhere = "neither a device tree nor DMI names it"
    yield _fact("machine", "board", machine["board"], nowhere)
    yield _fact("machine", "processor", machine["processor"], "/proc/cpuinfo does not name it")
    yield _fact("machine", "cores", machine["cores"], "the system does not report it")
    memory = machine["memory_bytes"]
    yield _fact("machine", "memory_bytes", memory, "/proc/meminfo has no MemTotal", _bytes(memory))
    virtual = "yes: its host hides counters and shares the processor" if machine["virtual_machine"] else "no"
    yield _fact("machine", "virtual_machine", machine["virtual_machine"], "", virtual)
    yield _fact("system", "operating_system", system["operating_system"], "/etc/os-release has no PRETTY_NAME")
    yield _fact("system", "kernel", system["kernel"], "the system does not report it")
    busy = system["cpu_busy_share_before"]
    yield _fact("system", "busy_share", busy, "/proc/stat cannot be read", _percent(busy))


def _processor(facts: Mapping[str, Any], root: Path) -> Iterator[Fact]:
    clock = _read(root / "sys/devices/system/clocksource/clocksource0/current_clocksource")
    yield _fact("processor", "clock_source", clock, "no clocksource in /sys")
    frequency = facts["frequency"]
    hidden = "/sys has no cpufreq: the kernel, or the host of a virtual machine, hides it"
    yield _fact("processor", "governor", frequency["governor"], hidden)
    for name in ("khz_now", "khz_max"):
        khz = _number(frequency[name])
        yield _fact("processor", name, khz, hidden, f"{(khz or 0) / 1000:,.0f} MHz")
    temperatures = facts["temperature_c"]
    text = ", ".join(f"{zone} {degrees:g} °C" for zone, degrees in (temperatures or {}).items())
    yield _fact("processor", "temperature_c", temperatures, "/sys has no thermal zone with a reading", text)
    bits = environment.throttled_bits(root)
    no_bits = "only the firmware of a Raspberry Pi reports under-voltage and throttling, and this machine has none"
    yield _fact("processor", "throttled_bits", bits, no_bits, _throttled_text(bits or 0))


def _throttled_text(bits: int) -> str:
    now = [meaning for bit, meaning in environment.THROTTLED_NOW.items() if bits & (1 << bit)]
    since = [meaning for bit, meaning in environment.THROTTLED_NOW.items() if bits & (1 << (bit + 16))]
    states = [f"now: {', '.join(now)}"] * bool(now) + [f"since the start: {', '.join(since)}"] * bool(since)
    return f"{bits:#x}: {'; '.join(states) or 'nothing held it back'}"


def _peripherals(root: Path) -> Iterator[Fact]:
    radios = _radios(root)
    for kind, name in (("wlan", "wifi"), ("bluetooth", "bluetooth")):
        states = [on for type_, on in radios if type_ == kind]
        state = None if not states else "on" if any(states) else "off"
        yield _fact("peripherals", name, state, "/sys/class/rfkill names no such radio")
    connectors = {
        d.name.split("-", 1)[1]: status
        for d in sorted((root / "sys/class/drm").glob("card*-*"))
        if (status := _read(d / "status"))
    }
    hdmi = {name: status for name, status in connectors.items() if name.startswith("HDMI")} or None
    text = ", ".join(f"{name} {status}" for name, status in (hdmi or {}).items())
    yield _fact("peripherals", "hdmi", hdmi, "/sys/class/drm names no HDMI connector", text)
    bus = root / "sys/bus/usb/devices"
    devices = [_read(d / "product") or d.name for d in sorted(bus.glob("[0-9]*-[0-9]*")) if ":" not in d.name]
    yield _fact(
        "peripherals", "usb_devices", devices if bus.is_dir() else None, "/sys has no USB bus",
        ", ".join(devices) or "none",
    )  # fmt: skip


def _radios(root: Path) -> list[tuple[str, bool]]:
    """Returns (type, on) for every radio that the kernel lists."""
    facts = []
    for radio in sorted((root / "sys/class/rfkill").glob("rfkill*")):
        kind, soft, hard = (_read(radio / name) for name in ("type", "soft", "hard"))
        if kind:
            facts.append((kind, soft != "1" and hard != "1"))
    return facts


def _storage(facts: Mapping[str, Any]) -> Iterator[Fact]:
    storage = facts["storage"]
    unmounted = "/proc/mounts does not name it"
    yield _fact("storage", "path", storage["path"], "")
    yield _fact("storage", "device", storage["device"], unmounted)
    yield _fact("storage", "device_model", storage["model"], "the block device does not name its model")
    below = storage["below"]
    yield _fact("storage", "below", below, "the kernel shows no block device", ", ".join(below or ()))
    yield _fact("storage", "file_system", storage["file_system"], unmounted)
    mounted = storage["mount_options"]
    yield _fact("storage", "mount_options", mounted, unmounted, (mounted or "").replace(",", ", "))
    yield _fact("storage", "free_bytes", storage["free_bytes"], "", _bytes(storage["free_bytes"]))


def _speeds(folder: Path, seconds: float, on_test: OnTest) -> Iterator[Fact]:
    """Measures Table II of Liu, Wang and Chen as it does, and beside it requests that databases make."""
    skipped = Throughput.missing("not measured (--seconds 0)")
    measured = measure_throughput(folder, seconds, on_test) if seconds > 0 else skipped
    size = measured.file_bytes or None
    yield _fact(SPEED, "scratch_file_bytes", size, measured.dd_write.why or "", _bytes(size))
    yield _speed("dd_write_4kb", measured.dd_write)
    yield _speed("dd_read_4kb", measured.dd_read)
    yield _speed("direct_write_1mb", measured.sequential_write)
    yield _speed("direct_read_1mb", measured.sequential_read)
    yield _speed("direct_random_write_4kb", measured.random_write)
    yield _speed("direct_random_read_4kb", measured.random_read)
    yield _speed("sync_random_write_4kb", measured.sync_write)


def _speed(name: str, speed: Speed) -> Fact:
    if speed.mb_s is None:
        return Fact(SPEED, name, None, "", speed.why)
    figures = {"mb_s": speed.mb_s, "per_s": speed.per_s, "median_us": speed.median_us, "p99_us": speed.p99_us}
    value = {key: figure and round(figure, 3) for key, figure in figures.items()}
    return Fact(SPEED, name, value, f"{number(speed.mb_s)} MB/s")


def _meter() -> Iterator[Fact]:
    try:
        choice = choose()
    except EdgejouleError as error:
        yield Fact("meter", "meter", None, "", str(error))
        return
    yield Fact("meter", "meter", choice.meter.name, choice.line)


def _advice(e: Examination) -> Iterator[str]:
    if e.value("virtual_machine"):
        yield "a virtual machine's figures depend on its host's other load: measure on the machine itself"
    if (busy := e.value("busy_share")) is not None and busy > _BUSY_SHARE_MAX:
        yield f"other programs use {busy:.0%} of the processor: stop them; their energy is measured too"
    governor = e.value("governor")
    if governor not in (None, "performance", "powersave"):
        yield f"the governor {governor} changes the frequency with the load: cpupower frequency-set -g performance"
    if (bits := e.value("throttled_bits")) and bits & 0xF:
        yield f"the board is held back ({_throttled_text(bits)}): a better supply or cooling first"
    for radio in ("wifi", "bluetooth"):
        if e.value(radio) == "on":
            yield f"{radio} is on and draws power: rfkill block {'wifi' if radio == 'wifi' else 'bluetooth'}"
    if any(status == "connected" for status in (e.value("hdmi") or {}).values()):
        yield "a display is connected and draws power: unplug it"
    if (free := e.value("free_bytes")) is not None and free < _FREE_BYTES_MIN:
        yield f"only {_bytes(free)} are free where databases would run: --data PATH names another place"
    clock = e.value("clock_source")
    if clock is not None and clock not in _GOOD_CLOCKS:
        yield f"the clock source {clock} is slow: reading it adds to latencies below some µs"


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip() or None
    except OSError:
        return None


def _number(text: str | None) -> int | None:
    return int(text) if text and re.fullmatch(r"\d+", text) else None


def _bytes(count: int | None) -> str:
    if count is None:
        return ""
    return f"{count / 2**30:.1f} GiB" if count >= 2**30 else f"{count / 2**20:.1f} MiB"


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.0%} of all processors, by others"
