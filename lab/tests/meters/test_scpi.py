"""SCPI analysers: answers, refusals, a real socket, a real port."""

from __future__ import annotations

import contextlib
import os
import pty
import socket
import threading
import tty
from pathlib import Path

import numpy as np
import pytest

from edgejoule.errors import MeterError, UsageError
from edgejoule.meters.base import Meter
from edgejoule.meters.plugins.scpi import ScpiMeter
from edgejoule.meters.plugins.scpi.profile import PROFILES, ScpiProfile
from edgejoule.meters.toml_profile import load_profile, named_profile, profile_names
from edgejoule.testing.examine import examine, run_once
from edgejoule.testing.instrument import Circuit, Fault
from edgejoule.testing.instruments.scpi import INSTRUMENT, Analyser
from edgejoule.testing.load import KnownLoad


def profile(name: str) -> ScpiProfile:
    return named_profile(name, PROFILES, ScpiProfile)


def analyser(power_w: float = 50.0, *faults: Fault) -> Analyser:
    load = KnownLoad(np.array([0.0, 1e4]), np.full(2, power_w))
    circuit = Circuit(load, 100.0, 0.0, 0.0, 0.0, 0.0, frozenset(faults), np.random.default_rng(6))
    return Analyser(circuit, profile("yokogawa-wt310"))


def meter_on(made: Analyser) -> ScpiMeter:
    return ScpiMeter(host="x", connect=made.connect, clock_ns=lambda: round(made.now_s * 1e9))


def test_follows_the_contract_and_asks_nobody_who_is_not_named() -> None:
    assert isinstance(ScpiMeter(), Meter)
    assert not ScpiMeter().probe().available
    with pytest.raises(UsageError, match="not both"):
        ScpiMeter(host="a", port="b")


@pytest.mark.parametrize("name", profile_names(PROFILES))
def test_every_profile_of_the_package_is_whole(name: str) -> None:
    assert profile(name).name == name


@pytest.mark.parametrize(
    ("name", "answer", "power_w"),
    [
        ("yokogawa-wt310", "1.23450E+01", 12.345),
        ("rs-hmc8015", "2.300E+02,1.00E-01,1.150E+01", 11.5),  # 23 VA apparent, 11.5 W active
        ("dmm-current", "+4.00000000E-01", 2.0),
    ],
)
def test_an_answer_is_read(name: str, answer: str, power_w: float) -> None:
    assert profile(name).reading(answer) == pytest.approx(power_w)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("NAN", "no value or is over"),
        ("INF", "no value or is over"),
        ("9.91E+37", "no value or is over"),
        ("-9.9E37", "no value or is over"),
        ("", "no number"),
        ("12,5 W", None),
        ("1.2.3", "no number"),
    ],
)
def test_an_invalid_value_is_refused_with_a_message(answer: str, why: str | None) -> None:
    if why is None:
        assert profile("yokogawa-wt310").reading(answer) == 12.0  # a comma separates: two numbers, the first is meant
        return
    with pytest.raises(ValueError, match=why):
        profile("yokogawa-wt310").reading(answer)


def test_too_few_numbers_are_refused_with_a_message() -> None:
    with pytest.raises(ValueError, match="has 2 numbers, power is number 3"):
        profile("rs-hmc8015").reading("230,0.1")


def refuse(tmp_path: Path, name: str, old: str, new: str) -> str:
    text = (PROFILES / f"{name}.toml").read_text()
    assert old in text
    path = tmp_path / "mine.toml"
    path.write_text(text.replace(old, new))
    with pytest.raises(UsageError) as caught:
        load_profile(path, ScpiProfile)
    return str(caught.value)


def test_rms_volts_times_rms_amperes_are_refused_as_active_power(tmp_path: Path) -> None:
    message = refuse(tmp_path, "rs-hmc8015", 'role = "power"', 'role = "status"')
    assert "apparent power, not active power" in message


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("place = 1", "", "either place or constant"),
        ('query = ":', 'ask = ":', "query"),
        ('identity = "YOKOGAWA,WT3"', 'identity = "("', "regular expression"),
    ],
)
def test_a_wrong_profile_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert message in refuse(tmp_path, "yokogawa-wt310", old, new)


