"""The readings of a run in the store: packed by channel and second, and apart from that what a second adds up to.

A second's summary spans from the last good reading of the second before to its own last one, and is there when those
readings are clean (see `energy.Summary`). The energy of hours is then a sum over summaries, made by SQLite; only the
seconds at the interval's ends and those that are not clean are unpacked. Times are on the channel's clock.
"""

from __future__ import annotations

import itertools
import json
import math
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgejoule.energy import SegmentSummary, summary_of
from edgejoule.meters.base import Channel, Clock, Domain, Method, ValueKind
from edgejoule.meters.clocks import Arrivals, ClockRelation, clock_relation
from edgejoule.meters.trace import Trace
from edgejoule.store.codec import pack, pack_integers, unpack, unpack_integers

SECOND_NS = 1_000_000_000
_RELATION = "relation"  # in channel_json, beside what the channel says of itself

TRACE_SCHEMA = """
CREATE TABLE channels (
  id INTEGER PRIMARY KEY, run_id INTEGER NOT NULL REFERENCES runs(id), channel_json TEXT NOT NULL,
  interval_s REAL NOT NULL);
CREATE INDEX channels_by_run ON channels (run_id, id);
CREATE TABLE seconds (
  channel_id INTEGER NOT NULL REFERENCES channels(id) ON DELETE CASCADE, second INTEGER NOT NULL,
  samples INTEGER NOT NULL, failed INTEGER NOT NULL,
  start_ns INTEGER, end_ns INTEGER, energy_j REAL, power_max_w REAL, step_s2 REAL, off_j2 REAL, off_next_j2 REAL,
  value_last REAL,
  PRIMARY KEY (channel_id, second)) WITHOUT ROWID;
CREATE TABLE readings (
  channel_id INTEGER NOT NULL REFERENCES channels(id) ON DELETE CASCADE, second INTEGER NOT NULL,
  samples INTEGER NOT NULL, readings BLOB NOT NULL, reasons_json TEXT, arrivals BLOB,
  PRIMARY KEY (channel_id, second)) WITHOUT ROWID;
"""
_unpack = lru_cache(maxsize=8)(unpack)  # the intervals of a run share seconds; nobody writes into the arrays
_SUMS = "min(start_ns), max(end_ns), sum(energy_j), max(power_max_w), sum(step_s2), sum(off_j2), sum(off_next_j2)"


class RunTraces:
    """The traces of one run, by a connection that the caller commits."""

    def __init__(self, connection: sqlite3.Connection, run_id: int) -> None:
        self._db = connection
        self._run_id = run_id

    def insert(self, trace: Trace) -> None:
        """Add a whole trace."""
        rows = ChannelRows(self._db, self._run_id, trace.channel, trace.interval_s, trace.relation)
        rows.append(trace)
        rows.flush()

    def stored(self) -> list[StoredTrace]:
        """The channels, those of a meter's primary domain first."""
        rows = self._db.execute(
            "SELECT id, channel_json, interval_s FROM channels WHERE run_id = ? ORDER BY id", (self._run_id,)
        ).fetchall()
        return [_stored(self._db, row[0], json.loads(row[1]), row[2]) for row in rows]

    def relate(self, meter: str, clock: Clock, relation: ClockRelation) -> None:
        """Keep how the times of a meter's channels on that clock become the host's."""
        for number, fields in self._channels(meter):
            if fields["clock"] == clock:
                changed = json.dumps({**fields, _RELATION: asdict(relation)})
                self._db.execute("UPDATE channels SET channel_json = ? WHERE id = ?", (changed, number))

    def remove(self, meter: str) -> None:
        """Forget the channels of a meter with their readings."""
        for number, _ in self._channels(meter):
            self._db.execute("DELETE FROM channels WHERE id = ?", (number,))

    def _channels(self, meter: str) -> list[tuple[int, dict[str, Any]]]:
        """The channels of a meter as stored, with their numbers."""
        rows = self._db.execute("SELECT id, channel_json FROM channels WHERE run_id = ?", (self._run_id,)).fetchall()
        return [(row[0], fields) for row in rows for fields in [json.loads(row[1])] if fields["meter"] == meter]


