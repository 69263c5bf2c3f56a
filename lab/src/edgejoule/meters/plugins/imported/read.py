"""A CSV file as arrays. Numbers are read at the speed of C where every cell is one; else cell by cell, and a cell that
is no number is a missing reading with its line.
"""

from __future__ import annotations

import csv
import io
import re
import warnings
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from edgejoule.errors import DataError, InputError, UsageError
from edgejoule.meters.plugins.imported.columns import SCALES, TIME_UNITS, Mapping, guess
from edgejoule.meters.quantities import Role, reading

_DELIMITERS = (",", ";", "\t")
_REASONS_MAX = 1000
_HEAD_MAX = 1 << 16  # of the text behind the header, in which the first line of data ends
_WALL_CLOCK_NS = (10**18, 4_100_000_000 * 10**9)  # 2001 to 2100: what can only be ns since 1970
_NS_MAX = 1 << 62  # of a time, so that differences are whole numbers too: 146 years
_NUMBER_MAX = 1e100  # sums of squares of readings stay finite

_Ints = NDArray[np.int64]
_Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Recorded:
    """t_ns: (n,) ns since the first reading. value: (n,) W or J, NaN where a reading is missing; reasons: index -> why.
    origin: the first time as the file has it, for people. origin_ns: since 1970, of wall-clock times, else None.
    begin_ns: the first time as the file has it.
    """

    mapping: Mapping
    t_ns: _Ints
    value: _Floats
    origin: str
    origin_ns: int | None = None
    reasons: dict[int, str] = field(default_factory=dict)
    begin_ns: int = 0

    @property
    def has_zone(self) -> bool:
        """Whether its wall-clock times say their zone: ns since 1970 do, ISO 8601 may."""
        assert self.mapping.time is not None
        return self.mapping.time.unit != "iso" or bool(re.search(r"(Z|[+-]\d\d:?\d\d)$", self.origin))

    @property
    def is_energy(self) -> bool:
        """A running total."""
        return Role.ENERGY in self.mapping.roles


@dataclass(frozen=True)
class TraceLayout:
    """header: the columns' names. first_line: number of the first line of data, from 1. header_line: of the header."""

    header: list[str]
    delimiter: str
    first_line: int
    header_line: int


@dataclass(frozen=True, eq=False)
class Rows:
    """time_ns: as the file has it, in ns. first_time: the first one for people."""

    time_ns: _Ints
    value: _Floats
    first_time: str
    reasons: dict[int, str]


def read_csv(path: Path, given: Mapping | None = None) -> Recorded:
    """Reads a trace. given: columns and units that are named; the rest is taken from the header.

    Raises UsageError (file, columns, units) and DataError (invalid or decreasing times), with the line.
    """
    layout, body = split(path, _text(path))
    try:
        mapping = guess(layout.header, given or Mapping(), first_cells(layout, body))
    except UsageError as error:
        raise UsageError(f"{path}:{layout.header_line}: {error}") from None
    rows = read_rows(path, layout, mapping, body)
    if len(rows.time_ns) < 2:
        raise InputError(f"{path}: lines with readings: {len(rows.time_ns)}; a trace has at least 2")
    back = np.flatnonzero(np.diff(rows.time_ns) <= 0)
    assert mapping.time is not None
    if len(back):
        line = layout.first_line + int(back[0]) + 1
        raise InputError(
            f"{path}: line {line}: the time is not after the one before it; is its unit {mapping.time.unit}?"
        )
    first_ns = int(rows.time_ns[0])
    wall_clock = mapping.time.unit == "iso" or _WALL_CLOCK_NS[0] <= first_ns < _WALL_CLOCK_NS[1]
    origin_ns = first_ns if wall_clock else None
    return Recorded(mapping, rows.time_ns - first_ns, rows.value, rows.first_time, origin_ns, rows.reasons, first_ns)


def read_rows(path: Path, layout: TraceLayout, mapping: Mapping, body: str) -> Rows:
    """The lines of body, whole ones, as far as there are any."""
    assert mapping.time is not None
    wanted = [mapping.time.name, *(column.name for column in mapping.roles.values())]
    cells = _cells(layout, body, [layout.header.index(name) for name in wanted], mapping.time.unit == "iso")
    time_ns, first_time = _times(path, layout, cells[0], mapping.time.unit or "s")
    values = {
        role: _numbers(column_cells) * SCALES[role][column.unit or ""]
        for (role, column), column_cells in zip(mapping.roles.items(), cells[1:], strict=True)
    }
    if mapping.voltage_v is not None:
        values[Role.VOLTAGE] = np.full(len(time_ns), mapping.voltage_v)
    value = reading(values)
    missing = np.flatnonzero(np.isnan(value))[:_REASONS_MAX].tolist()
    reasons = {i: f"line {layout.first_line + i}: no number" for i in missing}
    return Rows(time_ns, value, first_time, reasons)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UsageError(f"{path}: the trace cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: no text in UTF-8: {error.reason}") from error


def split(path: Path, text: str) -> tuple[TraceLayout, str]:
    """Header and body. Comments (#) and empty lines before the header are passed over; where numbers follow at once,
    the last comment with as many columns is the header. Raises UsageError.
    """
    number, comment_line, rest, comment = 0, 0, text, ""
    while rest:
        line, _, after = rest.partition("\n")
        number += 1
        if line.startswith("#"):
            comment_line, comment = number, line.lstrip("#")
        elif line.strip():
            header, delimiter = _split_line(comment)
            cells, _ = _split_line(line, delimiter)
            if len(header) == len(cells) > 1 and _are_numbers(cells, delimiter):
                return TraceLayout(header, delimiter, number, comment_line), rest
            cells, delimiter = _split_line(line)
            if _are_numbers(cells, delimiter):
                raise UsageError(
                    f"{path}:{number}: expected a header with the names of the {len(cells)} columns, got numbers"
                )
            return TraceLayout(cells, delimiter, number + 1, number), after
        rest = after
    header, delimiter = _split_line(comment)  # a file that grows may have no line of data yet
    if len(header) < 2:
        raise UsageError(f"{path}: the file is empty")
    return TraceLayout(header, delimiter, number + 1, comment_line), ""


