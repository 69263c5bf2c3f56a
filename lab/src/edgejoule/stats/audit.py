"""What a printed table of variance implies: from each row's F and share of variation, the error's degrees of freedom.

F = (share / df) / (share of the error / df of the error), so df of the error = F x df x share of the error / share. All
rows of one table must imply the same, within what rounding leaves open; and a balanced design of known cells then tells
how many replications were analysed. Source: D. C. Montgomery, Design and Analysis of Experiments, 8th ed., eq. 5.16 ff.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path

from scipy import special

from edgejoule.errors import DataError, UsageError
from edgejoule.stats.table import read_table

ERROR_NAMES = frozenset({"error", "residual", "residuals", "erro"})
_SHARES_OFF = 0.05  # percent of the whole, beside what rounding explains


@dataclass(frozen=True)
class Printed:
    """A figure as printed: its value, and half a unit of its last digit."""

    value: float
    half: float

    @classmethod
    def of(cls, text: str, what: str) -> Printed:
        """From "23.15" or "9"; DataError for what is no number. Trailing zeros are digits."""
        try:
            number = Decimal(text.strip().removesuffix("%").strip())
        except InvalidOperation as error:
            raise DataError(f"{what}: expected a printed number such as 23.15, got {text!r}") from error
        exponent = number.as_tuple().exponent
        if not isinstance(exponent, int) or not number.is_finite():
            raise DataError(f"{what}: expected a finite number, got {text!r}")
        return cls(float(number), 0.5 * 10.0**exponent)

    def widened(self, half: float) -> Printed:
        """The same, at most as uncertain as figures of the column with more digits."""
        return Printed(self.value, min(self.half, half))


@dataclass(frozen=True)
class PrintedRow:
    """A source of variation as a paper prints it: df (known from the levels), share of variation in percent, F."""

    source: str
    df: int
    share: Printed
    f: Printed


@dataclass(frozen=True)
class PrintedTable:
    """One printed table; error_share in percent."""

    name: str
    rows: tuple[PrintedRow, ...]
    error_share: Printed


@dataclass(frozen=True)
class Implied:
    """What one row implies for the error's df: estimate and the range that rounding leaves; p of its F with it."""

    source: str
    df: int
    f: float
    estimate: float
    low: float
    high: float
    p: float


@dataclass(frozen=True)
class Audit:
    """What a table implies.

    low, high: whole numbers of error df with which all rows agree, None if there is none. replications: those of a
    balanced full factorial with these error df, for the range. expected_df: of the replications that the paper states.
    shares: the sum of all shares, in percent. findings: sentences without full stop; consistent: none speaks against
    the table.
    """

    name: str
    rows: tuple[Implied, ...]
    low: int | None
    high: int | None
    cells: int | None
    replications: tuple[float, float] | None
    stated: int | None
    expected_df: int | None
    shares: float
    consistent: bool
    findings: tuple[str, ...]

    def to_json(self) -> dict[str, object]:
        """All fields."""
        return {
            "table": self.name,
            "rows": [
                {
                    "source": r.source,
                    "df": r.df,
                    "F": r.f,
                    "error_df": r.estimate,
                    "low": r.low,
                    "high": r.high,
                    "p": r.p,
                }
                for r in self.rows
            ],
            "error_df": None if self.low is None else [self.low, self.high],
            "cells": self.cells,
            "replications": self.replications and list(self.replications),
            "replications_stated": self.stated,
            "error_df_expected": self.expected_df,
            "shares_percent": self.shares,
            "consistent": self.consistent,
            "findings": list(self.findings),
        }


def audit(table: PrintedTable, *, cells: int | None = None, replications: int | None = None) -> Audit:
    """What the table implies; cells: of the full factorial, for the replications; replications: as the paper states.

    DataError for a share or F that is not positive.
    """
    implied = tuple(_implied(row, table.error_share, table.name) for row in table.rows)
    low = math.ceil(max(row.low for row in implied) - 1e-9)
    high = math.floor(min(row.high for row in implied) + 1e-9)
    agree = low <= high
    expected = cells * (replications - 1) if cells and replications else None
    shares = sum(row.share.value for row in table.rows) + table.error_share.value
    slack = sum(row.share.half for row in table.rows) + table.error_share.half + _SHARES_OFF
    whole = abs(shares - 100) <= slack
    runs = (low / cells + 1, high / cells + 1) if cells and agree else None
    findings = [_agreement(implied, low, high)]
    if runs and cells:
        findings.append(_replications(runs, low, high, cells, replications, expected))
    if not whole:
        why = "a source of variation is not printed" if shares < 100 else "at least one of them is misprinted"
        findings.append(f"the shares add up to {shares:.2f} %, not to 100: {why}")
    return Audit(
        name=table.name,
        rows=implied,
        low=low if agree else None,
        high=high if agree else None,
        cells=cells,
        replications=runs,
        stated=replications,
        expected_df=expected,
        shares=shares,
        consistent=agree and whole and (expected is None or low <= expected <= high),
        findings=tuple(findings),
    )


