"""Traces in the store: grown second by second, and summed without being read."""

from __future__ import annotations

import itertools
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from edgejoule.energy import energy
from edgejoule.meters.base import Channel, Clock, Domain, Method, ValueKind
from edgejoule.meters.clocks import Arrivals
from edgejoule.meters.trace import Trace
from edgejoule.store import StoredTrace, traces
from edgejoule.store.traces import TRACE_SCHEMA, ChannelRows, RunTraces

BOOT_NS = 700_000_000_000
RATE_HZ = 500


def seed() -> int:
    chosen = int(os.environ.get("EDGEJOULE_TEST_SEED") or random.SystemRandom().randrange(2**32))
    print(f"EDGEJOULE_TEST_SEED={chosen}")
    return chosen


def database(path: Path | str = ":memory:") -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.row_factory = sqlite3.Row
    connection.executescript(f"CREATE TABLE runs (id INTEGER PRIMARY KEY); INSERT INTO runs VALUES (1); {TRACE_SCHEMA}")
    return connection


def noisy_trace(kind: ValueKind, rng: np.random.Generator, seconds: float = 20, *, device: bool = False) -> Trace:
    """A load with steps and noise; a few readings fail, a few are missing."""
    t_s = np.arange(0, seconds, 1 / RATE_HZ) + rng.uniform(0, 0.0002, round(seconds * RATE_HZ))
    power_w = 5 + 3 * np.sin(t_s) + np.where(t_s % 3 < 1, 4, 0) + rng.normal(0, 0.1, len(t_s))
    value = power_w if kind is not ValueKind.ACCUMULATOR else np.cumsum(power_w) / RATE_HZ % 7
    channel = Channel(
        "emulated", "board", Domain.BOARD, kind, Method.MEASURED, 0.01, 0.001, 0.001,
        wrap_j=7.0 if kind is ValueKind.ACCUMULATOR else None,
        power_w_max=1000.0 if kind is ValueKind.ACCUMULATOR else None,
        clock=Clock.DEVICE if device else Clock.HOST_MONOTONIC, interval_s=1 / RATE_HZ, delay_s_max=0.002,
    )  # fmt: skip
    value = np.where((t_s > 7.2) & (t_s < 7.21), np.nan, value)
    keep = (t_s < 12.5) | (t_s > 12.52)
    t_ns, value = np.rint(t_s[keep] * 1e9).astype(np.int64), value[keep]
    reasons = {int(i): "EIO" for i in np.flatnonzero(np.isnan(value))}
    if not device:
        return Trace(channel, BOOT_NS + t_ns, value, 1 / RATE_HZ, reasons)
    last = t_ns[::25]
    late_ns = rng.exponential(2e6, len(last)).astype(np.int64)
    arrivals = Arrivals(last, np.maximum.accumulate(BOOT_NS + np.rint(last * 1.00003).astype(np.int64) + late_ns))
    return Trace(channel, t_ns, value, 1 / RATE_HZ, reasons, arrivals)


def stored(trace: Trace, rng: np.random.Generator) -> StoredTrace:
    """Written in pieces of any size, as a recorder does."""
    connection = database()
    rows = ChannelRows(connection, 1, trace.channel, trace.interval_s)
    cuts = [0, *sorted(rng.integers(0, len(trace), 30).tolist()), len(trace)]
    for begin, end in itertools.pairwise(cuts):
        part = traces._part(trace, begin, end)
        if trace.arrivals is not None:
            inside = np.isin(trace.arrivals.device_ns, part.t_ns)
            part = replace(part, arrivals=Arrivals(trace.arrivals.device_ns[inside], trace.arrivals.host_ns[inside]))
        rows.append(part)
    rows.flush()
    (result,) = RunTraces(connection, 1).stored()
    return result


@pytest.mark.parametrize("device", [False, True])
@pytest.mark.parametrize("kind", list(ValueKind))
def test_what_was_written_in_pieces_is_read_back_whole(kind: ValueKind, device: bool) -> None:
    rng = np.random.default_rng(seed())
    trace = noisy_trace(kind, rng, device=device)
    back = stored(trace, rng).whole()
    assert back.channel == trace.channel
    np.testing.assert_array_equal(back.t_ns, trace.t_ns)
    np.testing.assert_allclose(back.value, trace.value, atol=trace.channel.resolution / 32)
    assert back.reasons == trace.reasons
    if device:
        assert back.arrivals is not None
        assert trace.arrivals is not None
        np.testing.assert_array_equal(back.arrivals.host_ns, trace.arrivals.host_ns)


@pytest.mark.parametrize("device", [False, True])
@pytest.mark.parametrize("kind", list(ValueKind))
def test_energy_from_summaries_is_the_energy_of_all_readings(kind: ValueKind, device: bool) -> None:
    rng = np.random.default_rng(seed())
    trace = noisy_trace(kind, rng, device=device)
    kept = stored(trace, rng)
    whole = kept.whole()
    for _ in range(40):
        begin, end = np.sort(rng.uniform(0.5, 19.5, 2))
        t0, t1 = (BOOT_NS + round(x * 1e9) for x in (begin, end + 0.01))
        one, other = energy(kept, t0, t1), energy(whole, t0, t1)
        if other.energy_j is None:
            assert one.missing_reason == other.missing_reason
            continue
        # Conversion of a device's time rounds to 1 ns at both ends and where readings meet sums, at most 13 W.
        assert one.energy_j == pytest.approx(other.energy_j, rel=1e-12, abs=4e-9 * 13 if device else 1e-12)
        assert one.uncertainty_k2_j == pytest.approx(other.uncertainty_k2_j, rel=0.02)
        assert one.coverage == pytest.approx(other.coverage)
        assert [gap.reason for gap in one.gaps] == [gap.reason for gap in other.gaps]
        assert one.notes == other.notes