class ChannelRows:
    """Writes the readings of one channel as they come: whole seconds at once, the one under way by flush().

    The caller commits. Raises sqlite3.Error.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        run_id: int,
        channel: Channel,
        interval_s: float,
        relation: ClockRelation | None = None,
    ) -> None:
        self._db = connection
        self._pending = Trace(channel, np.empty(0, np.int64), np.empty(0), interval_s)
        self._arrivals = np.empty((0, 2), np.int64)
        self._last: tuple[int, float] | None = None  # good reading before the pending ones
        fields = {**asdict(channel), **({_RELATION: asdict(relation)} if relation else {})}
        self._id = connection.execute(
            "INSERT INTO channels (run_id, channel_json, interval_s) VALUES (?,?,?)",
            (run_id, json.dumps(fields), interval_s),
        ).lastrowid

    def append(self, trace: Trace) -> None:
        """Readings that follow those given before."""
        before = len(self._pending)
        reasons = {**self._pending.reasons, **{before + index: reason for index, reason in trace.reasons.items()}}
        self._pending = replace(
            self._pending,
            t_ns=np.concatenate([self._pending.t_ns, trace.t_ns]),
            value=np.concatenate([self._pending.value, trace.value]),
            reasons=reasons,
        )
        if trace.arrivals is not None:
            self._arrivals = np.concatenate(
                [self._arrivals, np.column_stack([trace.arrivals.device_ns, trace.arrivals.host_ns])]
            )
        seconds = self._pending.t_ns // SECOND_NS
        begins = np.flatnonzero(np.diff(seconds, prepend=-1)).tolist()
        for begin, end in itertools.pairwise(begins):
            self._write_row(int(seconds[begin]), _part(self._pending, begin, end))
        if begins:
            self._pending = _part(self._pending, begins[-1], len(self._pending))

    def flush(self) -> None:
        """Write what there is of the last second; more of it may follow, and then replaces it."""
        if len(self._pending):
            arrivals, last = self._arrivals, self._last
            self._write_row(int(self._pending.t_ns[0] // SECOND_NS), self._pending)
            self._arrivals, self._last = arrivals, last

    def _write_row(self, second: int, part: Trace) -> None:
        blob, kept = pack(part.t_ns, part.value, part.channel.resolution)
        part = replace(part, value=kept)  # sums are of the stored values
        good = ~np.isnan(part.value)
        summary = summary_of(_with_reading(part, self._last))
        arrived = self._arrivals[:, 0] <= part.t_ns[-1]
        failed = int(np.count_nonzero(~good))
        self._db.execute(
            f"INSERT OR REPLACE INTO seconds VALUES ({', '.join('?' * 12)})",
            (self._id, second, len(part), failed, *(_columns(summary) if summary else (None,) * 8)),
        )
        reasons = json.dumps(dict(part.reasons)) if part.reasons else None
        arrivals = pack_integers(self._arrivals[arrived]) if arrived.any() else None
        self._db.execute(
            "INSERT OR REPLACE INTO readings VALUES (?,?,?,?,?,?)",
            (self._id, second, len(part), blob, reasons, arrivals),
        )
        self._arrivals = self._arrivals[~arrived]
        if good.any():
            last = int(np.flatnonzero(good)[-1])
            self._last = int(part.t_ns[last]), float(part.value[last])


def _columns(summary: SegmentSummary) -> tuple[float, ...]:
    """In the order of the table's columns."""
    return (
        summary.start_ns, summary.end_ns, summary.energy_j, summary.power_max_w, summary.step_s2, summary.off_j2,
        summary.off_next_j2, summary.value_last,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class StoredTrace:
    """One channel's readings in the store, see energy.Readings. relation: times are given on the host's clock.

    stored_relation: as stored; else the arrivals give it.
    """

    connection: sqlite3.Connection
    channel_id: int
    channel: Channel
    interval_s: float
    relation: ClockRelation | None = None
    stored_relation: ClockRelation | None = None
    _cover: Callable[[int, int], _Cover] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_cover", lru_cache(maxsize=8)(self._read_cover))

    def whole(self) -> Trace:
        """All readings in memory, on the channel's own clock."""
        trace = replace(self._unpacked(""), relation=self.stored_relation)
        if self.channel.clock is not Clock.DEVICE:
            return trace
        return replace(trace, arrivals=self._arrivals())

    def on_host_clock(self) -> tuple[StoredTrace, ClockRelation | None]:
        """See energy.Readings."""
        if self.stored_relation is None and self.channel.clock is Clock.HOST_MONOTONIC:
            return self, None
        relation = self.stored_relation or self.by_arrivals
        return replace(self, relation=relation), relation

    @cached_property
    def by_arrivals(self) -> ClockRelation:
        """Estimates a device's clock from arrivals alone. Raises DataError where they do not suffice."""
        return clock_relation(self._arrivals(), self.channel.delay_s_max)

    def between(self, t0_ns: int, t1_ns: int) -> Trace:
        """The seconds that hold this stretch."""
        seconds = [self._device_ns(t) // SECOND_NS for t in (t0_ns, t1_ns)]
        return self._on_asked_clock(self._unpacked("AND second BETWEEN ? AND ?", *seconds))

    def pieces(self, t0_ns: int, t1_ns: int) -> Sequence[Trace | SegmentSummary]:
        """See energy.Readings."""
        return self._cover(t0_ns, t1_ns).pieces

    def excerpt(self, readings_max: int) -> Trace:
        """See energy.Readings."""
        first = self._second("SELECT min(second)", "") or 0
        seconds = math.ceil(readings_max * self.interval_s)
        return self._on_asked_clock(self._unpacked("AND second BETWEEN ? AND ?", first, first + seconds))

    def _on_asked_clock(self, trace: Trace) -> Trace:
        return trace if self.relation is None else _trace_converted(trace, self.relation)

    def counts(self, t0_ns: int, t1_ns: int) -> tuple[int, int]:
        """See energy.Readings."""
        cover = self._cover(t0_ns, t1_ns)
        return cover.readings, cover.failed

    def _read_cover(self, t0_ns: int, t1_ns: int) -> _Cover:
        cover = self._own_cover(*(self._device_ns(t) for t in (t0_ns, t1_ns)))
        return cover if self.relation is None else cover.converted(self.relation, self.channel.kind)

    def _device_ns(self, host_ns: int) -> int:
        return host_ns if self.relation is None else self.relation.to_device_ns(host_ns)

    def _own_cover(self, t0_ns: int, t1_ns: int) -> _Cover:
        """On the channel's clock: unpacked seconds around both ends and where readings are not clean, sums between."""
        first, last = t0_ns // SECOND_NS, t1_ns // SECOND_NS
        before = self._second("SELECT max(second)", "AND second < ?", first)
        after = self._second("SELECT min(second)", "AND second > ?", last)
        inner = first + 1, last - 1
        where = "AND second BETWEEN ? AND ? AND (energy_j IS NULL OR start_ns < ?) ORDER BY second"
        dirty = [row[0] for row in self._rows(where, *inner, t0_ns, what="second")] if inner[0] <= inner[1] else []
        cover = _Cover((), 0, 0)
        for begin, end, summed in _stretches(before, after, inner, dirty):
            if summed:
                cover = self._with_sums(cover, begin, end)
            else:
                trace = self._unpacked("AND second BETWEEN ? AND ?", begin, end)
                cover = cover.with_trace(trace, t0_ns, t1_ns)
        return cover

    def _with_sums(self, cover: _Cover, begin: int, end: int) -> _Cover:
        where = "AND second BETWEEN ? AND ?"
        (row,) = self._rows(where, begin, end, what=f"{_SUMS}, sum(samples), sum(failed), max(second)")
        if row[0] is None:
            return cover
        value_last = self._second("SELECT value_last", "AND second = ?", row[9])
        return cover.with_summary(_summary(row[:7], value_last), row[7], row[8])

    def _unpacked(self, where: str, *values: object) -> Trace:
        rows = self._rows(f"{where} ORDER BY second", *values, what="*", table="readings")
        parts = [_unpack(row["readings"], row["samples"]) for row in rows]
        reasons: dict[int, str] = {}
        place = 0
        for row in rows:
            reasons |= {place + int(i): reason for i, reason in json.loads(row["reasons_json"] or "{}").items()}
            place += row["samples"]
        t_ns = np.concatenate([np.empty(0, np.int64), *(part[0] for part in parts)])
        value = np.concatenate([np.empty(0), *(part[1] for part in parts)])
        return Trace(self.channel, t_ns, value, self.interval_s, reasons)

    def _arrivals(self) -> Arrivals:
        rows = self._rows("AND arrivals IS NOT NULL ORDER BY second", what="arrivals", table="readings")
        pairs = np.concatenate([np.empty((0, 2), np.int64), *(unpack_integers(row[0], 2) for row in rows)])
        return Arrivals(pairs[:, 0], pairs[:, 1])

    def _rows(self, where: str, *values: object, what: str, table: str = "seconds") -> list[Any]:
        sql = f"SELECT {what} FROM {table} WHERE channel_id = ? {where}"
        return self.connection.execute(sql, (self.channel_id, *values)).fetchall()

    def _second(self, select: str, where: str, *values: object) -> Any:
        rows = self._rows(where, *values, what=select.removeprefix("SELECT "))
        return rows[0][0] if rows else None


@dataclass(frozen=True)
class _Cover:
    """Pieces in order, and how many readings of the interval are in them."""

    pieces: tuple[Trace | SegmentSummary, ...]
    readings: int
    failed: int

    def with_trace(self, trace: Trace, t0_ns: int, t1_ns: int) -> _Cover:
        if not len(trace):
            return self
        count, failed = trace.counts(t0_ns, t1_ns)
        return _Cover((*self.pieces, _with_reading(trace, self._last())), self.readings + count, self.failed + failed)

    def with_summary(self, summary: SegmentSummary, count: int, failed: int) -> _Cover:
        return _Cover((*self.pieces, summary), self.readings + count, self.failed + failed)

    def converted(self, relation: ClockRelation, kind: ValueKind) -> _Cover:
        return replace(self, pieces=tuple(_converted(piece, relation, kind) for piece in self.pieces))

    def _last(self) -> tuple[int, float] | None:
        """The last good reading so far."""
        for piece in reversed(self.pieces):
            if isinstance(piece, SegmentSummary):
                return piece.end_ns, piece.value_last
            good = np.flatnonzero(~np.isnan(piece.value))
            if len(good):
                return int(piece.t_ns[good[-1]]), float(piece.value[good[-1]])
        return None


def _stretches(
    before: int | None, after: int | None, inner: tuple[int, int], dirty: Sequence[int]
) -> list[tuple[int, int, bool]]:
    """Seconds from, to, and whether their summaries will do; in order, none twice."""
    first, last = inner
    begin = first - 1 if before is None else before
    end = last + 1 if after is None else after
    if last < first:
        return [(begin, end, False)]
    parts = [(begin, first - 1, False)]
    for second in dirty:
        at = parts[-1][1] + 1
        if at < second:
            parts.append((at, second - 1, True))
        if parts[-1][2]:
            parts.append((second, second, False))
        else:  # neighbours are unpacked at once
            parts[-1] = (parts[-1][0], second, False)
    at = parts[-1][1] + 1
    if at <= last:
        parts.append((at, last, True))
    return [*parts, (last + 1, end, False)]


def _summary(sums: Sequence[Any], value_last: float) -> SegmentSummary:
    start_ns, end_ns, energy_j, power_max_w, step_s2, off_j2, off_next_j2 = sums
    return SegmentSummary(start_ns, end_ns, energy_j, power_max_w, step_s2, off_j2, off_next_j2, value_last)


def _part(trace: Trace, begin: int, end: int) -> Trace:
    reasons = {i - begin: reason for i, reason in trace.reasons.items() if begin <= i < end}
    return replace(trace, t_ns=trace.t_ns[begin:end], value=trace.value[begin:end], reasons=reasons)


def _with_reading(trace: Trace, reading: tuple[int, float] | None) -> Trace:
    """The trace with a reading before it."""
    if reading is None:
        return trace
    return replace(
        trace,
        t_ns=np.concatenate([np.array([reading[0]], np.int64), trace.t_ns]),
        value=np.concatenate([[reading[1]], trace.value]),
        reasons={index + 1: reason for index, reason in trace.reasons.items()},
    )


def _converted(piece: Trace | SegmentSummary, relation: ClockRelation, kind: ValueKind) -> Trace | SegmentSummary:
    """With times of the host. A power lasts as long as the host says; joules that were counted stay."""
    if isinstance(piece, Trace):
        return _trace_converted(piece, relation)
    ends: NDArray[np.int64] = relation.to_host_ns(np.array([piece.start_ns, piece.end_ns]))
    scale = 1.0 if kind is ValueKind.ACCUMULATOR else 1 + relation.drift
    return replace(piece, start_ns=int(ends[0]), end_ns=int(ends[1]), energy_j=piece.energy_j * scale)


def _stored(connection: sqlite3.Connection, number: int, fields: dict[str, Any], interval_s: float) -> StoredTrace:
    known = relation_from_json(fields.pop(_RELATION, None))
    return StoredTrace(connection, number, channel_from_json(fields), interval_s, stored_relation=known)


def _trace_converted(trace: Trace, relation: ClockRelation) -> Trace:
    channel = replace(trace.channel, clock=Clock.HOST_MONOTONIC)
    return replace(trace, channel=channel, t_ns=relation.to_host_ns(trace.t_ns))


def relation_from_json(data: dict[str, Any] | None) -> ClockRelation | None:
    """The inverse of asdict."""
    return ClockRelation(**data) if data else None


def channel_from_json(data: dict[str, Any]) -> Channel:
    """The inverse of asdict."""
    kinds: dict[str, Callable[[Any], Any]] = {"domain": Domain, "kind": ValueKind, "method": Method, "clock": Clock}
    fields: dict[str, Any] = {k: kinds[k](v) if k in kinds else v for k, v in data.items()}
    return Channel(**fields)