def _implied(row: PrintedRow, error: Printed, name: str) -> Implied:
    if row.df < 1 or min(row.share.value, row.f.value, error.value) <= 0:
        raise DataError(f"{name}: {row.source}: df, share of variation, F and the error's share must be above 0")

    def df(f: float, share: float, rest: float) -> float:
        return f * row.df * rest / share if share > 0 else math.inf

    estimate = df(row.f.value, row.share.value, error.value)
    low = df(row.f.value - row.f.half, row.share.value + row.share.half, error.value - error.half)
    high = df(row.f.value + row.f.half, row.share.value - row.share.half, error.value + error.half)
    p = float(special.fdtrc(row.df, max(estimate, 1.0), row.f.value))
    return Implied(row.source, row.df, row.f.value, estimate, low, high, p)


def _agreement(implied: Sequence[Implied], low: int, high: int) -> str:
    if low > high:
        rows = ", ".join(f"{row.source} {row.estimate:.1f} [{row.low:.1f}, {row.high:.1f}]" for row in implied)
        return f"the rows disagree on the error's degrees of freedom: {rows}; a figure or a df is not what was analysed"
    span = f"{low}" if low == high else f"{low} to {high}"
    return f"all {len(implied)} rows agree on {span} error degrees of freedom"


def _replications(
    runs: tuple[float, float], low: int, high: int, cells: int, stated: int | None, expected: int | None
) -> str:
    whole = range(math.ceil(runs[0] - 1e-9), math.floor(runs[1] + 1e-9) + 1)
    total = f"{low + cells}" if low == high else f"{low + cells} to {high + cells}"
    text = f"with {cells} cells these are {total} runs"
    if whole:
        text += f", {whole[0]} of each cell" if len(whole) == 1 else f", {whole[0]} to {whole[-1]} of each cell"
    else:
        text += f", {runs[0]:.2f} to {runs[1]:.2f} a cell: the analysed data were not balanced"
    if expected is None:
        return text
    if low <= expected <= high:
        return f"{text}, as stated"
    return f"{text}; the {stated} that are stated leave {expected} error degrees of freedom: {expected + cells} runs"


def read_printed(path: Path, levels: Sequence[int] | None = None) -> tuple[PrintedTable, ...]:
    """Tables from a CSV with the columns source, share, F, and df or `levels`; `table` where there are several.

    A row whose source is Error or Residual carries the error's share. Without df a source's df follows from the
    factors' levels, in the order of the single factors: an interaction is written A*B or A:B.
    """
    found = read_table(path)
    for name in ("source", "share", "F"):
        if name not in found.columns:
            raise UsageError(f"{path}: no column {name!r}: expected source, share, F, and df or --levels")
    names = found.columns.get("table", ("",) * len(found.lines))
    tables = []
    for name in dict.fromkeys(names):
        at = [i for i, other in enumerate(names) if other == name]
        rows = [{column: values[i] for column, values in found.columns.items()} for i in at]
        tables.append(printed_table(name or path.name, rows, levels))
    return tuple(tables)


def printed_table(name: str, rows: Sequence[dict[str, str]], levels: Sequence[int] | None = None) -> PrintedTable:
    """A table from rows of text, each with source, share, F, and df unless `levels` tells it."""
    errors = [row for row in rows if row["source"].lower() in ERROR_NAMES]
    sources = [row for row in rows if row["source"].lower() not in ERROR_NAMES]
    if len(errors) != 1 or not sources:
        raise DataError(f"{name}: expected one row named Error or Residual and a source above it, got {len(errors)}")
    factors = [row["source"] for row in sources if len(_parts(row["source"])) == 1]
    if levels is not None and len(levels) != len(factors):
        raise UsageError(f"{name}: {len(levels)} levels for {len(factors)} single factors: {', '.join(factors)}")
    known = dict(zip(factors, levels, strict=True)) if levels else {}
    shares = [Printed.of(row["share"], f"{name}: {row['source']}: share") for row in rows]
    finest = min(share.half for share in shares)
    by_source = {row["source"]: share.widened(finest) for row, share in zip(rows, shares, strict=True)}
    return PrintedTable(
        name,
        tuple(
            PrintedRow(
                row["source"],
                _df(row, known, name),
                by_source[row["source"]],
                Printed.of(row["F"], f"{name}: {row['source']}: F"),
            )
            for row in sources
        ),
        by_source[errors[0]["source"]],
    )


def _parts(source: str) -> list[str]:
    for mark in ("*", ":", "×"):
        source = source.replace(mark, "\0")
    return [part.strip() for part in source.split("\0")]


def _df(row: dict[str, str], known: dict[str, int], name: str) -> int:
    text = row.get("df", "")
    if text:
        if not text.isdigit() or int(text) < 1:
            raise DataError(f"{name}: {row['source']}: df: expected a whole number above 0, got {text!r}")
        return int(text)
    unknown = [part for part in _parts(row["source"]) if part not in known]
    if unknown:
        raise UsageError(
            f"{name}: {row['source']}: no df, and no levels known of {unknown[0]}; add a column df or --levels"
        )
    return math.prod(known[part] - 1 for part in _parts(row["source"]))
