"""Cost of an hour at 5 kHz in the store: bytes, the time of one integral, CPU time of storing it.

    .venv/bin/python lab/bench/traces.py [--minutes 60]

The trace is the product of a current and a voltage with noise and a switching load, as a USB power monitor gives it.
Bars: 18 million samples below 50 MB, one integral below 10 ms.
"""

import argparse
import sqlite3
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

from edgejoule.energy import energy
from edgejoule.meters.base import Channel, Clock, Domain, Method, ValueKind
from edgejoule.meters.clocks import Arrivals
from edgejoule.meters.trace import Trace
from edgejoule.store.traces import TRACE_SCHEMA, ChannelRows, RunTraces

RATE_HZ = 5000
BOOT_NS = 700_000_000_000


def pieces(minutes: int, seed: int = 1):
    """Yields half seconds of a trace, as a recorder receives them."""
    rng = np.random.default_rng(seed)
    channel = Channel(
        "bench", "main", Domain.BOARD, ValueKind.INSTANT, Method.MEASURED, 0.01, 0.0, 0.0002, clock=Clock.DEVICE,
        interval_s=1 / RATE_HZ, delay_s_max=0.001,
    )  # fmt: skip
    half = RATE_HZ // 2
    for number in range(minutes * 120):
        count = np.arange(number * half, (number + 1) * half)
        volt = np.rint((4.2 + rng.normal(0, 0.001, half)) / 0.001) * 0.001
        ampere = np.rint((0.3 + 0.2 * (count // 4000 % 2) + rng.normal(0, 0.0005, half)) / 0.00025) * 0.00025
        t_ns = count * (1_000_000_000 // RATE_HZ)
        arrived = t_ns[249::250]
        arrivals = Arrivals(arrived, BOOT_NS + arrived + rng.integers(500_000, 3_000_000, len(arrived)))
        yield Trace(channel, t_ns, volt * ampere, 1 / RATE_HZ, {}, arrivals)


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=int, default=60)
    minutes = parser.parse_args().minutes
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "traces.db"
        connection = sqlite3.connect(path, isolation_level=None)
        connection.row_factory = sqlite3.Row
        connection.executescript(
            f"CREATE TABLE runs (id INTEGER PRIMARY KEY); INSERT INTO runs VALUES (1); {TRACE_SCHEMA}"
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
        )
        rows, samples, cpu_s = None, 0, 0.0
        for piece in pieces(minutes):
            begin_s = time.thread_time()
            connection.execute("BEGIN")
            rows = rows or ChannelRows(connection, 1, piece.channel, piece.interval_s)
            rows.append(piece)
            rows.flush()
            connection.execute("COMMIT")
            cpu_s += time.thread_time() - begin_s
            samples += len(piece)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (kept,) = RunTraces(connection, 1).stored()
        energy(kept, BOOT_NS, BOOT_NS + 10**10)  # aligns the clocks, once
        rng = np.random.default_rng(2)
        cpu_ms, elapsed_ms = [], []
        for _ in range(21):
            a, b = np.sort(rng.uniform(5, minutes * 60 - 5, 2))
            begin_s, begin_cpu_s = time.perf_counter(), time.thread_time()
            result = energy(kept, *(BOOT_NS + round(x * 1e9) for x in (a, b)))
            elapsed_ms.append((time.perf_counter() - begin_s) * 1e3)
            cpu_ms.append((time.thread_time() - begin_cpu_s) * 1e3)
            assert result.energy_j is not None
        print(f"{samples:,} samples, {minutes} minutes at {RATE_HZ} Hz")
        print(f"  size      {path.stat().st_size / 1e6:.1f} MB, {path.stat().st_size / samples:.2f} bytes a sample")
        whole, busy = statistics.median(elapsed_ms), statistics.median(cpu_ms)
        print(f"  integral  {whole:.1f} ms, {busy:.1f} ms of it CPU time (medians of 21 random intervals)")
        print(f"  keeping   {cpu_s / (minutes * 60):.2%} of a core")


if __name__ == "__main__":
    main()
