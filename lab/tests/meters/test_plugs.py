"""Mains plugs over a real HTTP server on loopback: what their JSON means, and what no reading is."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from edgejoule.energy import domain_energy
from edgejoule.errors import MeterError, UsageError
from edgejoule.meters.base import Domain, Meter, Sample, ValueKind
from edgejoule.meters.collector import Collector
from edgejoule.meters.plugins.shelly import Shelly
from edgejoule.meters.plugins.tasmota import Tasmota
from edgejoule.meters.transport.http import fetcher
from edgejoule.testing.instruments.shelly import first_generation, later_generation
from edgejoule.testing.instruments.tasmota import status_text

from .emulation import Clock

# LocalBytes, "Accessing power usage from Tasmota smart plugs", "Via MQTT": the sensor message of a real plug
TASMOTA_REAL = """{"StatusSNS":{"Time":"2022-01-11T21:57:38","ENERGY":{"TotalStartTime":"2020-10-21T22:15:00",
"Total":3.705,"Yesterday":0.028,"Today":0.026,"Period":1,"Power":5,"ApparentPower":5,"ReactivePower":0,"Factor":1.00,
"Voltage":233,"Current":0.021}}}"""


class Device:
    """A web server that answers with what `answer` makes of the path; an int is a status without a body."""

    def __init__(self) -> None:
        self.answer: Callable[[str], str | int] = lambda path: 404
        self.seen: list[tuple[str, str | None]] = []
        device = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                device.seen.append((self.path, self.headers.get("Authorization")))
                try:
                    result = device.answer(self.path)
                except OSError:
                    result = 404
                body = b"" if isinstance(result, int) else result.encode()
                self.send_response(result if isinstance(result, int) else 200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.host = f"127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()


@pytest.fixture
def device() -> Iterator[Device]:
    device = Device()
    yield device
    device.server.shutdown()
    device.server.server_close()


def value(meter: Tasmota | Shelly) -> float | None:
    (sample,) = meter.poll()
    assert isinstance(sample, Sample)
    assert (sample.value is None) == bool(sample.missing_reason)
    return sample.value


@pytest.mark.parametrize("kind", [Tasmota, Shelly])
def test_follow_the_meter_contract_and_ask_nobody_who_was_not_named(kind: type[Tasmota] | type[Shelly]) -> None:
    def unexpected(url: str) -> str:
        raise AssertionError(url)

    meter = kind(fetch=unexpected)
    assert isinstance(meter, Meter)
    said = meter.probe()
    assert not said.available
    assert 'host = "192.0.2.7"' in (said.fix or "")


def test_a_real_plugs_status_is_its_active_power(device: Device) -> None:
    device.answer = lambda path: TASMOTA_REAL
    meter = Tasmota(device.host)
    meter.open()
    assert value(meter) == 5.0
    assert device.seen[0] == ("/cm?cmnd=Status+8", None)
    (channel,) = meter.channels()
    assert (channel.domain, channel.kind, channel.resolution) == (Domain.WALL, ValueKind.INSTANT, 1.0)
    assert channel.offset_w == pytest.approx((0.5**2 + 0.5**2) ** 0.5 / 3**0.5)


def test_the_digits_that_a_plug_shows_are_its_resolution(device: Device) -> None:
    device.answer = lambda path: TASMOTA_REAL.replace('"Power":5', '"Power":5.10')
    meter = Tasmota(device.host)
    meter.open()
    assert meter.channels()[0].resolution == 0.01


def test_a_password_and_an_outlet_can_be_named(device: Device) -> None:
    device.answer = lambda path: TASMOTA_REAL.replace('"Power":5', '"Power":[5,7]')
    meter = Tasmota(device.host, password="a b&c", channel=2)
    meter.open()
    assert value(meter) == 7.0
    assert device.seen[0][0] == "/cm?user=admin&password=a+b%26c&cmnd=Status+8"
    assert "2 channels, not 3" in Tasmota(device.host, channel=3).probe().reason


def test_apparent_power_is_refused(device: Device) -> None:
    device.answer = lambda path: TASMOTA_REAL.replace('"Power":5,', "")
    assert "apparent power" in Tasmota(device.host).probe().reason


def test_a_total_is_reported_when_it_moves_and_is_uncertain_between(device: Device) -> None:
    total_kwh = 3.705
    device.answer = lambda path: status_text(36.0, total_kwh)
    clock = Clock()
    meter = Tasmota(device.host, quantity="total", update_s=120.0, clock_ns=clock)
    meter.open()
    collector = Collector(meter.channels(), meter.poll_interval_s)
    for second in range(1000):  # 36 W: a step of 1 Wh every 100 s
        total_kwh = 3.705 + second // 100 * 0.001
        collector.add(meter.poll())
        clock.advance(1.0)
    (trace,) = collector.traces()
    assert len(trace) == 10
    assert trace.interval_s == 120.0
    result = domain_energy([trace], 1_000_000_000 + 150 * 10**9, 1_000_000_000 + 750 * 10**9)
    assert result.energy_j == pytest.approx(36.0 * 600, abs=result.uncertainty_k2_j or 0)
    assert not result.gaps


@pytest.mark.parametrize(
    ("model", "component", "power_w", "total_j"),
    [(first_generation, "meter:0", 6.25, 36000.0), (later_generation, "switch:0", 6.2, 36000.0)],
)
def test_a_shelly_reports_its_generation(device: Device, model, component: str, power_w: float, total_j: float) -> None:
    device.answer = lambda path: model(path, power_w, total_j)
    meter = Shelly(device.host)
    assert component in meter.probe().reason
    meter.open()
    assert value(meter) == power_w
    counter = Shelly(device.host, quantity="total")
    counter.open()
    assert value(counter) == pytest.approx(total_j)


@pytest.mark.parametrize(
    ("component", "path", "answer", "power_w"),
    [  # Shelly API documentation, Gen2+ Device API: EM, EM1 and PM1, "Status"
        ("em:0", "/rpc/EM.GetStatus?id=0", {"id": 0, "a_act_power": 951.2, "total_act_power": 2484.782}, 2484.782),
        ("em1:1", "/rpc/EM1.GetStatus?id=1", {"id": 1, "voltage": 234.9, "current": 2.598, "act_power": 501.8}, 501.8),
        ("pm1:0", "/rpc/PM1.GetStatus?id=0", {"id": 0, "voltage": 231.4, "apower": 7.3}, 7.3),
    ],
)
def test_every_measuring_component_of_later_generations_is_read(
    device: Device, component: str, path: str, answer: dict, power_w: float
) -> None:
    texts = {path: json.dumps(answer), "/shelly": later_generation("/shelly", 0, 0)}
    device.answer = lambda path: texts.get(path, 404)
    meter = Shelly(device.host, component=component)
    meter.open()
    assert value(meter) == power_w
    assert "only meter, emeter" not in meter.probe().reason


def test_a_component_of_another_generation_and_none_that_measures_are_reported(device: Device) -> None:
    device.answer = lambda path: first_generation(path, 1.0, 0.0)
    assert "no component switch, only meter, emeter" in Shelly(device.host, component="switch:0").probe().reason
    device.answer = lambda path: later_generation(path, 0, 0) if path == "/shelly" else 404
    assert "no component measures" in Shelly(device.host).probe().reason
    device.answer = lambda path: '{"hello": "world"}'
    assert "as a Shelly does" in Shelly(device.host).probe().reason


def test_a_reading_that_is_not_valid_is_missing(device: Device) -> None:
    valid = True
    device.answer = lambda path: first_generation(path, 5.0, 0.0).replace(
        '"is_valid": true', f'"is_valid": {str(valid).lower()}'
    )
    meter = Shelly(device.host)
    meter.open()
    valid = False
    assert value(meter) is None


@pytest.mark.parametrize(
    "spoilt", ["", "<html>", "[1]", '{"apower": "NaN"}', '{"apower": true}', '{"apower": 1e3}', 401, 500]
)
def test_an_answer_that_is_no_reading_is_missing_with_its_reason(device: Device, spoilt: str | int) -> None:
    device.answer = lambda path: later_generation(path, 5.0, 0.0)
    meter = Shelly(device.host)
    meter.open()
    device.answer = lambda path: spoilt
    assert value(meter) is None
    device.answer = lambda path: later_generation(path, 5.5, 0.0)
    assert value(meter) == 5.5


def test_a_device_that_is_silent_or_gone_is_missing_within_a_second(device: Device) -> None:
    device.answer = lambda path: later_generation(path, 5.0, 0.0)
    meter = Shelly(device.host)
    meter.open()
    silent = socket.create_server(("127.0.0.1", 0))
    meter.host = f"127.0.0.1:{silent.getsockname()[1]}"
    (sample,) = meter.poll()
    assert isinstance(sample, Sample)
    assert "timed out" in (sample.missing_reason or "")
    silent.close()
    (sample,) = meter.poll()
    assert isinstance(sample, Sample)
    assert "refused" in (sample.missing_reason or "")


def test_a_password_goes_by_basic_authentication(device: Device) -> None:
    device.answer = lambda path: "{}"
    fetcher(password="secret")(f"http://{device.host}/meter/0")
    assert device.seen == [("/meter/0", "Basic YWRtaW46c2VjcmV0")]


@pytest.mark.parametrize(
    "options",
    [
        {"host": "http://plug/"},
        {"host": "a b"},
        {"quantity": "voltage"},
        {"accuracy_rel": 0},
        {"accuracy_rel": "good"},
        {"update_s": 0},
        {"host": 7},
        {"component": 0},
        {"component": "relay"},
        {"component": "switch:x"},
    ],
)
def test_options_that_cannot_be_are_refused(options: dict) -> None:
    with pytest.raises(UsageError, match="shelly: "):
        Shelly(**options)
    with pytest.raises(MeterError, match="no host"):
        Shelly().open()
