"""USB testers: a real frame, emulated ones over a pseudo terminal, and bytes that are no frame."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from edgejoule.errors import MeterError, UsageError
from edgejoule.meters.base import Meter
from edgejoule.meters.plugins.um25c import Um25c
from edgejoule.meters.plugins.um25c.protocol import MODELS, check_byte, reading_of, split
from edgejoule.testing.instruments.um25c import EmulatedTester, frame

# westh/umxxc-parser, test.cjs: a frame of a real UM34C, which its own parser reads as 4.84 V, 25 mA, 121 mW
REAL = bytes.fromhex(
    "0d4c01e40019000000790017004a0000000000020000000a" + "00" * 72 + "000400030007000000020000000a"
    "00000000018600010001000300000790000215d4"
)
UM24C, UM25C, UM34C = 0x0963, 0x09C9, 0x0D4C


class Clock:
    def __init__(self) -> None:
        self.s = 1000.0

    def __call__(self) -> int:
        return round(self.s * 1e9)

    def sleep(self, seconds: float) -> None:
        self.s += seconds


def on_emulated_port(
    clock: Clock, power_w: Callable[[], float] = lambda: 3.0, spoil: Callable[[bytes], bytes] = lambda x: x
) -> Um25c:
    port = EmulatedTester(UM25C, power_w, lambda: clock.s, spoil)
    return Um25c("/dev/rfcomm0", lambda name, settings: port, clock, clock.sleep)


def test_follows_the_meter_contract() -> None:
    assert isinstance(Um25c(), Meter)


def test_a_real_frame_is_read_as_another_program_reads_it() -> None:
    assert len(REAL) == 130
    result = reading_of(REAL)
    assert (result.model.name, result.power_w) == ("UM34C", 0.121)
    assert (result.volt, result.ampere) == (pytest.approx(4.84), pytest.approx(0.025))
    assert check_byte(REAL) == 0xD4


def one_flipped(place: int) -> bytes:
    return REAL[:place] + bytes([REAL[place] ^ 0x40]) + REAL[place + 1 :]


@pytest.mark.parametrize("place", [0, 1, 3, 7, 9, 129])
def test_a_frame_with_a_wrong_byte_is_refused(place: int) -> None:
    with pytest.raises(ValueError, match=r"number|end or check byte"):
        reading_of(one_flipped(place))


def test_the_end_mark_alone_does_not_make_a_frame() -> None:
    wrong = bytearray(frame(UM25C, 3.0))
    wrong[8] ^= 0x40  # 16 W of power more
    with pytest.raises(ValueError, match="is not"):
        reading_of(bytes(wrong))


@pytest.mark.parametrize(("code", "step_w"), [(UM24C, 5e-3), (UM25C, 1e-3), (UM34C, 5e-3)])
def test_the_steps_are_those_of_the_model(code: int, step_w: float) -> None:
    clock = Clock()
    port = EmulatedTester(code, lambda: 3.0, lambda: clock.s)
    meter = Um25c("x", lambda name, settings: port, clock, clock.sleep)
    meter.open()
    (channel,) = meter.channels()
    assert channel.resolution == pytest.approx(step_w)
    assert meter.facts()["tester"] == [f"{MODELS[code].name} on x"]


@pytest.mark.parametrize("seed", range(20))
def test_frames_are_decoded_among_noise_and_in_pieces(seed: int) -> None:
    rng = random.Random(seed)
    sent = [frame(UM25C, 1.0 + i) for i in range(5)]
    noisy = b"".join(bytes(rng.choices(range(0x40), k=rng.randrange(9))) + each for each in sent)
    rest, result = b"", []
    while noisy:
        size = rng.randrange(1, 200)
        readings, rest, _ = split(rest + noisy[:size])
        noisy = noisy[size:]
        result += [round(reading.power_w) for reading in readings]
    assert result == [1, 2, 3, 4, 5], f"seed {seed}"


def test_each_poll_gives_the_answer_to_the_question_before() -> None:
    clock = Clock()
    power_w = 3.0
    meter = on_emulated_port(clock, lambda: power_w)
    meter.open()
    asked = clock()
    power_w = 7.0
    clock.sleep(0.5)
    meter.poll()
    clock.sleep(0.5)
    (sample,) = meter.poll()
    assert sample.value == 7.0
    assert sample.t_ns == asked + round(0.5e9)


def test_silence_and_halves_are_missing_and_the_next_answer_counts_again() -> None:
    clock = Clock()
    spoil: Callable[[bytes], bytes] = lambda x: x  # noqa: E731 - replaced below
    meter = on_emulated_port(clock, spoil=lambda x: spoil(x))
    meter.open()
    for wrong in (lambda x: b"", lambda x: x[:60]):
        spoil = wrong
        samples = []
        for _ in range(5):
            clock.sleep(0.5)
            samples += meter.poll()
        assert samples[-1].value is None
        assert "no answer within 1 s" in (samples[-1].missing_reason or "")
    spoil = lambda x: x  # noqa: E731
    for _ in range(4):
        clock.sleep(0.5)
        samples = list(meter.poll())
    assert samples[0].value == 3.0


def test_a_port_that_is_gone_is_missing_and_opened_again() -> None:
    clock = Clock()
    good = EmulatedTester(UM25C, lambda: 3.0, lambda: clock.s)
    gone = True

    class Gone(EmulatedTester):
        def read(self, size: int = 1, /) -> bytes:
            if gone:
                raise OSError("Input/output error")
            return super().read(size)

    ports = iter([good, Gone(UM25C, lambda: 3.0, lambda: clock.s), good])
    meter = Um25c("x", lambda name, settings: next(ports), clock, clock.sleep)
    meter.open()
    meter.close()
    clock.sleep(2.0)
    (sample,) = meter.poll()
    assert "Input/output error" in (sample.missing_reason or "")
    gone = False
    result = []
    for _ in range(6):
        clock.sleep(0.5)
        result += meter.poll()
    assert result[-1].value == 3.0


def test_probing_opens_nothing_and_a_wrong_port_is_reported() -> None:
    def unexpected(name: str, settings) -> EmulatedTester:
        raise AssertionError(name)

    assert "port = " in (Um25c(open_port=unexpected).probe().fix or "")
    assert Um25c("/dev/rfcomm0", open_port=unexpected).probe().available
    clock = Clock()
    with pytest.raises(MeterError, match="is it the right port"):
        on_emulated_port(clock, spoil=lambda x: b"").open()
    with pytest.raises(UsageError, match="port"):
        Um25c(port=5)  # type: ignore[arg-type]


@pytest.fixture
def terminal() -> Iterator[str]:
    """A pseudo terminal behind which a UM34C answers, in pieces as a radio sends them."""
    master, slave = os.openpty()
    name = os.ttyname(slave)
    running = True

    def serve() -> None:
        while running:
            try:
                if os.read(master, 1) == b"\xf0":
                    answer = frame(UM34C, 4.2)
                    for at in range(0, len(answer), 20):
                        os.write(master, answer[at : at + 20])
                        time.sleep(0.001)
            except OSError:
                return

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield name
    running = False
    os.write(slave, b"\0")
    thread.join(2)
    os.close(slave)
    os.close(master)


def test_a_tester_on_a_real_serial_port_is_read(terminal: str) -> None:
    pytest.importorskip("serial")
    meter = Um25c(terminal)
    meter.open()
    time.sleep(0.1)
    (sample,) = meter.poll()
    assert sample.value == pytest.approx(4.2)
    meter.close()
    meter.close()
