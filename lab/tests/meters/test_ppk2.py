"""Power Profiler Kit II: calibration, words without frames, changes of range, losses."""

from __future__ import annotations

import os
import pty
import threading
import tty

import numpy as np
import pytest

from edgejoule.errors import DataError, MeterError, UsageError
from edgejoule.meters.base import Meter
from edgejoule.meters.plugins.ppk2 import Ppk2
from edgejoule.meters.plugins.ppk2.protocol import Opcode, WordStream, parse_metadata, regulator
from edgejoule.testing.examine import examine, run_once
from edgejoule.testing.instrument import Circuit, Fault
from edgejoule.testing.instruments.ppk2 import INSTRUMENT, METADATA, Kit
from edgejoule.testing.load import KnownLoad

# Nordic DevZone, "PPK2 reports implausible values & modifiers": what a damaged kit printed
DAMAGED = "Calibrated: 0\nR0: 3095044895830869060112875520.0000\nR1: 0.0000\nR2: 0.0000\nR3: 0.0000\nR4: 0.0000\nEND\n"


def words(count: int, first: int = 0, adc: int = 1000, range_: int = 3) -> bytes:
    number = np.arange(first, first + count)
    return (adc | range_ << 14 | (number % 64) << 18).astype("<u4").tobytes()


def kit(power_w: float = 1.0, *faults: Fault) -> Kit:
    load = KnownLoad(np.array([0.0, 1e4]), np.full(2, power_w))
    return Kit(Circuit(load, 10.0, 0.0, 0.0, 0.0, 0.0, frozenset(faults), np.random.default_rng(2)))


def meter_on(device: Kit, **options: object) -> Ppk2:
    options = {"voltage_v": 5.0, "find": lambda: ["x"], "sleep": lambda _: None} | options
    return Ppk2(open_port=device.open, clock_ns=lambda: round(device.now_s * 1e9), **options)


def polled(device: Kit, meter: Ppk2, end_s: float) -> np.ndarray:
    values = []
    for at_s in np.arange(device.now_s + 0.01, end_s, 0.01):
        device.advance(round(at_s * 1e9))
        values.extend(block.value for block in meter.poll())
    return np.concatenate(values) if values else np.empty(0)


def test_follows_the_contract_and_declines_with_the_remedy() -> None:
    assert isinstance(Ppk2(find=lambda: []), Meter)
    assert "plugged in" in Ppk2(find=lambda: []).probe().reason
    assert "voltage" in Ppk2(find=lambda: ["x"]).probe().reason
    assert Ppk2(5.0, find=lambda: ["x"]).probe().available


@pytest.mark.parametrize("options", [{"mode": "off"}, {"voltage_v": 12.0}, {"rate_hz": 3}, {"rate_hz": 0}])
def test_a_bad_option_is_refused_with_a_message(options: dict) -> None:
    with pytest.raises(UsageError, match="ppk2"):
        Ppk2(**options)


def test_the_calibration_is_read_as_the_vendors_application_does() -> None:
    result = parse_metadata(METADATA)
    assert result.by_name["R"].tolist() == [1003.3506, 101.5865, 10.3027, 0.9636, 0.0564]
    assert result.by_name["GS"][0] == 1.0  # 0 counts as not stored
    assert result.vdd_v == 5.0
    nominal = parse_metadata("R0: -nan\nEND")
    assert nominal.by_name["R"][0] == 1031.64


def test_a_damaged_calibration_is_refused() -> None:
    with pytest.raises(DataError, match="damaged"):
        parse_metadata(DAMAGED)


def test_a_current_follows_the_formula_worked_by_hand() -> None:
    result = parse_metadata("R3: 1.0\nO3: 100\nGS3: 2\nGI3: 0.9\nS3: 0.001\nI3: 0.0002\nUG3: 1.1\nEND")
    x = (8292 - 100) * 1.8 / 163840 / 1.0  # 0.09 A
    expected = 1.1 * (x * (2 * x + 0.9) + 0.001 * 4.0 + 0.0002)
    got = result.amperes(np.array([8292.0]), np.array([3]), 4.0)
    assert got[0] == pytest.approx(expected, rel=1e-12)
    assert x == pytest.approx(0.09)


def test_a_word_is_cut_where_the_vendor_says() -> None:
    word = (0x5A << 24 | 8 << 18 | 3 << 14 | 1234).to_bytes(4, "little")
    result = WordStream().add(words(8) + word)
    assert (result.adc[-1], result.range_[-1], result.counter[-1]) == (4936.0, 3, 8)


def test_decoding_recovers_wherever_bytes_are_lost_or_added() -> None:
    rng = np.random.default_rng(9)
    for _ in range(300):
        data = words(200)
        at = int(rng.integers(4, 780))
        data = data[:at] + rng.bytes(int(rng.integers(0, 9))) + data[at + int(rng.integers(0, 9)) :]
        result = WordStream().add(data)
        assert np.count_nonzero(result.adc == 4000) >= 180
        assert np.count_nonzero(result.adc != 4000) <= 2