def test_the_instrument_is_identified_and_configured() -> None:
    made = analyser()
    meter = meter_on(made)
    meter.open()
    assert made.received[0] == "*IDN?"
    assert ":NUMERIC:NORMAL:ITEM1 P,1" in made.received
    assert "WT310E" in meter.facts()["instrument"][0]


def test_another_instrument_is_refused_and_nothing_is_set() -> None:
    made = analyser()
    made.feed = lambda data: (made.received.append(data.decode()), b"ACME,Oscilloscope,1,2\n")[1]
    with pytest.raises(MeterError, match=r"says it is 'ACME.*name another profile"):
        meter_on(made).open()
    assert len(made.received) == 1


def test_a_value_is_stamped_when_it_was_not_when_it_was_asked_for() -> None:
    made = analyser()
    meter = meter_on(made)
    meter.open()
    made.advance(10_000_000_000)
    (sample,) = meter.poll()
    assert sample.t_ns == 9_812_500_000
    assert sample.value == pytest.approx(50.0)


def test_silence_is_missing_and_the_answer_that_comes_late_is_thrown_away() -> None:
    made = analyser()
    meter = meter_on(made)
    meter.open()
    feed, made.feed = made.feed, lambda _: b""
    assert meter.poll()[0].missing_reason == "no answer in time"
    made.feed = feed
    meter._stream._come = b"999\n"
    assert meter.poll()[0].value == pytest.approx(50.0)


def test_reads_over_a_real_socket_and_comes_back_after_a_break() -> None:
    made = analyser()
    made.advance(5_000_000_000)
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(10)
    now = [0]

    def talk() -> None:
        for questions in (3, *[10] * 20):  # the first connection breaks after *IDN?, setup and one query
            with contextlib.suppress(OSError), listener.accept()[0] as connection:
                answered = 0
                while answered < questions and (data := connection.recv(4096)):
                    answer = made.feed(data)
                    answered += answer.count(b"\n")
                    connection.sendall(answer)
                    if answered >= 2 and questions == 3:
                        break

    thread = threading.Thread(target=talk, daemon=True)
    thread.start()
    meter = ScpiMeter(host="127.0.0.1", tcp_port=listener.getsockname()[1], clock_ns=lambda: now[0])
    meter.open()
    first = meter.poll()[0].value
    lost = meter.poll()[0]
    again = None
    for _ in range(20):  # a busy machine may be too late for an answer
        now[0] += 3_000_000_000
        again = meter.poll()[0].value
        if again is not None:
            break
    meter.close()
    meter.close()
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join(5)
    assert first == pytest.approx(50.0)
    assert lost.value is None
    assert again == pytest.approx(50.0)


def test_reads_over_a_real_serial_port() -> None:
    pytest.importorskip("serial")
    made = analyser()
    made.advance(5_000_000_000)
    master, slave = pty.openpty()
    tty.setraw(slave)

    def instrument() -> None:
        with contextlib.suppress(OSError):
            while data := os.read(master, 4096):
                os.write(master, made.feed(data))

    threading.Thread(target=instrument, daemon=True).start()
    meter = ScpiMeter(port=os.ttyname(slave))
    meter.open()
    (sample,) = meter.poll()
    meter.close()
    assert sample.value == pytest.approx(50.0), sample.missing_reason
    os.close(slave)


def test_reports_the_joules_of_an_emulated_analyser() -> None:
    ideal = run_once(INSTRUMENT, 1, ideal=True)
    assert abs(ideal.error_j) / ideal.known_j < 1e-4
    assert examine(INSTRUMENT, range(1, 4)).wrong_unflagged == 0


@pytest.mark.parametrize("fault", sorted(INSTRUMENT.faults))
def test_no_wrong_figure_without_a_flag_when_things_go_wrong(fault: Fault) -> None:
    assert examine(INSTRUMENT, range(1, 3), fault).wrong_unflagged == 0
