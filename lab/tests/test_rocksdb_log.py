"""RocksDB's LOG as events of a run. The lines are RocksDB 7.8's own."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from edgejoule.databases.rocksdb_log import log_events, log_files, read_log

BEGIN_S = 1_795_536_270  # Unix time of the first line


def logged(at_s: float, event: str, **fields: object) -> str:
    """A line of RocksDB's event log."""
    return "EVENT_LOG_v1 " + json.dumps({"time_micros": round((BEGIN_S + at_s) * 1e6), "event": event, **fields})


def notice(at_s: float, message: str) -> str:
    """A warning, which RocksDB writes with the local time."""
    us = round(at_s % 1 * 1e6)
    local = time.strftime("%Y/%m/%d-%H:%M:%S", time.localtime(BEGIN_S + int(at_s)))
    return f"{local}.{us:06d} 2444 [WARN] [db/column_family.cc:944] [default] {message}"


STOPPED_BY_FILES = "Stopping writes because we have {} level-0 files"
STOPPED_BY_MEMTABLES = (
    "Stopping writes because we have 2 immutable memtables (waiting for flush), max_write_buffer_number is set to 2"
)


def flush(job: int, begin_s: float, end_s: float, files: int) -> list[str]:
    return [
        logged(begin_s, "flush_started", job=job, num_memtables=1),
        logged(end_s - 0.01, "table_file_creation", job=job, cf_name="default", file_size=190_000),
        logged(end_s, "flush_finished", job=job, lsm_state=[files, 1, 0]),
    ]


def compaction(job: int, begin_s: float, end_s: float, files: int) -> list[str]:
    started = {"files_L0": [9, 7], "files_L1": [5], "input_data_size": 700_000}
    return [
        logged(begin_s, "compaction_started", job=job, **started),
        logged(end_s, "compaction_finished", job=job, output_level=1, total_output_size=600_000, lsm_state=[files, 1]),
    ]


def events(lines: list[str], **chosen: object) -> list[dict[str, Any]]:
    return [e for e in read_log(lines) if all(e.get(k) == v for k, v in chosen.items())]


def stalls(lines: list[str]) -> list[tuple[str, float, float]]:
    """Detail, begin and end in s from the first line."""
    return [
        (e["detail"], round(e["monotonic_ns"] / 1e9 - BEGIN_S, 3), round(e["duration_ns"] / 1e9, 3))
        for e in events(lines, kind="stall")
    ]


def test_level_0_grows_by_flushes_and_shrinks_by_compactions() -> None:
    lines = [*flush(1, 0.0, 0.2, 1), *flush(2, 0.2, 0.4, 2), *compaction(3, 0.5, 0.9, 0), *flush(4, 0.6, 0.7, 3)]
    depth = events(lines, event="level0")
    assert [e["files"] for e in depth] == [1, 2, 3, 0]
    assert [round(e["monotonic_ns"] / 1e9 - BEGIN_S, 1) for e in depth] == [0.2, 0.4, 0.7, 0.9]


def test_jobs_have_their_times_levels_and_bytes() -> None:
    lines = [*flush(1, 0.0, 0.2, 1), *compaction(3, 0.5, 0.9, 0), logged(1.0, "flush_finished", job=9, lsm_state=[1])]
    (flushed,), (compacted,) = events(lines, kind="flush"), events(lines, kind="compaction")
    assert (flushed["read_bytes"], flushed["write_bytes"], flushed["detail"]) == (None, 190_000, "job 1")
    assert compacted["duration_ns"] == pytest.approx(0.4e9)
    assert (compacted["read_bytes"], compacted["write_bytes"]) == (700_000, 600_000)
    assert compacted["detail"] == "job 3: level 0 to level 1"


def test_a_stall_by_level_0_ends_when_it_has_fewer_files_than_the_first_notice_said() -> None:
    lines = [
        *flush(1, 0.0, 1.0, 8),
        notice(1.001, STOPPED_BY_FILES.format(8)),
        *flush(2, 1.0, 1.5, 9),
        notice(1.501, STOPPED_BY_FILES.format(9)),
        *compaction(3, 0.5, 1.8, 8),
        notice(1.801, STOPPED_BY_FILES.format(8)),
        *compaction(4, 1.8, 2.25, 4),
    ]
    assert stalls(lines) == [("stopped: level 0", 1.001, 1.249)]


def test_a_stall_by_memtables_ends_with_the_next_flush_and_not_with_a_compaction() -> None:
    lines = [notice(1.0, STOPPED_BY_MEMTABLES), *compaction(3, 0.5, 1.1, 4), *flush(4, 0.9, 1.3, 5)]
    assert stalls(lines) == [("stopped: memtables", 1.0, 0.3)]


def test_a_notice_right_after_the_change_continues_the_stall() -> None:
    lines = [
        notice(1.0, STOPPED_BY_MEMTABLES),
        *flush(4, 0.9, 1.3, 5),
        notice(1.305, STOPPED_BY_MEMTABLES),
        *flush(5, 1.3, 1.4, 6),
    ]
    assert stalls(lines) == [("stopped: memtables", 1.0, 0.4)]
    assert len(stalls([*lines[:4], notice(1.35, STOPPED_BY_MEMTABLES), *lines[5:]])) == 2


def test_writes_that_are_slowed_down_by_pending_bytes_are_delayed_until_the_next_compaction() -> None:
    message = "Stalling writes because of estimated pending compaction bytes 70000 rate 16777216"
    assert stalls([notice(1.0, message), *flush(2, 1.0, 1.1, 1), *compaction(3, 0.9, 1.5, 0)]) == [
        ("delayed: pending", 1.0, 0.5)
    ]


def test_the_depth_of_several_column_families_is_not_guessed() -> None:
    heads = [f"------- Options for column family [{name}]:" for name in ("default", "meta")]
    assert not events([*heads, *flush(1, 0.0, 0.2, 1)], event="level0")
    assert events([heads[0], heads[0], *flush(1, 0.0, 0.2, 1)], event="level0")


def test_lines_that_are_cut_off_are_passed_over() -> None:
    lines = [*flush(1, 0.0, 0.2, 1), logged(0.3, "flush_started", job=2)[:60], "EVENT_LOG_v1 7"]
    assert [e["files"] for e in events(lines, event="level0")] == [1]


def test_only_logs_of_rocksdb_count_and_only_what_happened_during_the_run(tmp_path: Path) -> None:
    now_s, now_ns = time.time() - BEGIN_S, time.monotonic_ns()
    (tmp_path / "db").mkdir()
    head = "2026/11/24-16:04:29.645676 2380 RocksDB version: 7.8.3"
    lines = [head, *flush(1, now_s - 60, now_s - 50, 1), *flush(2, now_s - 0.2, now_s - 0.1, 2)]
    (tmp_path / "db/LOG").write_text("\n".join(lines))
    (tmp_path / "LOG").write_text("LevelDB has a LOG as well\n" + "\n".join(lines[1:]))
    assert log_files(tmp_path) == [tmp_path / "db/LOG"]
    result = log_events(tmp_path, now_ns - 10 * 10**9, now_ns)
    assert [(e["event"], e.get("files")) for e in result] == [("database", None), ("level0", 2)]
    assert all(now_ns - 10**9 < e["monotonic_ns"] <= now_ns + 10**7 for e in result)