def _split_line(line: str, delimiter: str | None = None) -> tuple[list[str], str]:
    delimiter = delimiter or max(_DELIMITERS, key=line.count)
    return [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter), [])], delimiter


def _are_numbers(cells: list[str], delimiter: str) -> bool:
    return all(_is_number(cell.replace(",", ".") if delimiter != "," else cell) for cell in cells if cell)


def first_cells(layout: TraceLayout, body: str) -> list[str]:
    """Returns the cells of the first line of data."""
    line = next((line for line in body[:_HEAD_MAX].splitlines() if line.strip()), "")
    return _split_line(line, layout.delimiter)[0]


_WITH_COMMA, _WITH_POINT = re.compile(r"\s*[+-]?\d+,\d"), re.compile(r"\s*[+-]?[\d,]*\.\d")


def _cells(layout: TraceLayout, body: str, places: list[int], text_time: bool) -> list[_Floats | list[str]]:
    """Column by column: numbers, or text where one of a column's cells is no number."""
    if not text_time:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # an empty file warns
                block = np.loadtxt(
                    io.StringIO(body), delimiter=layout.delimiter, usecols=places, ndmin=2, comments=None
                )
            return list(block.T)
        except (ValueError, UserWarning):
            pass
    rows = [row for row in csv.reader(io.StringIO(body), delimiter=layout.delimiter) if row]
    decimal_comma = layout.delimiter != ","
    columns: list[_Floats | list[str]] = []
    numbers = [row[place] for row in rows for place in places[text_time:] if place < len(row)]
    if decimal_comma and all(any(map(form.match, numbers)) for form in (_WITH_COMMA, _WITH_POINT)):
        raise UsageError("some numbers have a comma and some a point: the decimal separator is unknown")
    for place in places:
        cells = [row[place].strip() if place < len(row) else "" for row in rows]
        columns.append([cell.replace(",", ".") for cell in cells] if decimal_comma else cells)
    return columns


def _numbers(cells: _Floats | list[str]) -> _Floats:
    """Returns NaN for text that is no number, and for numbers that no recorder means."""
    if not isinstance(cells, list):
        return np.where(np.abs(cells) < _NUMBER_MAX, cells, np.nan)
    out = np.full(len(cells), np.nan)
    for i, cell in enumerate(cells):
        if _is_number(cell):
            out[i] = float(cell)
    return np.where(np.abs(out) < _NUMBER_MAX, out, np.nan)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _times(path: Path, layout: TraceLayout, cells: _Floats | list[str], unit: str) -> tuple[_Ints, str]:
    if not len(cells):
        return np.empty(0, np.int64), ""
    if unit == "iso":
        assert isinstance(cells, list), "ISO times are text"
        return np.array([_iso_ns(path, layout.first_line + i, cell) for i, cell in enumerate(cells)], np.int64), cells[
            0
        ]
    number = _numbers(cells)
    bad = np.flatnonzero(np.isnan(number))
    if len(bad):
        raise InputError(f"{path}: line {layout.first_line + int(bad[0])}: the time is no number")
    ns = number * (TIME_UNITS[unit] * 1e9)
    if len(far := np.flatnonzero(np.abs(ns) >= _NS_MAX)):
        line = layout.first_line + int(far[0])
        raise InputError(f"{path}: line {line}: the time is above 146 years; is its unit {unit}?")
    return np.rint(ns).astype(np.int64), f"{number[0]:.9g} {unit}"


def _iso_ns(path: Path, line: int, text: str) -> int:
    """ns since 1970; times without a zone are taken as UTC. Digits beyond the microsecond count."""
    try:
        head, _, fraction = text.partition(".")
        digits = fraction
        zone = ""
        for mark in ("Z", "+", "-"):
            if mark in fraction:
                digits, _, behind = fraction.partition(mark)
                zone = "+00:00" if mark == "Z" else mark + behind
        moment = datetime.fromisoformat(head.replace("Z", "+00:00") + zone)
        nanoseconds = int(f"{digits:0<9}"[:9]) if digits else 0
    except ValueError:
        raise InputError(f"{path}: line {line}: {text[:40]!r} is no time in ISO 8601") from None
    since = moment.replace(tzinfo=None) - datetime(1970, 1, 1) - (moment.utcoffset() or timedelta())
    since_ns = (since.days * 86_400 + since.seconds) * 1_000_000_000 + nanoseconds
    if abs(since_ns) >= _NS_MAX:
        raise InputError(f"{path}: line {line}: {text[:40]!r} is more than 146 years from 1970")
    return since_ns


def moment_ns(recorded: Recorded, text: str) -> int:
    """A moment of a trace in ns since its first reading: s since then, or a time in ISO 8601. Raises UsageError."""
    if _is_number(text):
        seconds = float(text)
        if not abs(seconds) * 1e9 < _NS_MAX:
            raise UsageError(f"{text!r}: expected s, at most 146 years, or a time in ISO 8601")
        return round(seconds * 1e9)
    if recorded.origin_ns is None:
        raise UsageError(f"{text!r}: the trace has no wall-clock times; give s since its first line")
    try:
        return _iso_ns(Path("TIME"), 1, text) - recorded.origin_ns
    except DataError:
        raise UsageError(f"{text!r} is neither a number of s nor a time in ISO 8601") from None
