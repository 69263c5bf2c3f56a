"""The Modbus meter: registers, profiles, pymodbus's own server over TCP and over a serial line."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pty
import select
import socket
import threading
import time
import tty
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from edgejoule.errors import MeterError, UsageError
from edgejoule.meters.base import Meter
from edgejoule.meters.plugins.modbus import ModbusMeter
from edgejoule.meters.plugins.modbus.profile import PROFILES, ModbusProfile
from edgejoule.meters.toml_profile import load_profile, named_profile, profile_names
from edgejoule.testing.examine import examine, run_once
from edgejoule.testing.instrument import Circuit, Fault
from edgejoule.testing.instruments.modbus import INSTRUMENT, Pzem, wired_client, with_crc
from edgejoule.testing.load import KnownLoad

pymodbus = pytest.importorskip("pymodbus")
from pymodbus.server import ModbusSerialServer, ModbusTcpServer  # noqa: E402
from pymodbus.simulator import DataType, SimData, SimDevice  # noqa: E402

PZEM_REGISTERS = [2200, 1000, 0, 2200, 0, 0, 0, 500, 100, 0]  # User Manual, section 2.3: 220.0 V, 1.000 A, 220.0 W


def profile(name: str) -> ModbusProfile:
    return named_profile(name, PROFILES, ModbusProfile)


def test_follows_the_contract_and_asks_nobody_who_is_not_named() -> None:
    meter = ModbusMeter()
    assert isinstance(meter, Meter)
    assert not meter.probe().available
    with pytest.raises(MeterError, match="no host and no serial port"):
        meter.open()
    with pytest.raises(UsageError, match="not both"):
        ModbusMeter(host="a", port="b")


@pytest.mark.parametrize("name", profile_names(PROFILES))
def test_every_profile_of_the_package_is_whole(name: str) -> None:
    assert profile(name).name == name


def test_the_registers_in_the_manual_of_the_pzem_are_220_watts() -> None:
    pzem = profile("pzem-004t-v3")
    first, count = pzem.span
    assert pzem.value(pzem.channels[0], PZEM_REGISTERS[first : first + count]) == pytest.approx(220.0)


def test_above_6553_watts_the_second_word_counts() -> None:
    pzem = profile("pzem-004t-v3")
    assert pzem.value(pzem.channels[0], [2300, 0, 0, 0x0002, 0x0001]) == pytest.approx(6553.8)


def test_rms_volts_times_rms_amperes_are_refused_as_active_power(tmp_path: Path) -> None:
    text = (PROFILES / "pzem-004t-v3.toml").read_text()
    path = tmp_path / "mine.toml"
    path.write_text(text.replace('role = "power"', 'role = "current_rms"'))
    with pytest.raises(UsageError, match="apparent power, not active power"):
        load_profile(path, ModbusProfile)


def test_power_and_energy_of_one_domain_are_refused(tmp_path: Path) -> None:
    more = '\n[[channels]]\nname = "energy"\ndomain = "wall"\n[[channels.registers]]\nrole = "energy"\naddress = 5\n'
    path = tmp_path / "mine.toml"
    path.write_text((PROFILES / "pzem-004t-v3.toml").read_text() + more + 'type = "u32"\nscale = 3600\n')
    with pytest.raises(UsageError, match="would be summed"):
        load_profile(path, ModbusProfile)


def pzem_drawing(power_w: float, *faults: Fault) -> tuple[Pzem, ModbusMeter]:
    load = KnownLoad(np.array([0.0, 1e4]), np.full(2, power_w))
    circuit = Circuit(load, 100.0, 0.0, 0.0, 0.0, 0.0, frozenset(faults), np.random.default_rng(3))
    pzem = Pzem(circuit, profile("pzem-004t-v3"))
    meter = ModbusMeter(port="x", make_client=lambda *_: wired_client(pzem, profile("pzem-004t-v3")))
    return pzem, meter


def test_silence_is_a_missing_sample_and_the_next_answer_is_read() -> None:
    pzem, meter = pzem_drawing(50.0)
    meter.open()
    answer, pzem.answer = pzem.answer, lambda _: b""
    (sample,) = meter.poll()
    assert sample.value is None
    assert sample.missing_reason == "no valid answer"
    pzem.answer = answer
    assert meter.poll()[0].value == pytest.approx(50.0)


def test_a_wrong_checksum_is_a_missing_sample() -> None:
    pzem, meter = pzem_drawing(50.0)
    meter.open()
    answer, pzem.answer = pzem.answer, lambda question: answer(question)[:-1] + b"\x00"
    assert meter.poll()[0].value is None


def test_an_exception_of_the_instrument_is_reported() -> None:
    pzem, meter = pzem_drawing(50.0)
    meter.open()
    pzem.answer = lambda _: with_crc(bytes([1, 0x84, 2]))
    assert "exception 2" in meter.poll()[0].missing_reason


def test_an_instrument_that_does_not_answer_is_refused_at_open_with_the_remedy() -> None:
    pzem, meter = pzem_drawing(50.0)
    pzem.answer = lambda _: b""
    with pytest.raises(MeterError, match="check wiring, address and baud rate"):
        meter.open()


@contextlib.contextmanager
def serving(make: Callable[[], object]) -> Iterator[None]:
    """pymodbus's server in a separate thread."""
    loop = asyncio.new_event_loop()
    ready = threading.Event()
    servers = []

    async def run() -> None:
        servers.append(make())
        await servers[0].serve_forever(background=True)
        ready.set()

    def thread() -> None:
        loop.run_until_complete(run())
        loop.run_forever()

    worker = threading.Thread(target=thread, daemon=True)
    worker.start()
    assert ready.wait(10)
    try:
        yield
    finally:
        asyncio.run_coroutine_threadsafe(servers[0].shutdown(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        worker.join(10)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_reads_floats_from_pymodbus_own_server_over_tcp() -> None:
    port = free_port()
    device = SimDevice(1, [SimData(0, values=[0.0] * 26, datatype=DataType.FLOAT32),
                           SimData(0x34, values=1234.5, datatype=DataType.FLOAT32)])  # fmt: skip
    with serving(lambda: ModbusTcpServer(device, address=("127.0.0.1", port))):
        meter = ModbusMeter("sdm630", host="127.0.0.1", tcp_port=port)
        meter.open()
        (sample,) = meter.poll()
        meter.close()
    assert sample.value == pytest.approx(1234.5)


def test_a_server_that_goes_and_comes_back_leaves_a_gap_only() -> None:
    port = free_port()
    device = SimDevice(1, [SimData(0x0C, values=77.0, datatype=DataType.FLOAT32)])

    def server() -> object:
        return ModbusTcpServer(device, address=("127.0.0.1", port))

    meter = ModbusMeter("sdm120", host="127.0.0.1", tcp_port=port)
    with serving(server):
        meter.open()
        values = [meter.poll()[0].value]
    values.append(meter.poll()[0].value)
    with serving(server):
        meter.poll()
        values.append(meter.poll()[0].value)
    meter.close()
    assert values == [77.0, None, 77.0]


@contextlib.contextmanager
def null_modem() -> Iterator[tuple[str, str]]:
    """Two serial ports with a wire between them."""
    ends = [pty.openpty() for _ in range(2)]
    for _, slave in ends:
        tty.setraw(slave)
    stop = threading.Event()

    def carry() -> None:
        masters = [master for master, _ in ends]
        while not stop.is_set():
            for ready in select.select(masters, [], [], 0.05)[0]:
                os.write(masters[1 - masters.index(ready)], os.read(ready, 4096))

    worker = threading.Thread(target=carry, daemon=True)
    worker.start()
    try:
        yield os.ttyname(ends[0][1]), os.ttyname(ends[1][1])
    finally:
        stop.set()
        worker.join(5)
        for pair in ends:
            for end in pair:
                os.close(end)


def test_reads_the_pzem_registers_from_pymodbus_own_server_over_a_serial_line() -> None:
    pytest.importorskip("serial")
    device = SimDevice(1, [SimData(0, values=PZEM_REGISTERS, datatype=DataType.REGISTERS)])
    with (
        null_modem() as (here, there),
        serving(lambda: ModbusSerialServer(device, port=there, baudrate=9600)),
    ):
        meter = ModbusMeter("pzem-004t-v3", port=here)
        for _ in range(5):  # the server opens its port in its own time
            with contextlib.suppress(MeterError):
                meter.open()
                break
            time.sleep(0.1)
        (sample,) = meter.poll()
        meter.close()
    assert sample.value == pytest.approx(220.0), sample.missing_reason


def test_reports_the_joules_of_an_emulated_pzem() -> None:
    ideal = run_once(INSTRUMENT, 1, ideal=True)
    assert abs(ideal.error_j) / ideal.known_j < 1e-4
    assert examine(INSTRUMENT, range(1, 5)).wrong_unflagged == 0


@pytest.mark.parametrize("fault", sorted(INSTRUMENT.faults))
def test_no_wrong_figure_without_a_flag_when_things_go_wrong(fault: Fault) -> None:
    assert examine(INSTRUMENT, range(1, 4), fault).wrong_unflagged == 0
