"""A table that terminal and page render: columns, and rows of cells that state a text's meaning, not its style."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

_TIGHT_MAX = 24


class CellRole(StrEnum):
    """What a piece of a cell is."""

    HOLE = "hole"  # stands where a value is missing
    SOFT = "soft"  # said beside the value
    STRONG = "strong"
    FLAG = "flag"
    NAME = "name"  # a level of the subject; value: its place in the order
    SHARE = "share"  # of a whole; value: 0 to 1
    DRAWING = "drawing"  # of characters
    BREAK = "break"  # a new line


@dataclass(frozen=True)
class CellMark:
    """A piece of a cell with a role. detail: the reason of a hole, or the text at length, for a page."""

    role: CellRole
    text: str = ""
    value: float = 0
    detail: str = ""


Cell = str | CellMark | tuple[str | CellMark, ...]
BREAK = CellMark(CellRole.BREAK)


def hole(text: str, detail: str = "") -> CellMark:
    """What stands where a value is missing."""
    return CellMark(CellRole.HOLE, text, detail=detail)


def soft(text: str, detail: str = "") -> CellMark:
    """A note beside a value."""
    return CellMark(CellRole.SOFT, text, detail=detail)


def strong(text: str) -> CellMark:
    """What to see first."""
    return CellMark(CellRole.STRONG, text)


def pieces(cell: Cell) -> tuple[str | CellMark, ...]:
    """The pieces of a cell."""
    return cell if isinstance(cell, tuple) else (cell,)


def plain(cell: Cell) -> str:
    """The text of a cell alone."""
    return "".join(piece if isinstance(piece, str) else piece.text for piece in pieces(cell))


@dataclass(frozen=True)
class Table:
    """A table: its columns' titles, which of them hold figures, and rows.

    For the terminal: seen, the rows to see first; optional, the columns that a narrow one may lack, the first to go
    first.
    """

    caption: str
    columns: tuple[str, ...]
    numeric: tuple[bool, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str | None = None
    seen: tuple[int, ...] = ()
    optional: tuple[int, ...] = ()

    def drawn(self, column: int) -> bool:
        """A column with drawings or shares."""
        drawings = (CellRole.DRAWING, CellRole.SHARE)
        return any(isinstance(p, CellMark) and p.role in drawings for row in self.rows for p in pieces(row[column]))

    def tight(self, column: int) -> bool:
        """A column of short words or figures, which no line break should tear."""
        return all(len(plain(row[column])) <= _TIGHT_MAX for row in self.rows)