def test_words_in_pieces_are_the_words_in_one() -> None:
    data, stream = words(500), WordStream()
    counters = [stream.add(data[at : at + 7]).counter for at in range(0, len(data), 7)]
    np.testing.assert_array_equal(np.concatenate(counters), np.arange(1, 500) % 64)  # the first is given up


def test_as_an_ampere_meter_it_neither_sets_a_voltage_nor_switches_off_at_the_end() -> None:
    device = kit()
    meter = meter_on(device)
    meter.open()
    assert polled(device, meter, 0.5).mean() == pytest.approx(1.0, rel=2e-3)
    meter.close()
    meter.close()
    sent = [data[0] for data in device.received]
    assert Opcode.REGULATOR_SET not in sent
    assert bytes([Opcode.DEVICE_RUNNING_SET, 0]) not in device.received
    assert sent[-1] == Opcode.AVERAGE_STOP


def test_as_a_source_it_sets_the_voltage() -> None:
    device = kit()
    meter_on(device, mode="source", voltage_v=3.3).open()
    assert bytes([Opcode.SET_POWER_MODE, 2]) in device.received
    assert regulator(3.3) == bytes([0x0D, 0x0C, 0xE4])
    assert regulator(3.3) in device.received


def test_spikes_after_a_change_of_range_do_not_count() -> None:
    steps = np.repeat(np.arange(0, 1, 0.002), 2)[1:]
    power = np.tile([0.1, 0.1, 0.6, 0.6], 250)[: len(steps)]
    load = KnownLoad(steps, power)
    device = Kit(Circuit(load, 1.0, 0.0, 0.0, 0.0, 0.0, frozenset(), np.random.default_rng(2)))
    meter = meter_on(device)
    meter.open()
    assert polled(device, meter, 0.9).mean() == pytest.approx(0.35, rel=1e-3)


def test_lost_samples_make_their_means_missing() -> None:
    device = kit(1.0, Fault.DROPOUT)
    meter = meter_on(device)
    meter.open()
    values = polled(device, meter, 5.0)
    assert 0 < np.count_nonzero(np.isnan(values)) < 200
    assert np.nanmean(values) == pytest.approx(1.0, rel=2e-3)


def test_a_loss_of_many_turns_of_the_counter_is_counted_by_the_hosts_clock() -> None:
    device = kit()
    meter = meter_on(device)
    meter.open()
    polled(device, meter, 0.5)
    device._sent += 64 * 500  # 0.32 s are gone
    device.advance(round(0.9e9))
    blocks = meter.poll()
    assert blocks[-1].t_ns[-1] == pytest.approx(0.9e9, abs=0.02e9)


def test_a_kit_that_is_silent_or_damaged_is_refused_at_open() -> None:
    device = kit()
    device.read = lambda _size=1: b""
    now = iter(range(0, 10**12, 10**8))
    silent = Ppk2(5.0, open_port=device.open, find=lambda: ["x"], clock_ns=lambda: next(now), sleep=lambda _: None)
    with pytest.raises(MeterError, match="did not report its calibration"):
        silent.open()
    device.read = lambda _size=1: DAMAGED.encode()
    with pytest.raises(MeterError, match="damaged"):
        meter_on(device).open()


def test_a_real_port_carries_commands_and_words() -> None:
    pytest.importorskip("serial")
    master, slave = pty.openpty()
    tty.setraw(slave)
    begun = threading.Event()

    def instrument() -> None:
        while True:
            command = os.read(master, 16)
            if Opcode.GET_METADATA in command:
                os.write(master, METADATA.encode())
            if Opcode.AVERAGE_START in command:
                os.write(master, words(1000, range_=3))
                begun.set()
                return

    thread = threading.Thread(target=instrument, daemon=True)
    thread.start()
    meter = Ppk2(5.0, port=os.ttyname(slave))
    meter.open()
    assert begun.wait(5)
    values = []
    while sum(map(len, values)) < 8:
        values.extend(block.value for block in meter.poll())
    meter.close()
    os.close(master)
    expected = parse_metadata(METADATA).amperes(np.array([4000.0]), np.array([3]), 5.0)[0] * 5.0
    np.testing.assert_allclose(np.concatenate(values)[:8], expected)


def test_reports_the_joules_of_an_emulated_kit() -> None:
    ideal = run_once(INSTRUMENT, 1, ideal=True)
    assert abs(ideal.error_j) / ideal.known_j < 1e-4
    assert examine(INSTRUMENT, range(1, 3)).wrong_unflagged == 0


@pytest.mark.parametrize("fault", sorted(INSTRUMENT.faults))
def test_no_wrong_figure_without_a_flag_when_things_go_wrong(fault: Fault) -> None:
    assert examine(INSTRUMENT, range(1, 2), fault).wrong_unflagged == 0
