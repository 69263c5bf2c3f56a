"""Meters that read files by the native sampler: equal values, in blocks; without it, slower, with a message."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from edgejoule.errors import MeterError, UsageError
from edgejoule.meters.base import Block, Sample
from edgejoule.meters.plugins.hwmon import Hwmon
from edgejoule.meters.plugins.rapl import Rapl
from edgejoule.meters.sampler import Sampler
from edgejoule.meters.transport.filestream import GATHER_S, FileStream, pace, sampler_path

from .emulation import RANGE_UJ, overwrite
from .hwmon_tree import JETSON, make

PROGRAM = sampler_path()
built = pytest.mark.skipif(PROGRAM is None, reason="edgejoule-sampler is not built: make build")


def powercap(root: Path, energy_uj: str = "5000000\n") -> Path:
    zone = root / "intel-rapl:0"
    zone.mkdir(parents=True)
    for name, text in (("name", "package-0\n"), ("max_energy_range_uj", f"{RANGE_UJ}\n"), ("energy_uj", energy_uj)):
        (zone / name).write_text(text)
    return zone / "energy_uj"


def blocks(meter: Rapl | Hwmon) -> list[Block]:
    result = meter.poll()
    assert all(isinstance(reading, Block) for reading in result), result
    return [reading for reading in result if isinstance(reading, Block)]


@built
def test_an_answer_reaches_up_to_the_question(tmp_path: Path) -> None:
    assert PROGRAM is not None
    stream = FileStream(PROGRAM, [powercap(tmp_path)], 1e-3)
    try:
        stream.ask()
        asked_ns = time.monotonic_ns()
        assert stream.ask().t_ns[-1, 0] >= asked_ns
    finally:
        stream.close()


@built
def test_what_the_sampler_gathers_is_what_the_file_held(tmp_path: Path) -> None:
    counter = powercap(tmp_path)
    meter = Rapl(tmp_path, interval_s=1e-3)
    meter.open()
    sampler = Sampler(meter)
    sampler.start()
    time.sleep(0.02)
    overwrite(counter, "5500000\n")
    time.sleep(0.1)
    overwrite(counter, "7500000\n")
    time.sleep(0.02)
    traces = sampler.stop()
    meter.close()
    (trace,) = traces
    assert sorted(set(trace.value.tolist())) == [5.0, 5.5, 7.5]
    assert trace.value[-1] - trace.value[0] == 2.5
    assert trace.interval_s == 1e-3


@built
def test_a_product_of_two_files_is_the_power(tmp_path: Path) -> None:
    make(tmp_path, 0, {**JETSON, "update_interval": "1"})
    meter = Hwmon(tmp_path, rails=["VDD_SOC", "VDD_IN"], interval_s=1e-3)
    meter.open()
    time.sleep(0.02)
    first, second = blocks(meter)
    meter.close()
    assert (first.channel, second.channel) == ("VDD_IN", "VDD_SOC")
    assert first.value == pytest.approx(5.072 * 1.120)
    assert second.value == pytest.approx(5.064 * 0.352)
    assert np.all(np.diff(first.t_ns) > 0)


@built
def test_a_chip_that_is_slower_than_the_interval_is_refused(tmp_path: Path) -> None:
    make(tmp_path, 0, JETSON)
    with pytest.raises(MeterError, match="renews its values every 13 ms"):
        Hwmon(tmp_path, interval_s=1e-3).open()


@built
@pytest.mark.parametrize(
    ("text", "message"),
    [("garbage\n", "energy_uj: expected a whole number"), (f"{RANGE_UJ + 1}\n", "range"), ("-5\n", "below 0")],
)
def test_an_invalid_count_is_missing_with_its_reason(tmp_path: Path, text: str, message: str) -> None:
    counter = powercap(tmp_path)
    meter = Rapl(tmp_path, interval_s=1e-3)
    meter.open()
    counter.write_text(text)
    meter.poll()
    time.sleep(0.01)
    (block,) = blocks(meter)
    meter.close()
    assert np.isnan(block.value[-1])
    assert message in block.reasons[len(block.value) - 1]


@built
def test_a_sampler_that_dies_is_a_missing_sample_and_is_started_again(tmp_path: Path) -> None:
    powercap(tmp_path)
    meter = Rapl(tmp_path, interval_s=1e-3)
    meter.open()
    stream = meter._stream
    assert stream is not None
    assert stream.pid is not None
    os.kill(stream.pid, signal.SIGKILL)
    (sample,) = meter.poll()
    assert isinstance(sample, Sample)
    assert sample.value is None
    assert sample.missing_reason
    assert blocks(meter)[0].value[-1] == 5.0
    meter.close()
    meter.close()


@built
def test_what_the_program_takes_is_part_of_what_sampling_costs(tmp_path: Path) -> None:
    powercap(tmp_path)
    meter = Rapl(tmp_path, interval_s=1e-4)
    meter.open()
    sampler = Sampler(meter)
    sampler.start()
    time.sleep(0.3)
    sampler.stop()
    helper_s = meter.helper_cpu_s()
    assert 0 < helper_s < sampler.cost().cpu_s + 0.01
    meter.close()
    assert sampler.cost().cpu_s >= helper_s / 2


def test_without_the_program_python_polls_at_most_at_100_hz_and_reports_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("edgejoule.meters.transport.filestream.sampler_path", lambda: None)
    chosen = pace("rapl", 1e-3, 0.05)
    assert chosen.program is None
    assert chosen.poll_interval_s == 0.01
    assert "make build" in chosen.sentence


def test_slow_intervals_need_no_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("edgejoule.meters.transport.filestream.sampler_path", lambda: None)
    chosen = pace("rapl", None, 0.05)
    assert (chosen.program, chosen.poll_interval_s) == (None, 0.05)
    assert pace("rapl", 0.01, 0.05).poll_interval_s == 0.01
    assert not chosen.is_stream


@built
def test_the_program_reads_at_slow_intervals_too_and_changes_nothing_that_the_meter_says(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    powercap(tmp_path)
    with_program, emulated = Rapl(tmp_path), Rapl(tmp_path, read=lambda path: path.read_text())
    monkeypatch.setattr("edgejoule.meters.transport.filestream.sampler_path", lambda: None)
    without = Rapl(tmp_path)
    for meter in (with_program, emulated, without):
        meter.open()
    said = [(m.poll_interval_s, m.channels(), m.facts(), m.describe()) for m in (with_program, emulated, without)]
    assert said[0] == said[1] == said[2]
    assert [m.gather_s for m in (with_program, emulated, without)] == [GATHER_S, None, None]
    for meter in (with_program, emulated, without):
        meter.close()


@built
def test_a_gathering_meter_is_rarely_asked_and_its_trace_holds_the_stretch_that_was_sampled(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    powercap(tmp_path)
    meter = Rapl(tmp_path)
    asked = Mock(wraps=meter.poll)
    monkeypatch.setattr(meter, "poll", asked)
    meter.open()
    time.sleep(0.3)  # readings of this time are not the stretch's
    sampler = Sampler(meter)
    begin_ns = time.monotonic_ns()
    sampler.start()
    time.sleep(0.5)
    end_ns = time.monotonic_ns()
    (trace,) = sampler.stop()
    meter.close()
    assert begin_ns <= trace.t_ns[0]
    assert trace.t_ns[-1] >= end_ns
    assert 8 <= len(trace) <= 14, "a reading every 50 ms, and one at either end"
    assert trace.interval_s == 0.05
    assert asked.call_count == 2, "at the begin and at the end"
    assert sampler.cost().polls == len(trace), "a reading is a poll, whoever makes it"


def wake_ups(pid: int) -> int:
    """How often a process has waited."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("\nvoluntary_ctxt_switches:")[1].split()[0])


