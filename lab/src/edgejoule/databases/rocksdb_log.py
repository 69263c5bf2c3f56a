"""Converts RocksDB's LOG to events of a run: depth of level 0, flushes, compactions, stalled writes.

RocksDB writes a LOG beside every database, also for an unmodified program. Its times are the wall clock's, and its
lines are in no strict order. A flush or a compaction is a pair of EVENT_LOG_v1 lines, and the second one has the
number of files in each level. A line "Stopping writes because ..." begins a stall; no line ends it. A stall by level 0
ends with the first change after which level 0 has fewer files than the line said; one by memtables ends with the next
flush; one by pending bytes with the next compaction.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Event = dict[str, Any]

LEVEL0 = "level0"  # of a run, in the store: monotonic_ns, files
_HEAD_BYTES = 4096
_SAME_STALL_US = 10_000  # RocksDB repeats the notice after a change that does not end the stall

_STALL = re.compile(
    r"^(?P<time>\d{4}/\d\d/\d\d-\d\d:\d\d:\d\d)\.(?P<us>\d{6}) .*?\[(?P<family>[^][]+)\] "
    r"(?P<how>Stopping|Stalling) writes because (?:we have (?P<files>\d+) level-0 files|.*?(?P<memtables>memtables)|.*)"
)
_FAMILY = re.compile(r"Options for column family \[(.+)\]")


@dataclass
class _Stall:
    """Stalled writes since begin_us. files: the lowest count in any notice; None: level 0 is not the cause."""

    begin_us: int
    how: str
    ended_by: str
    files: int | None


def log_files(folder: Path) -> list[Path]:
    """Returns the LOGs of RocksDB databases below a folder, those of an earlier opening included."""
    return sorted(file for file in folder.rglob("LOG*") if file.is_file() and _is_rocksdb(file))


def _is_rocksdb(file: Path) -> bool:
    try:
        with file.open("rb") as opened:
            return b"RocksDB version:" in opened.read(_HEAD_BYTES)
    except OSError:  # a command may have made it readable only for another user
        return False


def log_events(folder: Path, start_ns: int, end_ns: int) -> list[Event]:
    """Returns the events of all LOGs below a folder that begin within this time of CLOCK_MONOTONIC, in order.

    Their kinds are `level0`, which is this module's, and `database`, which has the driver's form
    (schemas/driver-event.schema.json). Call it soon after the run: the wall clock is related to the monotonic one now.
    """
    assert start_ns <= end_ns
    offset_ns = time.time_ns() - time.monotonic_ns()
    events = [
        {**event, "monotonic_ns": event["monotonic_ns"] - offset_ns}
        for file in log_files(folder)
        for event in read_log(file.read_text(encoding="utf-8", errors="replace").splitlines())
    ]
    within = [event for event in events if start_ns <= event["monotonic_ns"] <= end_ns]
    return sorted(within, key=lambda event: int(event["monotonic_ns"]))


def read_log(lines: Iterable[str]) -> list[Event]:
    """Returns the events of one LOG, with wall-clock times in ns. Skips truncated and foreign lines."""
    kept = list(lines)
    changes = sorted(_logged(kept), key=lambda change: int(change["time_micros"]))
    one_family = len({match[1] for line in kept if (match := _FAMILY.search(line))}) <= 1
    depth = list(_depths(changes)) if one_family else []  # a flush does not name the family whose level 0 it counts
    return [*depth, *_jobs(changes), *_stalls(kept, changes)]


def _logged(lines: Iterable[str]) -> Iterator[Mapping[str, Any]]:
    for line in lines:
        _, mark, text = line.partition("EVENT_LOG_v1 ")
        if not mark:
            continue
        try:
            event = json.loads(text)
        except ValueError:
            continue
        if isinstance(event, dict) and "time_micros" in event and "event" in event:
            yield event


def _depths(changes: Iterable[Mapping[str, Any]]) -> Iterator[Event]:
    """Returns the number of files in level 0 after each change."""
    before = None
    for change in changes:
        files = change["lsm_state"][0] if change.get("lsm_state") else None
        if files is not None and files != before:
            before = files
            yield {"event": LEVEL0, "monotonic_ns": change["time_micros"] * 1000, "files": files}


def _jobs(changes: Iterable[Mapping[str, Any]]) -> Iterator[Event]:
    """Yields flushes and compactions, each from its two lines."""
    begun: dict[int, Mapping[str, Any]] = {}
    written: dict[int, int] = {}
    for change in changes:
        job, name = change.get("job"), change["event"]
        if job is None:
            continue
        if name in ("flush_started", "compaction_started"):
            begun[job] = change
        elif name == "table_file_creation":
            written[job] = written.get(job, 0) + change.get("file_size", 0)
        elif name in ("flush_finished", "compaction_finished") and job in begun:
            yield _job(begun.pop(job), change, written.pop(job, None))


def _job(begin: Mapping[str, Any], end: Mapping[str, Any], written: int | None) -> Event:
    flush = end["event"] == "flush_finished"
    levels = [int(key.removeprefix("files_L")) for key in begin if re.fullmatch(r"files_L\d+", key)]
    to = f": level {min(levels)} to level {end.get('output_level')}" if levels else ""
    return {
        "event": "database",
        "monotonic_ns": begin["time_micros"] * 1000,
        "kind": "flush" if flush else "compaction",
        "duration_ns": max(0, end["time_micros"] - begin["time_micros"]) * 1000,
        "read_bytes": None if flush else begin.get("input_data_size"),
        "write_bytes": written if flush else end.get("total_output_size"),
        "detail": f"job {end['job']}{to}",
    }


def _stalls(lines: Iterable[str], changes: Sequence[Mapping[str, Any]]) -> Iterator[Event]:
    """Yields intervals in which writes are stopped or slowed down, one at a time."""
    notices = [(_time_us(match), match) for line in lines if (match := _STALL.match(line))]
    happened: list[tuple[int, re.Match[str] | Mapping[str, Any]]] = [
        *notices,
        *((change["time_micros"], change) for change in changes if change.get("lsm_state")),
    ]
    stall: _Stall | None = None
    ended: tuple[_Stall, int] | None = None  # a stall that the next notice may continue
    for at_us, what in sorted(happened, key=lambda each: each[0]):
        if ended and at_us - ended[1] > _SAME_STALL_US:
            yield _stall_event(*ended)
            ended = None
        if isinstance(what, re.Match):
            stall, ended = _noticed(stall or (ended[0] if ended else None), what, at_us), None
        elif stall and _ends(stall, what):
            ended = stall, at_us
            stall = None
    if ended:
        yield _stall_event(*ended)


def _noticed(stall: _Stall | None, notice: re.Match[str], at_us: int) -> _Stall:
    """Returns the stall that a notice begins or continues."""
    files = int(notice["files"]) if notice["files"] else None
    ended_by = "flush_finished" if notice["memtables"] else "compaction_finished"
    if stall is None:
        return _Stall(at_us, "stopped" if notice["how"] == "Stopping" else "delayed", ended_by, files)
    if files is not None:
        stall.files = files if stall.files is None else min(files, stall.files)
    elif stall.files is None:
        stall.ended_by = ended_by
    return stall


def _ends(stall: _Stall, change: Mapping[str, Any]) -> bool:
    if stall.files is not None:
        return bool(change["lsm_state"][0] < stall.files)
    return bool(change["event"] == stall.ended_by)


def _stall_event(stall: _Stall, end_us: int) -> Event:
    cause = "level 0" if stall.files is not None else "memtables" if stall.ended_by == "flush_finished" else "pending"
    return {
        "event": "database",
        "monotonic_ns": stall.begin_us * 1000,
        "kind": "stall",
        "duration_ns": (end_us - stall.begin_us) * 1000,
        "read_bytes": None,
        "write_bytes": None,
        "detail": f"{stall.how}: {cause}",
    }


def _time_us(notice: re.Match[str]) -> int:
    """Converts a notice's time, which is local time, to µs."""
    return int(time.mktime(time.strptime(notice["time"], "%Y/%m/%d-%H:%M:%S"))) * 1_000_000 + int(notice["us"])
