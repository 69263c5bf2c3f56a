"""Selects the complete rows of a table, converts columns to numbers, and gives equal levels one spelling."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal

import numpy as np

from edgejoule.errors import DataError
from edgejoule.stats.scale import FloatArray

Columns = Mapping[str, Sequence[object]]


_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,4})?\s*", re.ASCII)


def by_position(table: Columns, names: Iterable[str]) -> dict[str, Sequence[object]]:
    """Returns columns as lists: a data frame's column is indexed by its labels, which need not be 0 to n - 1."""
    return {name: list(table[name]) for name in names}


def with_equal_levels(columns: Columns, names: Iterable[str]) -> tuple[Columns, list[str]]:
    """Returns the columns with one spelling for levels that are equal numbers (1, 1.0, 01), and a note for each column
    in which there were several.
    """
    result, notes = dict(columns), []
    for name in names:
        result[name], merged = _with_equal_levels(columns[name])
        notes += [f"{name}: {' and '.join(spellings)} are the same number and one level" for spellings in merged]
    return result, notes


def _with_equal_levels(column: Sequence[object]) -> tuple[Sequence[object], list[list[str]]]:
    spellings: dict[Decimal, list[str]] = {}
    numbers = {text: Decimal(text.strip()) for text in {str(v) for v in column if _is_number(v)}}
    for text in dict.fromkeys(str(value) for value in column if _is_number(value)):
        spellings.setdefault(numbers[text], []).append(text)
    merged = {number: texts for number, texts in spellings.items() if len(texts) > 1}
    if not merged:
        return column, []
    chosen = {number: _plainest(number, texts) for number, texts in merged.items()}
    values = [chosen.get(numbers[str(v)], v) if _is_number(v) else v for v in column]
    return values, list(merged.values())


def _plainest(number: Decimal, texts: Sequence[str]) -> str:
    plain = f"{number.normalize():f}"
    return plain if plain in texts else texts[0]


def _is_number(value: object) -> bool:
    return not isinstance(value, bool) and _NUMBER.fullmatch(str(value)) is not None


def missing(value: object) -> bool:
    """Returns whether the value is None, NaN, or missing in a data frame (pandas' NA and NaT)."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating) and math.isnan(value)


def complete_rows(table: Columns, needed: Sequence[str]) -> tuple[list[int], list[str]]:
    """Returns the rows without a missing value in the columns `needed`, and a note if rows were dropped."""
    total = len(table[needed[0]])
    if len({len(table[name]) for name in needed}) > 1:
        raise DataError("the columns differ in length")
    rows = [row for row in range(total) if not any(missing(table[name][row]) for name in needed)]
    if len(rows) < 2:
        raise DataError(f"{needed[0]}: complete rows: {len(rows)} of {total}; at least two groups are needed")
    return rows, [f"{total - len(rows)} of {total} rows dropped: a value is missing"] if len(rows) < total else []


def as_numbers(column: Sequence[object], rows: Sequence[int], name: str) -> FloatArray:
    """Returns the column's values in these rows. Raises DataError with the row of a value that is no finite number."""
    return np.array([_number(column[row], name, row) for row in rows], dtype=np.float64)


def _number(value: object, name: str, row: int) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise DataError(f"{name}: row {row + 1}: expected a number, got {value!r}")
    if not math.isfinite(value):
        raise DataError(f"{name}: row {row + 1}: expected a finite number, got {value!r}")
    return float(value)
