"""Monsoon power monitors: packets, ranges, calibration, dropped samples; the vendor's own decoder as oracle."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from edgejoule.errors import MeterError, UsageError
from edgejoule.meters.base import Block, Meter
from edgejoule.meters.plugins.monsoon import Monsoon
from edgejoule.meters.plugins.monsoon.protocol import (
    HVPM,
    LVPM,
    PRODUCT,
    VENDOR,
    Calibration,
    MonsoonModel,
    ObservationType,
    Opcode,
    Output,
    Scales,
    Unpacker,
    lvpm_scales,
    volts,
)
from edgejoule.meters.plugins.monsoon.usb import find_serials, open_usb
from edgejoule.testing.examine import examine, run_once
from edgejoule.testing.instrument import Circuit, Fault
from edgejoule.testing.instruments.monsoon import INSTRUMENT, STORED, Monitor, encode
from edgejoule.testing.load import KnownLoad

ORACLE = json.loads((Path(__file__).parent / "data" / "monsoon.json").read_text())["cases"]


def decoded(case: dict, output: Output, model: MonsoonModel) -> tuple[np.ndarray, np.ndarray]:
    """Currents in mA and voltages of all measurements, as our decoder has them."""
    seen = Unpacker(model).add(b"".join(bytes.fromhex(packet) for packet in case["packets"]))
    calibration = Calibration()
    calibration.add(seen, output)
    words = seen.words[seen.kind == ObservationType.MEASUREMENT]
    return calibration.current_ma(words, output, scales(case, output), model), volts(words, output, model)


def scales(case: dict, output: Output) -> Scales:
    stored = case["stored"]
    coarse, fine = stored[f"{output}_coarse"], stored[f"{output}_fine"]
    if case["model"] == "LVPM":
        return lvpm_scales(coarse, fine)
    return Scales(coarse, fine / 1000, stored[f"{output}_coarse_zero"], stored[f"{output}_fine_zero"])


@pytest.mark.parametrize("case", ORACLE, ids=lambda case: case["model"])
@pytest.mark.parametrize("output", ["main", "usb"])
def test_currents_and_voltages_are_those_of_the_vendors_decoder(case: dict, output: Output) -> None:
    model = {"HVPM": HVPM, "LVPM": LVPM}[case["model"]]
    current_ma, volt = decoded(case, output, model)
    np.testing.assert_allclose(current_ma, case[f"{output}_ma"], rtol=1e-12)
    np.testing.assert_allclose(volt, case[f"{output}_v"], rtol=1e-12)


MUTANTS = {
    "wrong byte order": lambda case: {
        **case,
        "packets": case["packets"][:4] + [p[:8] + swapped(p[8:]) for p in case["packets"][4:]],
    },
    "ranges exchanged": lambda case: {
        **case,
        "stored": {**case["stored"], "main_fine": case["stored"]["main_coarse"]},
    },
    "no factory zero": lambda case: {**case, "stored": {**case["stored"], "main_coarse_zero": 0}},
}


def swapped(text: str) -> str:
    return "".join(text[i + 2 : i + 4] + text[i : i + 2] for i in range(0, len(text), 4))


@pytest.mark.parametrize("mutant", MUTANTS)
def test_the_oracle_catches_a_decoder_that_is_wrong(mutant: str) -> None:
    current_ma, _ = decoded(MUTANTS[mutant](ORACLE[0]), "main", HVPM)
    reported = ORACLE[0]["main_ma"]
    assert len(current_ma) != len(reported) or not np.allclose(current_ma, reported)


def test_the_oracle_catches_a_wrong_threshold_between_the_ranges() -> None:
    current_ma, _ = decoded(ORACLE[0], "main", replace(HVPM, fine_below=30_000))
    assert not np.allclose(current_ma, ORACLE[0]["main_ma"])


def packets(count: int, dropped: int = 0) -> np.ndarray:
    out = encode(np.full((3 * count, 8), 5000.0), np.zeros(3 * count, np.uint8))
    out[:, :2] = np.frombuffer(dropped.to_bytes(2, "little"), np.uint8)
    return out


def test_dropped_samples_leave_a_hole_of_their_size_also_when_the_count_runs_over() -> None:
    unpacker = Unpacker(HVPM)
    assert unpacker.add(packets(1, 65_533).tobytes()).number.tolist() == [0, 1, 2]
    assert unpacker.add(packets(1, 3).tobytes()).number.tolist() == [9, 10, 11]
    assert unpacker.add(packets(1, 0).tobytes()).number.tolist() == [12, 13, 14]


def test_a_packet_that_cannot_be_and_a_cut_one_are_left_out() -> None:
    bad = packets(1)
    bad[:, 3] = 200
    unpacker = Unpacker(HVPM)
    assert len(unpacker.add(bad.tobytes() + packets(2).tobytes() + b"\x00" * 20).number) == 6
    assert len(unpacker.add(b"").number) == 0


def monitor(*faults: Fault, power_w: float = 2.5) -> tuple[Monitor, Monsoon, list[int]]:
    load = KnownLoad(np.array([0.0, 1e4]), np.full(2, power_w))
    made = Monitor(Circuit(load, 10.0, 0.0, 0.0, 0.0, 0.0, frozenset(faults), np.random.default_rng(1)))
    now = [0]
    return made, Monsoon(open_link=made.open, find=lambda: [20017], clock_ns=lambda: now[0]), now


def polled(made: Monitor, meter: Monsoon, now: list[int], *times_s: float) -> list[Block]:
    blocks = []
    for time_s in times_s:
        now[0] = round(time_s * 1e9)
        made.advance(now[0])
        blocks.extend(meter.poll())
    return blocks


def test_follows_the_contract_and_declines_without_a_monitor() -> None:
    meter = Monsoon(find=lambda: [])
    assert isinstance(meter, Meter)
    assert not meter.probe().available
    assert not Monsoon(serial=5, find=lambda: [20017]).probe().available
    assert Monsoon(find=lambda: [20017]).probe().available
    with pytest.raises(UsageError, match="main, usb"):
        Monsoon(output="aux")


def test_without_libusb_it_declines_with_the_fix() -> None:
    def find() -> list[int]:
        raise MeterError("libusb is missing: sudo apt install libusb-1.0-0")

    assert Monsoon(find=find).probe().fix == "sudo apt install libusb-1.0-0"


def test_a_board_on_the_coarse_and_on_the_fine_range_is_read() -> None:
    for power_w in (2.5, 0.1):
        made, meter, now = monitor(power_w=power_w)
        meter.open()
        blocks = polled(made, meter, now, 0.05, 0.1, 0.5)
        meter.close()
        meter.close()
        value = np.concatenate([block.value for block in blocks])
        assert np.nanmean(value) == pytest.approx(power_w, rel=2e-4)


def test_samples_before_the_first_calibration_are_missing_not_zero() -> None:
    made, meter, now = monitor()
    meter.open()
    made.read = lambda: packets(2).tobytes()
    (block,) = polled(made, meter, now, 0.01)
    assert np.isnan(block.value).all()
    assert set(block.reasons.values()) == {"not calibrated yet"}


def test_dropped_samples_are_reported() -> None:
    made, meter, now = monitor(Fault.DROPOUT)
    meter.open()
    blocks = polled(made, meter, now, *np.arange(0.05, 2, 0.05))
    reasons = {reason for block in blocks for reason in block.reasons.values()}
    assert reasons == {"the monitor dropped samples"}


def test_a_monitor_that_is_unplugged_is_reopened_and_its_clock_continues() -> None:
    made, meter, now = monitor()
    meter.open()
    before = polled(made, meter, now, 0.05, 0.1)
    read, made.read = made.read, lambda: (_ for _ in ()).throw(OSError(19, "No such device"))
    assert polled(made, meter, now, 0.15) == []
    made.read = read
    after = polled(made, meter, now, 1.0, 2.2, 2.3, 2.4)
    assert before[-1].t_ns[-1] < after[0].t_ns[0]
    assert after[0].t_ns[0] == pytest.approx(2.2e9, abs=0.1e9)


class _TimeoutError(OSError): ...


class UsbDevice:
    """What pyusb gives of a monitor: transfers are written down, reads come from a list."""

    idVendor, idProduct, serial_number = VENDOR, PRODUCT, "20017"  # noqa: N815 - pyusb's names

    def __init__(self, *reads: bytes) -> None:
        self.reads, self.transfers = list(reads), []

    def is_kernel_driver_active(self, _interface: int) -> bool:
        return False

    def set_configuration(self) -> None: ...

    def ctrl_transfer(self, kind: int, request: int, value: int, index: int, data: int | bytes, _ms: int) -> bytes:
        self.transfers.append((kind, request, value, index, data))
        return STORED.get(index, 0).to_bytes(4, "little")

    def read(self, endpoint: int, _size: int, _ms: int) -> bytes:
        assert endpoint == 0x81
        if not self.reads:
            raise OSError(19, "No such device")
        data = self.reads.pop(0)
        if not data:
            raise _TimeoutError("timed out")
        return data


def test_the_usb_side_makes_the_vendors_transfers_and_gathers_packets(monkeypatch: pytest.MonkeyPatch) -> None:
    # PyMonsoon, pmapi.USB_protocol: getValue C0 01 0 opcode, startSampling 40 02 calTime, stopSampling 40 03
    device = UsbDevice(packets(2).tobytes(), b"", packets(1).tobytes()[:58])
    core = SimpleNamespace(find=lambda **_: [device], USBTimeoutError=_TimeoutError)
    monkeypatch.setitem(sys.modules, "usb", SimpleNamespace(core=core))
    monkeypatch.setitem(sys.modules, "usb.core", core)
    monkeypatch.setitem(sys.modules, "usb.util", SimpleNamespace(dispose_resources=lambda _: None))
    assert find_serials() == [20017]
    with pytest.raises(MeterError, match="no power monitor 5"):
        open_usb(5)
    link = open_usb(20017)
    assert int.from_bytes(link.value(Opcode.HARDWARE)[:2], "little") == 2
    link.start(1250)
    link._thread.join(5)
    data = link.read()
    assert len(data) == 3 * 64  # the last transfer was short
    with pytest.raises(OSError, match="No such device"):
        link.read()
    link.stop()
    link.close()
    assert device.transfers == [
        (0xC0, 1, 0, 0x45, 4),
        (0x40, 2, 1250, 0, b"\xff\xff\xff\xff"),
        (0x40, 3, 0, 0, b""),
    ]


def test_reports_the_joules_of_an_emulated_monitor() -> None:
    ideal = run_once(INSTRUMENT, 1, ideal=True)
    assert abs(ideal.error_j) / ideal.known_j < 1e-4
    assert examine(INSTRUMENT, range(1, 4)).wrong_unflagged == 0


@pytest.mark.parametrize("fault", sorted(INSTRUMENT.faults))
def test_no_wrong_figure_without_a_flag_when_things_go_wrong(fault: Fault) -> None:
    assert examine(INSTRUMENT, range(1, 3), fault).wrong_unflagged == 0
