"""What is read of db_bench's output and of RocksDB's LOG."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgejoule.errors import FederationError
from edgejoule.federation import Fill, Server
from edgejoule.federation.db_bench import read_result
from edgejoule.federation.energy import energy_of

OUTPUT = """RocksDB:    version 7.8.3
fillrandom   :      82.712 micros/op 12090 ops/sec 8.271 seconds 100000 operations;    1.3 MB/s
waitforcompaction(/tmp/x): started
STATISTICS:
rocksdb.stall.micros COUNT : 966946
rocksdb.compact.write.bytes COUNT : 4578058
rocksdb.flush.write.bytes COUNT : 5496381
rocksdb.remote.compact.read.bytes COUNT : 9000
rocksdb.remote.compact.write.bytes COUNT : 3000
"""
LOG = """2026/01/01-00:00:00.000000 1 [eco] job db-1-1: compacted here: no stall is near: level 0 has 5.3 of 12 files
2026/01/01-00:00:01.000000 1 [eco] job db-1-2: compacted by medium in 0.960 s, 0.020 CPU s here
2026/01/01-00:00:02.000000 1 [eco] job db-1-3: compacted by high in 0.960 s, 0.020 CPU s here
2026/01/01-00:00:03.000000 1 [eco] job db-1-4: compacted by high in 0.960 s, 0.020 CPU s here
2026/01/01-00:00:04.000000 1 [eco] job db-1-5: high: no heartbeat; compacted here after 3.001 s
2026/01/01-00:00:05.000000 1 [JOB 7] compacted something
"""


def test_throughput_stalls_bytes_and_jobs_are_read() -> None:
    got = read_result(Fill(operations=100_000), OUTPUT, LOG, "low")
    assert got.throughput_ops_s == 12090
    assert got.fill_s == pytest.approx(100_000 / 12090)
    assert got.stall_s == 0.966946
    assert got.offloaded == {"medium": 1, "high": 2}
    assert (got.kept, got.fell_back) == (1, 1)
    assert (got.flushed_bytes, got.compacted_bytes) == (5496381, 4578058)
    assert got.moved_bytes == {"low": 12000, "medium": 4000, "high": 8000}


def test_where_nothing_was_offloaded_nothing_was_moved() -> None:
    text = OUTPUT.replace("9000", "0").replace("3000", "0")
    assert read_result(Fill(), text, LOG[: LOG.index("\n") + 1], "low").moved_bytes == {}


def test_an_output_without_a_figure_is_an_error() -> None:
    with pytest.raises(FederationError, match="stall"):
        read_result(Fill(), OUTPUT.replace("rocksdb.stall.micros", "another"), LOG, "low")


def test_a_fill_says_its_triggers_to_db_bench() -> None:
    words = Fill(level0_slowdown=7, level0_stop=9, options=["--disable_wal=1"]).words(Path("/d"))
    assert {"--level0_slowdown_writes_trigger=7", "--level0_stop_writes_trigger=9", "--db=/d"} < set(words)
    assert words[-1] == "--disable_wal=1"


def test_energies_are_what_was_used_times_what_is_declared() -> None:
    server = Server("s", share=0.25, busy_w=2, idle_w=10, transfer_j_per_byte=1e-6)
    energy = energy_of(server, cpu_s=3, moved_bytes=5e6, idle_s=20)
    assert energy.busy_j == 3 * 2 / 0.25, "three seconds of a whole core are twelve of a quarter"
    assert energy.transfer_j == 5
    assert energy.marginal_j == 29
    assert energy.total_j == 229
