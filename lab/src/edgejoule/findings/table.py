"""A table that terminal and page render: columns, and rows of cells that state a text's meaning, not its style."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

_TIGHT_MAX = 24


class CellRole(StrEnum):
    """The role of a piece of a cell."""

    HOLE = "hole"  # in place of a missing value
    SOFT = "soft"  # a remark beside the value
    STRONG = "strong"
    FLAG = "flag"
    NAME = "name"  # a level of the subject; value: its index
    SHARE = "share"  # value: 0 to 1
    DRAWING = "drawing"  # made of characters
    BREAK = "break"  # a new line


@dataclass(frozen=True)
class CellMark:
    """A piece of a cell with a role. detail: a hole's reason or a longer text, for HTML."""

    role: CellRole
    text: str = ""
    value: float = 0
    detail: str = ""


Cell = str | CellMark | tuple[str | CellMark, ...]
BREAK = CellMark(CellRole.BREAK)


def hole(text: str, detail: str = "") -> CellMark:
    """Returns the mark for a missing value."""
    return CellMark(CellRole.HOLE, text, detail=detail)


def soft(text: str, detail: str = "") -> CellMark:
    """A note beside a value."""
    return CellMark(CellRole.SOFT, text, detail=detail)


def strong(text: str) -> CellMark:
    """Returns emphasised text."""
    return CellMark(CellRole.STRONG, text)


def pieces(cell: Cell) -> tuple[str | CellMark, ...]:
    """Returns the pieces of a cell."""
    return cell if isinstance(cell, tuple) else (cell,)


def plain(cell: Cell) -> str:
    """Returns the text of a cell without roles."""
    return "".join(piece if isinstance(piece, str) else piece.text for piece in pieces(cell))


@dataclass(frozen=True)
class Table:
    """A table. numeric: whether each column has figures. seen: indices of rows to emphasise in the terminal. optional:
    indices of columns that a narrow terminal omits, in this order.
    """

    caption: str
    columns: tuple[str, ...]
    numeric: tuple[bool, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str | None = None
    seen: tuple[int, ...] = ()
    optional: tuple[int, ...] = ()

    def drawn(self, column: int) -> bool:
        """Returns whether a column has drawings or shares."""
        drawings = (CellRole.DRAWING, CellRole.SHARE)
        return any(isinstance(p, CellMark) and p.role in drawings for row in self.rows for p in pieces(row[column]))

    def tight(self, column: int) -> bool:
        """Returns whether a column has only short texts, which must not wrap."""
        return all(len(plain(row[column])) <= _TIGHT_MAX for row in self.rows)
