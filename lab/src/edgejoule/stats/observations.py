"""Selects the complete rows of a table and converts columns to numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from edgejoule.errors import DataError
from edgejoule.stats.scale import FloatArray

Columns = Mapping[str, Sequence[object]]


def missing(value: object) -> bool:
    """Returns whether the value is None or NaN."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def complete_rows(table: Columns, needed: Sequence[str]) -> tuple[list[int], list[str]]:
    """Returns the rows without a missing value in the columns `needed`, and a note if rows were dropped."""
    total = len(table[needed[0]])
    if len({len(table[name]) for name in needed}) > 1:
        raise DataError("the columns differ in length")
    rows = [row for row in range(total) if not any(missing(table[name][row]) for name in needed)]
    if len(rows) < 2:
        raise DataError(f"{needed[0]}: {len(rows)} complete rows of {total}; at least two groups are needed")
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
