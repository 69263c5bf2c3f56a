"""The serial meter: profiles, frames, a real port, a device that streams."""

from __future__ import annotations

import os
import pty
import threading
import tty
from pathlib import Path

import numpy as np
import pytest

from edgejoule.errors import MeterError, UsageError
from edgejoule.meters.base import Block, Clock, Meter, ValueKind
from edgejoule.meters.plugins.serial import SerialMeter
from edgejoule.meters.plugins.serial.decode import Decoder
from edgejoule.meters.plugins.serial.framing import checksum, find_frames
from edgejoule.meters.plugins.serial.profile import PROFILES, Frame, SerialProfile
from edgejoule.meters.toml_profile import load_profile, named_profile, profile_names
from edgejoule.testing.examine import examine, run_once
from edgejoule.testing.instrument import Fault
from edgejoule.testing.instruments.serial import INSTRUMENT

# PZEM-004T V3.0 User Manual, section 2.3: the reply to reading ten registers (220.0 V, 1.000 A, 220.0 W, 50.0 Hz);
# the manual leaves the checksum open and answers with address 1, the general address is F8.
PZEM_REPLY = bytes.fromhex("F8 04 14 08 98 03 E8 00 00 08 98 00 00 00 00 00 00 01 F4 00 64 00 00")


def with_crc(data: bytes) -> bytes:
    return data + int(checksum(np.frombuffer(data, np.uint8)[None], "crc16-modbus")[0]).to_bytes(2, "little")


class Wire:
    """What arrives, read by read; what was sent."""

    def __init__(self, *reads: bytes) -> None:
        self.reads, self.sent = list(reads), []

    def read(self, _size: int = 1, /) -> bytes:
        return self.reads.pop(0) if self.reads else b""

    def write(self, data: bytes, /) -> int:
        self.sent.append(data)
        return len(data)

    def close(self) -> None: ...


class Ticks:
    """A clock that moves by 10 ms at each reading, and a sleep that does not wait."""

    def __init__(self) -> None:
        self.now_ns = 0

    def __call__(self) -> int:
        self.now_ns += 10_000_000
        return self.now_ns


def meter_on(wire: Wire, profile: str) -> SerialMeter:
    meter = SerialMeter("wire", profile, open_port=lambda *_: wire, clock_ns=Ticks(), sleep=lambda _: None)
    meter.open()
    return meter


def frames(count: int, first: int = 0) -> bytes:
    out = b""
    for i in range(first, first + count):
        body = b"\xa5\x5a" + (i % 65536).to_bytes(2, "little")
        out += with_crc(body + (12_000).to_bytes(4, "little") + (500_000 + i).to_bytes(4, "little"))
    return out


def test_follows_the_contract_and_opens_no_port_that_is_not_named() -> None:
    meter = SerialMeter()
    assert isinstance(meter, Meter)
    assert not meter.probe().available
    with pytest.raises(MeterError, match="no serial port is named"):
        meter.open()


@pytest.mark.parametrize("name", profile_names(PROFILES))
def test_every_profile_of_the_package_is_whole(name: str) -> None:
    profile = named_profile(name, PROFILES, SerialProfile)
    assert profile.name == name
    assert profile.accuracy.source


def test_checksums_are_those_of_the_catalogue() -> None:
    check = np.frombuffer(b"123456789", np.uint8)[None]
    assert checksum(check, "crc16-modbus")[0] == 0x4B37
    assert checksum(check, "crc16-ccitt")[0] == 0x29B1
    assert checksum(check, "sum8")[0] == sum(b"123456789") % 256
    assert checksum(check, "xor8")[0] == 0x31


def test_the_reply_in_the_manual_of_the_pzem_is_220_watts() -> None:
    wire = Wire(b"", with_crc(PZEM_REPLY))
    (sample,) = meter_on(wire, "pzem-004t-v3").poll()
    assert sample.value == pytest.approx(220.0)
    assert wire.sent == [with_crc(bytes.fromhex("F8 04 00 00 00 0A"))]


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"", "no answer"),
        (with_crc(PZEM_REPLY)[:20], "no answer"),
        (PZEM_REPLY + b"\x00\x00", "no valid answer"),
        (np.random.default_rng(60).bytes(60), "no "),
    ],
)
def test_silence_a_cut_frame_and_a_wrong_checksum_are_missing_with_a_reason(answer: bytes, why: str) -> None:
    (sample,) = meter_on(Wire(b"", answer), "pzem-004t-v3").poll()
    assert sample.value is None
    assert why in sample.missing_reason


def test_an_answer_that_comes_late_is_not_taken_for_the_next() -> None:
    late = with_crc(PZEM_REPLY)
    now = with_crc(PZEM_REPLY.replace(b"\x08\x98\x00\x00\x00\x00\x00\x00", b"\x00\x64\x00\x00\x00\x00\x00\x00"))
    (sample,) = meter_on(Wire(late, now), "pzem-004t-v3").poll()
    assert sample.value == pytest.approx(10.0)


