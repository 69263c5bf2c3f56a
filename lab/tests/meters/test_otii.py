"""Otii: JSON lines, the vendor's own client against the emulated server, losses."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

from edgejoule.errors import MeterError
from edgejoule.meters.base import Meter
from edgejoule.meters.plugins.otii import Otii
from edgejoule.testing.examine import examine, run_once
from edgejoule.testing.instrument import Circuit, Fault
from edgejoule.testing.instruments.otii import DEVICE, INSTRUMENT, VOLTS, OtiiServer
from edgejoule.testing.load import KnownLoad


def server(power_w: float = 1.9, *faults: Fault) -> OtiiServer:
    load = KnownLoad(np.array([0.0, 1e4]), np.full(2, power_w))
    return OtiiServer(Circuit(load, 10.0, 0.0, 0.0, 0.0, 0.0, frozenset(faults), np.random.default_rng(4)))


def meter_on(made: OtiiServer) -> Otii:
    return Otii(connect=made.connect, clock_ns=lambda: round(made.now_s * 1e9))


def polled(made: OtiiServer, meter: Otii, end_s: float) -> list:
    blocks = []
    for at_s in np.arange(made.now_s + 0.5, end_s, 0.5):
        made.advance(round(at_s * 1e9))
        blocks.extend(meter.poll())
    return blocks


@contextlib.contextmanager
def serving(made: OtiiServer) -> Iterator[int]:
    """The emulated server behind a real socket, in real time."""
    begin_s = time.monotonic()
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(10)

    def talk() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection = listener.accept()[0]
                with connection, contextlib.suppress(OSError):
                    connection.sendall(made.greeting())
                    while data := connection.recv(65536):
                        made.now_s = time.monotonic() - begin_s
                        connection.sendall(made.feed(data))

    thread = threading.Thread(target=talk, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(5)


def test_follows_the_contract_and_declines_without_a_server() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    meter = Otii(port=port)
    assert isinstance(meter, Meter)
    result = meter.probe()
    assert not result.available
    assert "cannot be reached" in result.reason
    assert "Otii 3" in result.fix


def test_a_server_with_another_greeting_is_no_otii_server() -> None:
    made = server()
    made.greeting = lambda: b"220 mail.example.org ready\r\n"
    assert "no Otii server" in meter_on(made).probe().reason


def test_the_vendors_own_client_records_with_the_emulated_server() -> None:
    client = pytest.importorskip("otii_tcp_client.otii_client")
    with serving(server()) as port:
        otii = client.OtiiClient().connect(host="127.0.0.1", port=port, licensing=client.LicensingMode.MANUAL)
        (arc,) = [device for device in otii.get_devices() if device.type == "Arc"]
        project = otii.get_active_project()
        arc.add_to_project()
        arc.enable_channel("mc", True)
        project.start_recording()
        time.sleep(0.3)
        project.stop_recording()
        recording = project.get_last_recording()
        count = recording.get_channel_data_count(arc.id, "mc")
        data = recording.get_channel_data(arc.id, "mc", 0, count)
        otii.disconnect()
    assert arc.id == DEVICE["device_id"]
    assert count > 400
    assert data["interval"] == 0.00025
    assert np.mean(data["values"]) == pytest.approx(1.9 / VOLTS, rel=1e-3)


def test_the_driver_records_over_a_real_socket() -> None:
    with serving(server()) as port:
        meter = Otii(port=port)
        assert "Otii 3.5.5" in meter.probe().reason
        meter.open()
        values: list[float] = []
        end_s = time.monotonic() + 60
        while len(values) < 500 and time.monotonic() < end_s:
            time.sleep(0.05)
            for block in meter.poll():
                values.extend(block.value)
        meter.close()
        meter.close()
    assert np.mean(values) == pytest.approx(1.9, rel=1e-3)


def test_power_is_current_times_the_voltage_of_that_moment() -> None:
    made = server()
    meter = meter_on(made)
    meter.open()
    answer = made._on_recording_get_channel_data

    def rising(**where: object) -> dict:
        data = answer(**where)
        if where["channel"] == "mv":
            data["values"] = (3.0 + np.arange(where["index"], where["index"] + where["count"]) / 1000).tolist()
        return data

    made._on_recording_get_channel_data = rising
    blocks = polled(made, meter, 3.0)
    t_s = np.concatenate([block.t_ns for block in blocks]) / 1e9
    value = np.concatenate([block.value for block in blocks])
    np.testing.assert_allclose(value, 1.9 / VOLTS * (3.0 + t_s), rtol=2e-3)
    assert np.all(np.diff(t_s) > 0)


def test_an_answer_that_does_not_come_costs_no_sample() -> None:
    made = server()
    meter = meter_on(made)
    meter.open()
    polled(made, meter, 1.2)
    feed, made.feed = made.feed, lambda _: b""
    assert polled(made, meter, 2.2) == []
    made.feed = feed
    (block,) = polled(made, meter, made.now_s + 0.9)
    assert block.t_ns[-1] - block.t_ns[0] > 1.0e9
    assert np.all(np.diff(block.t_ns) == 250_000)


def test_an_answer_to_an_earlier_question_is_passed_over() -> None:
    made = server()
    meter = meter_on(made)
    meter.open()
    feed = made.feed
    stale = {"type": "response", "cmd": "x", "trans_id": "1", "data": {"count": 0, "values": []}}
    made.feed = lambda data: json.dumps(stale).encode() + b"\r\n" + feed(data)
    assert polled(made, meter, 1.2)[0].value.mean() == pytest.approx(1.9, rel=1e-3)


def test_null_among_the_values_is_missing() -> None:
    made = server()
    meter = meter_on(made)
    meter.open()
    answer = made._on_recording_get_channel_data
    made._on_recording_get_channel_data = lambda **where: (
        answer(**where) | ({"values": [None] * where["count"]} if where["channel"] == "mc" else {})
    )
    assert np.isnan(polled(made, meter, 1.2)[0].value).all()


def test_a_refusal_of_the_server_is_reported_with_the_remedy() -> None:
    made = server()
    refusal = {"type": "error", "trans_id": "1", "errorcode": "x", "data": {"message": "No Automation license"}}
    made.feed = lambda _: json.dumps(refusal).encode() + b"\r\n"
    with pytest.raises(MeterError, match=r"No Automation license.*reserve an Automation licence"):
        meter_on(made).open()


def test_without_an_arc_or_an_ace_it_declines() -> None:
    made = server()
    made._on_otii_get_devices = lambda timeout=0: {"devices": []}
    with pytest.raises(MeterError, match="no Arc or Ace"):
        meter_on(made).open()


def test_an_answer_without_what_was_asked_for_is_an_error_with_a_message() -> None:
    made = server()
    made._on_project_get_last_recording = lambda project_id: {"name": "?"}
    with pytest.raises(MeterError, match="answer is incomplete: KeyError"):
        meter_on(made).open()


def test_reports_the_joules_of_an_emulated_arc() -> None:
    ideal = run_once(INSTRUMENT, 1, ideal=True)
    assert abs(ideal.error_j) / ideal.known_j < 1e-4
    assert examine(INSTRUMENT, range(1, 4)).wrong_unflagged == 0


@pytest.mark.parametrize("fault", sorted(INSTRUMENT.faults))
def test_no_wrong_figure_without_a_flag_when_things_go_wrong(fault: Fault) -> None:
    assert examine(INSTRUMENT, range(1, 3), fault).wrong_unflagged == 0