@built
def test_deadlines_that_the_program_missed_are_reported_as_late_polls(tmp_path: Path) -> None:
    powercap(tmp_path)
    meter = Rapl(tmp_path)
    meter.open()
    assert meter._stream is not None
    assert meter._stream.pid is not None
    sampler = Sampler(meter)
    before = wake_ups(meter._stream.pid)
    sampler.start()
    while wake_ups(meter._stream.pid) < before + 3:  # on a busy machine its first readings take a while
        time.sleep(0.01)
    os.kill(meter._stream.pid, signal.SIGSTOP)
    time.sleep(0.4)
    os.kill(meter._stream.pid, signal.SIGCONT)
    time.sleep(0.1)
    sampler.stop()
    meter.close()
    assert 5 <= sampler.cost().polls_late <= 9


@built
def test_a_slow_chip_is_read_at_its_own_pace_by_the_program(tmp_path: Path) -> None:
    make(tmp_path, 0, {**JETSON, "update_interval": "200"})
    meter = Hwmon(tmp_path)
    meter.open()
    time.sleep(0.5)
    block, *_ = blocks(meter)
    meter.close()
    assert meter.poll_interval_s == pytest.approx(0.2)
    assert 3 <= len(block.t_ns) <= 5


@built
@pytest.mark.parametrize("wrong", ["missing", "no program"])
def test_a_program_that_cannot_be_started_leaves_a_slow_meter_to_python(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, wrong: str
) -> None:
    program = tmp_path / "program"
    if wrong == "no program":
        program.write_text("garbage")
        program.chmod(0o755)
    monkeypatch.setattr("edgejoule.meters.transport.filestream.sampler_path", lambda: program)
    powercap(tmp_path)
    meter = Rapl(tmp_path)
    meter.open()
    (sample,) = meter.poll()
    meter.close()
    assert isinstance(sample, Sample)
    assert sample.value == 5.0
    assert meter.gather_s is None


@pytest.mark.parametrize("interval_s", [0.0, -1.0, 1e-6, 2.0, float("nan"), "1 ms", True])
def test_an_interval_that_cannot_be_kept_is_refused(interval_s: float) -> None:
    with pytest.raises(UsageError, match="interval_s"):
        pace("rapl", interval_s, 0.05)


def test_a_program_that_cannot_be_started_is_an_error_with_a_message(tmp_path: Path) -> None:
    with pytest.raises(MeterError, match="cannot be started"):
        FileStream(tmp_path / "none", [tmp_path / "x"], 1e-3).start()