def test_framing_recovers_after_garbage_wherever_it_is_cut() -> None:
    rng = np.random.default_rng(5)
    frame = Frame(start="A5 5A", length=14, checksum="crc16-modbus")
    for _ in range(200):
        data = frames(20)
        at = int(rng.integers(0, len(data)))
        data = data[:at] + rng.bytes(int(rng.integers(1, 30))) + data[at:]
        cut = int(rng.integers(0, len(data)))
        first = find_frames(data[:cut], frame)
        second = find_frames(first.rest + data[cut:], frame)
        assert len(first.frames) + len(second.frames) >= 19
        assert first.skipped + second.skipped + len(second.rest) > 0


def test_a_frame_that_lost_bytes_costs_no_frame_but_itself() -> None:
    frame = Frame(start="A5 5A", length=14, checksum="crc16-modbus")
    for lost in range(1, 12):
        data = frames(20)
        result = find_frames(data[: 5 * 14 + 2] + data[5 * 14 + 2 + lost :], frame)
        assert len(result.frames) == 19


def test_bytes_one_at_a_time_make_the_same_values_as_all_at_once() -> None:
    profile = named_profile("evm430-f6736", PROFILES, SerialProfile)
    data = frames(50)
    whole = Decoder(profile).add(data)
    slow = Decoder(profile)
    parts = [slow.add(data[i : i + 1]) for i in range(len(data))]
    for role, values in whole.values.items():
        np.testing.assert_array_equal(values, np.concatenate([part.values[role] for part in parts]))


def test_instantaneous_volts_and_amperes_make_a_mean_on_the_clock_of_the_device() -> None:
    meter = meter_on(Wire(frames(250)), "evm430-f6736")
    (channel,) = meter.channels()
    assert (channel.kind, channel.clock) == (ValueKind.INTERVAL_MEAN, Clock.DEVICE)
    (block,) = meter.poll()
    assert block.t_ns.tolist() == [200_000_000, 400_000_000]
    np.testing.assert_allclose(block.value, [12 * (0.5 + 49.5e-6), 12 * (0.5 + 149.5e-6)])


def test_a_lost_frame_makes_its_mean_missing_and_no_other() -> None:
    data = frames(130) + frames(270, first=131)
    (block,) = meter_on(Wire(data), "evm430-f6736").poll()
    assert np.isnan(block.value).tolist() == [False, True, False, False]
    assert block.reasons[1] == "frames were lost"


def test_a_line_of_text_is_read_and_an_invalid_one_is_reported() -> None:
    meter = meter_on(Wire(b"12.0 V 0.50", b"0 A\nERROR\n", b"what\n"), "text-vi")
    assert meter.poll() == []
    (block,) = meter.poll()
    assert isinstance(block, Block)
    assert block.value.tolist() == [6.0]
    (sample,) = meter.poll()
    assert "no frame" in sample.missing_reason


def refuse(tmp_path: Path, old: str, new: str, name: str = "pzem-004t-v3") -> str:
    text = (PROFILES / f"{name}.toml").read_text()
    assert old in text
    path = tmp_path / "mine.toml"
    path.write_text(text.replace(old, new))
    with pytest.raises(UsageError) as caught:
        load_profile(path, SerialProfile)
    return str(caught.value)


def test_rms_volts_times_rms_amperes_are_refused_as_active_power(tmp_path: Path) -> None:
    assert "apparent power, not active power" in refuse(tmp_path, 'role = "power" ', 'role = "current_rms" ')


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("baud = 9600", "baud = 9600\ncolour = 1", "colour"),
        ("length = 25", "length = 10", "ends beyond"),
        ('start = "F8 04 14"', 'start = "F8 0G 14"', "frame.start"),
        ("interval_s = 1.0", "", "interval_s"),
        ('type = "u16be"', 'type = "u17be"', "one of"),
    ],
)
def test_a_wrong_profile_is_refused_with_its_key(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert message in refuse(tmp_path, old, new)


def test_a_real_port_carries_question_and_answer() -> None:
    master, slave = pty.openpty()
    tty.setraw(slave)

    def instrument() -> None:
        question = b""
        while len(question) < 8:
            question += os.read(master, 8 - len(question))
        os.write(master, with_crc(PZEM_REPLY)[:9])
        os.write(master, with_crc(PZEM_REPLY)[9:])

    thread = threading.Thread(target=instrument, daemon=True)
    thread.start()
    pytest.importorskip("serial")
    meter = SerialMeter(os.ttyname(slave), "pzem-004t-v3")
    meter.open()
    (sample,) = meter.poll()
    meter.close()
    meter.close()
    os.close(master)
    assert sample.value == pytest.approx(220.0), sample.missing_reason
    thread.join(5)


def test_reports_the_joules_of_an_emulated_board() -> None:
    ideal = run_once(INSTRUMENT, 1, ideal=True)
    assert abs(ideal.error_j) / ideal.known_j < 1e-4
    result = examine(INSTRUMENT, range(1, 4))
    assert result.wrong_unflagged == 0
    assert len(result.reported) == 3


@pytest.mark.parametrize("fault", sorted(INSTRUMENT.faults))
def test_no_wrong_figure_without_a_flag_when_things_go_wrong(fault: Fault) -> None:
    assert examine(INSTRUMENT, range(1, 2), fault).wrong_unflagged == 0
