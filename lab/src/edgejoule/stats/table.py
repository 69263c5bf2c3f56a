"""Reads CSV files: UTF-8, a header, one observation per line; fields separated by comma, semicolon or tab.

Decimals have a point; in files with semicolons or tabs they may have a comma.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from edgejoule.dictionary.responses import nearest
from edgejoule.errors import InputError, UsageError

_NO_NUMBER = frozenset({"", "na", "n/a", "nan", "null", "none"})
_NO_LEVEL = frozenset({"", "NA"})


@dataclass(frozen=True)
class CsvTable:
    """The columns of a CSV file as text. lines[i]: the line of the file on which row i ends, from 1.

    decimal_comma: numbers may have one, because the fields are separated by another sign.
    """

    path: Path
    columns: dict[str, tuple[str, ...]]
    lines: tuple[int, ...]
    decimal_comma: bool = False

    def numbers(self, column: str) -> list[float | None]:
        """Returns a column of numbers; None for an empty cell, NA, NaN or null. InputError names line and column.

        Decimal commas are read where no number of the column has a point.
        """
        texts = self._column(column)
        commas = self.decimal_comma and not any("." in text for text in texts)
        pairs = zip(texts, self.lines, strict=True)
        return [self._number(text.replace(",", ".") if commas else text, column, line) for text, line in pairs]

    def levels(self, column: str) -> list[str | None]:
        """Returns a column of levels; None for an empty cell or NA."""
        return [None if text in _NO_LEVEL else text for text in self._column(column)]

    def _column(self, name: str) -> tuple[str, ...]:
        if name not in self.columns:
            raise UsageError(f"{self.path}: no column {name!r}; {nearest(name, self.columns)}")
        return self.columns[name]

    def _number(self, text: str, column: str, line: int) -> float | None:
        if text.lower() in _NO_NUMBER:
            return None
        try:
            # float() accepts 1_000, which is no number in a table.
            value = float(text) if "_" not in text else math.nan
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            mixed = "all decimals of the column with a point, or all with a comma"
            hint = f" (write {mixed if self.decimal_comma else 'decimals with a point'})" if "," in text else ""
            raise InputError(f"{self.path}:{line}: column {column!r}: expected a number, got {text!r}{hint}")
        return value


def read_table(path: Path) -> CsvTable:
    """Reads the table. InputError names the file and, if it applies, the line."""
    text = _decoded(path)
    delimiter = max(",;\t", key=text.partition("\n")[0].count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        header, *rows = [(reader.line_num, [cell.strip() for cell in row]) for row in reader] or [(1, [])]
    except csv.Error as error:
        raise InputError(f"{path}:{reader.line_num}: not a CSV file: {error}") from error
    return _table(path, header[1], [(line, row) for line, row in rows if any(row)], decimal_comma=delimiter != ",")


@dataclass(frozen=True)
class _Joined(CsvTable):
    """Several tables, row by row; each reads its own numbers. A column that a table lacks is empty there."""

    parts: tuple[CsvTable, ...] = ()

    def numbers(self, column: str) -> list[float | None]:
        """See CsvTable."""
        self._column(column)
        return [
            value
            for part in self.parts
            for value in (part.numbers(column) if column in part.columns else [None] * len(part.lines))
        ]


def join(tables: Sequence[CsvTable], last_from: str) -> CsvTable:
    """Returns the rows of all tables under all their columns; those from column `last_from` on stay the last ones."""
    if len(tables) == 1:
        return tables[0]
    split = [_split_at(list(table.columns), last_from) for table in tables]
    names = dict.fromkeys([name for first, _ in split for name in first] + [name for _, last in split for name in last])
    columns = {
        name: tuple(cell for table in tables for cell in table.columns.get(name, ("",) * len(table.lines)))
        for name in names
    }
    lines = tuple(line for table in tables for line in table.lines)
    return _Joined(Path(" + ".join(str(table.path) for table in tables)), columns, lines, parts=tuple(tables))


def _split_at(names: list[str], name: str) -> tuple[list[str], list[str]]:
    at = names.index(name) if name in names else len(names)
    return names[:at], names[at:]


def _decoded(path: Path) -> str:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"{path}:{line}: not UTF-8 text (byte 0x{data[error.start]:02x})") from error
    if "\0" in text:
        raise InputError(f"{path}:{text.count(chr(10), 0, text.index(chr(0))) + 1}: a zero byte: not a text file")
    return text


def _table(path: Path, header: list[str], rows: list[tuple[int, list[str]]], *, decimal_comma: bool) -> CsvTable:
    if not any(header):
        raise InputError(f"{path}:1: expected a header line with the names of the columns")
    repeated = sorted({name for name in header if header.count(name) > 1})
    if repeated:
        raise InputError(f"{path}:1: the header names {repeated[0]!r} twice")
    if not rows:
        raise InputError(f"{path}: a header but no data")
    for line, row in rows:
        if len(row) != len(header):
            raise InputError(
                f"{path}:{line}: {len(row)} fields where the header has {len(header)}; if this file has several "
                "tables, give each as a file of its own"
            )
    columns = {name: tuple(row[index] for _, row in rows) for index, name in enumerate(header)}
    return CsvTable(path, columns, tuple(line for line, _ in rows), decimal_comma)