def test_mutant_that_forgets_the_step_between_two_seconds_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traces, "_with_reading", lambda trace, reading: trace)
    rng = np.random.default_rng(1)
    trace = noisy_trace(ValueKind.INSTANT, rng)
    kept = stored(trace, rng)
    t0, t1 = BOOT_NS + 1_500_000_000, BOOT_NS + 18_500_000_000
    one, other = energy(kept, t0, t1), energy(kept.whole(), t0, t1)
    assert other.energy_j is not None
    assert one.energy_j != pytest.approx(other.energy_j, rel=1e-4)


def test_clean_seconds_are_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    trace = noisy_trace(ValueKind.INSTANT, rng)
    kept = stored(trace, rng)
    unpacked = []
    real = traces.unpack
    monkeypatch.setattr(traces, "unpack", lambda blob, samples: unpacked.append(samples) or real(blob, samples))
    energy(kept, BOOT_NS + 1_500_000_000, BOOT_NS + 18_500_000_000)
    assert (
        len(unpacked) <= 2 * 2 + 2 + 3
    )  # two at each end, two that are not clean, three to see how often it is renewed


def test_a_slow_meter_whose_rows_are_seconds_apart_is_summed_right() -> None:
    channel = Channel("slow", "wall", Domain.WALL, ValueKind.ACCUMULATOR, Method.MEASURED, 0.0, 0.0, 0.0)
    t_ns = BOOT_NS + np.arange(0, 300, 7) * 1_000_000_000
    trace = Trace(channel, t_ns, np.arange(len(t_ns)) * 70.0, 7.0)
    kept = stored(trace, np.random.default_rng(1))
    for begin, end in ((10.0, 200.0), (3.0, 290.0), (20.0, 26.0), (21.0, 49.0)):
        result = energy(kept, BOOT_NS + round(begin * 1e9), BOOT_NS + round(end * 1e9))
        assert result.energy_j == pytest.approx((end - begin) * 10.0, rel=1e-9)


@pytest.mark.slow
def test_an_hour_at_5_khz_stays_small(tmp_path: Path) -> None:
    """As much of 50 MB as ten minutes are of an hour: rows are a second each, so that the size grows evenly."""
    rng = np.random.default_rng(seed())
    connection = database(tmp_path / "traces.db")
    channel = Channel(
        "emulated", "main", Domain.BOARD, ValueKind.INSTANT, Method.MEASURED, 0.01, 0.0, 0.0002, clock=Clock.DEVICE,
        interval_s=0.0002, delay_s_max=0.001,
    )  # fmt: skip
    rows = ChannelRows(connection, 1, channel, 0.0002)
    connection.execute("BEGIN")
    for minute in range(10):
        count = np.arange(minute * 300_000, (minute + 1) * 300_000)
        volt = np.rint((4.2 + rng.normal(0, 0.001, len(count))) / 0.001) * 0.001
        ampere = np.rint((0.3 + 0.2 * (count // 4000 % 2) + rng.normal(0, 0.0005, len(count))) / 0.00025) * 0.00025
        t_ns = count * 200_000
        arrived = t_ns[249::250]
        arrivals = Arrivals(arrived, BOOT_NS + arrived + rng.integers(500_000, 3_000_000, len(arrived)))
        rows.append(Trace(channel, t_ns, volt * ampere, 0.0002, {}, arrivals))
    rows.flush()
    connection.execute("COMMIT")
    connection.close()
    size_bytes = (tmp_path / "traces.db").stat().st_size
    print(f"3,000,000 samples: {size_bytes:,} bytes")
    assert size_bytes < 50_000_000 / 6


def test_kill_9_loses_at_most_a_second_of_readings(tmp_path: Path) -> None:
    path = tmp_path / "traces.db"
    database(path).close()
    program = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from edgejoule.meters.base import Channel, Domain, Method, Sample, ValueKind\n"
        "from edgejoule.meters.sampler import Sampler\n"
        "from edgejoule.store import TraceRecorder\n"
        "class Meter:\n"
        "    name, method, domain, poll_interval_s = 'm', Method.MEASURED, Domain.BOARD, 0.002\n"
        "    def channels(self):\n"
        "        return [Channel('m', 'c', Domain.BOARD, ValueKind.INSTANT, Method.MEASURED, 0, 0, 0)]\n"
        "    def poll(self):\n"
        "        return [Sample('c', time.monotonic_ns(), 1.0)]\n"
        "sampler = Sampler(Meter())\n"
        "with sampler, TraceRecorder(Path(sys.argv[1]), 1, [sampler]):\n"
        "    print('begun', flush=True)\n"
        "    time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program, path], stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "begun\n"
        time.sleep(3.3)
        killed_ns = time.monotonic_ns()
        running.send_signal(signal.SIGKILL)
    connection = sqlite3.connect(path)
    connection.row_factory = sqlite3.Row
    (kept,) = RunTraces(connection, 1).stored()
    trace = kept.whole()
    lost_s = (killed_ns - int(trace.t_ns[-1])) / 1e9
    assert lost_s <= 1
    assert len(trace) > 500
