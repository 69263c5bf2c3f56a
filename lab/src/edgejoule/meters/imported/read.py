"""A CSV file as arrays. Numbers are read at the speed of C where every cell is one; else cell by cell, and a cell that
is no number is a missing reading with its line.
"""

from __future__ import annotations

import csv
import io
import warnings
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from edgejoule.errors import DataError, UsageError
from edgejoule.meters.imported.columns import SCALES, TIME_UNITS, Mapping, guess
from edgejoule.meters.quantities import Role, reading

_DELIMITERS = (",", ";", "\t")
_REASONS_MAX = 1000

_Ints = NDArray[np.int64]
_Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Recorded:
    """t_ns: (n,) ns since the first reading. value: (n,) W or J, NaN where a reading is missing; reasons: index -> why.
    origin: the first time as the file has it, for people. origin_ns: since 1970, of wall-clock times, else None.
    """

    mapping: Mapping
    t_ns: _Ints
    value: _Floats
    origin: str
    origin_ns: int | None = None
    reasons: dict[int, str] = field(default_factory=dict)

    @property
    def is_energy(self) -> bool:
        """A running total."""
        return self.mapping.energy is not None


@dataclass(frozen=True)
class _Table:
    header: list[str]
    delimiter: str
    body: str
    first_line: int  # of the body, counted from 1


def read_csv(path: Path, told: Mapping | None = None) -> Recorded:
    """Read a trace. told: columns and units that are named; the rest is taken from the header.

    Raises UsageError (file, columns, units) and DataError (times that are none or do not increase), with the line.
    """
    table = _split(path, _text(path))
    mapping = guess(table.header, told or Mapping())
    assert mapping.time is not None
    wanted = [mapping.time.name, *(column.name for column in mapping.roles.values())]
    cells = _cells(path, table, [table.header.index(name) for name in wanted], mapping.time.unit == "iso")
    time_ns, origin, origin_ns = _times(path, table, cells[0], mapping.time.unit or "s")
    values = {
        role: _numbers(column_cells) * SCALES[role][column.unit or ""]
        for (role, column), column_cells in zip(mapping.roles.items(), cells[1:], strict=True)
    }
    if mapping.voltage_v is not None:
        values[Role.VOLTAGE] = np.full(len(time_ns), mapping.voltage_v)
    value = reading(values)
    missing = np.flatnonzero(np.isnan(value))[:_REASONS_MAX].tolist()
    reasons = {i: f"line {table.first_line + i}: no number" for i in missing}
    return Recorded(mapping, time_ns, value, origin, origin_ns, reasons)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UsageError(f"{path}: the trace cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: no text in UTF-8: {error.reason}") from error


def _split(path: Path, text: str) -> _Table:
    """Header and body. Comments (#) and empty lines before the header are passed over."""
    skipped = 0
    rest = text
    while rest:
        line, _, after = rest.partition("\n")
        skipped += 1
        if line.strip() and not line.startswith("#"):
            delimiter = max(_DELIMITERS, key=line.count)
            header = [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter))]
            if all(_is_number(cell) for cell in header if cell):
                raise UsageError(f"{path}: the first line has numbers only; a header with the columns' names is needed")
            return _Table(header, delimiter, after, skipped + 1)
        rest = after
    raise UsageError(f"{path}: the file is empty")


def _cells(path: Path, table: _Table, places: list[int], text_time: bool) -> list[_Floats | list[str]]:
    """Column by column: numbers, or text where one of a column's cells is none."""
    if not text_time:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # an empty file warns
                block = np.loadtxt(
                    io.StringIO(table.body), delimiter=table.delimiter, usecols=places, ndmin=2, comments=None
                )
            return list(block.T)
        except (ValueError, UserWarning):
            pass
    rows = [row for row in csv.reader(io.StringIO(table.body), delimiter=table.delimiter) if row]
    if len(rows) < 2:
        raise DataError(f"{path}: {len(rows)} lines with readings, a trace has more")
    decimal_comma = table.delimiter != ","
    columns: list[_Floats | list[str]] = []
    for place in places:
        cells = [row[place].strip() if place < len(row) else "" for row in rows]
        columns.append([cell.replace(",", ".") for cell in cells] if decimal_comma else cells)
    return columns


def _numbers(cells: _Floats | list[str]) -> _Floats:
    """NaN for what is no finite number."""
    if not isinstance(cells, list):
        return np.where(np.isfinite(cells), cells, np.nan)
    out = np.full(len(cells), np.nan)
    for i, cell in enumerate(cells):
        if _is_number(cell):
            out[i] = float(cell)
    return np.where(np.isfinite(out), out, np.nan)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _times(path: Path, table: _Table, cells: _Floats | list[str], unit: str) -> tuple[_Ints, str, int | None]:
    origin_ns: int | None
    if unit == "iso":
        assert isinstance(cells, list), "ISO times are text"
        absolute = np.array([_iso_ns(path, table.first_line + i, cell) for i, cell in enumerate(cells)], np.int64)
        origin, origin_ns = cells[0], int(absolute[0])
        time_ns = absolute - absolute[0]
    else:
        number = _numbers(cells)
        bad = np.flatnonzero(np.isnan(number))
        if len(bad):
            raise DataError(f"{path}: line {table.first_line + int(bad[0])}: the time is no number")
        origin, origin_ns = f"{number[0]:.9g} {unit}", _since_1970_ns(float(number[0]), unit)
        time_ns = np.rint((number - number[0]) * (TIME_UNITS[unit] * 1e9)).astype(np.int64)
    if len(time_ns) < 2:
        raise DataError(f"{path}: {len(time_ns)} lines with readings, a trace has more")
    back = np.flatnonzero(np.diff(time_ns) <= 0)
    if len(back):
        line = table.first_line + int(back[0]) + 1
        raise DataError(f"{path}: line {line}: the time is not after the one before it; is its unit {unit}?")
    return time_ns, origin, origin_ns


def _since_1970_ns(first: float, unit: str) -> int | None:
    """Of numbers that can only be wall-clock times (2001 to 2100)."""
    seconds = first * TIME_UNITS[unit]
    return round(seconds * 1e9) if 1e9 <= seconds < 4.1e9 else None


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
        raise DataError(f"{path}: line {line}: {text[:40]!r} is no time in ISO 8601") from None
    whole = moment.replace(tzinfo=None) - (moment.utcoffset() or datetime.min - datetime.min)
    since = whole - datetime(1970, 1, 1)
    return (since.days * 86_400 + since.seconds) * 1_000_000_000 + nanoseconds


def moment_ns(recorded: Recorded, text: str) -> int:
    """A moment of a trace in ns since its first reading: s since then, or a time in ISO 8601. Raises UsageError."""
    if _is_number(text):
        return round(float(text) * 1e9)
    if recorded.origin_ns is None:
        raise UsageError(f"{text!r}: the trace has no wall-clock times; give s since its first line")
    try:
        return _iso_ns(Path("TIME"), 1, text) - recorded.origin_ns
    except DataError:
        raise UsageError(f"{text!r} is neither a number of s nor a time in ISO 8601") from None
