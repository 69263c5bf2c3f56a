"""A table on the terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import replace

from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from edgejoule.cli.layout import fits, print_records, print_rows, print_wrapped
from edgejoule.findings.table import Cell, CellMark, CellRole, Table, pieces, plain
from edgejoule.findings.text import listed

_STYLES = {
    CellRole.HOLE: "red",
    CellRole.SOFT: "dim",
    CellRole.STRONG: "bold",
    CellRole.FLAG: "yellow",
    CellRole.NAME: "bold",
}
_BAR_WIDTH = 12
_BARS_FROM = 60  # columns; a narrower terminal has no bars
_HEADING_MIN = 7
_WORD_MAX = 24
_PADDING = 2


def print_table(out: Console, table: Table) -> None:
    """Prints caption, rows and note. Never breaks a figure; a narrow terminal omits the table's optional columns."""
    if out.width < _BARS_FROM:
        table = replace(table, rows=tuple(tuple(_without_bar(cell) for cell in row) for row in table.rows))
    print_wrapped(out, table.caption, style="bold")
    kept = _fitting(table, out.width)
    if _total(table, kept) > out.width:
        undrawn = [i for i in range(len(table.columns)) if not table.drawn(i)]
        rows = [[cell_text(row[i]) for i in undrawn] for row in table.rows]
        print_records(out, [table.columns[i] for i in undrawn], rows)
    else:
        _print_columns(out, table, kept)
        print_omitted(out, [heading for index, heading in enumerate(table.columns) if index not in kept])
    if table.note:
        print_wrapped(out, table.note, style="dim")
    out.print()


def _print_columns(out: Console, table: Table, kept: Sequence[int]) -> None:
    narrow = sum(_natural(table, index) for index in kept) > out.width
    shown = RichTable(
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        show_edge=False,
        collapse_padding=True,
    )
    for index in kept:
        heading, rigid = table.columns[index], _rigid(table, index)
        if narrow:
            heading = "\n".join(_heading_lines(table, index))
        right = table.numeric[index] and not table.drawn(index)
        least = None if rigid else _longest_word(table, index)
        shown.add_column(
            Text(heading), justify="right" if right else "left", no_wrap=rigid, overflow="fold", min_width=least
        )
    for number, row in enumerate(table.rows):
        shown.add_row(*(cell_text(row[i]) for i in kept), style="bold" if number in table.seen else None)
    out.print(shown)


def print_omitted(out: Console, headings: Sequence[str]) -> None:
    """Names the columns that are left out because the terminal is narrow."""
    if names := [heading.partition("\n")[0] for heading in headings if heading]:
        text = "; ".join(names) if any("," in name for name in names) else listed(names)
        print_wrapped(out, f"Not shown at {out.width} columns: {text}.", style="dim")


def is_narrow(out: Console, table: Table) -> bool:
    """Returns whether print_bare would wrap or omit something."""
    return not fits(out, table.columns, [[cell_text(cell) for cell in row] for row in table.rows])


def print_bare(out: Console, table: Table) -> list[str]:
    """Prints headings and rows alone, without lines: a list. Returns the headings that a narrow terminal omits."""
    rows = [[cell_text(cell) for cell in row] for row in table.rows]
    numeric = [index for index, figures in enumerate(table.numeric) if figures]
    return [table.columns[index] for index in print_rows(out, table.columns, rows, numeric, table.optional)]


def cell_text(cell: Cell) -> Text:
    """Returns a cell with its styles."""
    return Text.assemble(*(piece if isinstance(piece, str) else _mark(piece) for piece in pieces(cell)))


def _fitting(table: Table, width: int) -> list[int]:
    """Returns the columns that fit: drops optional ones, the first of them first."""
    kept = list(range(len(table.columns)))
    for index in table.optional:
        if _total(table, kept) > width:
            kept.remove(index)
    return kept


def _total(table: Table, kept: Sequence[int]) -> int:
    return sum(_least(table, i) for i in kept)  # rich counts the padding behind the last column too


def _without_bar(cell: Cell) -> Cell:
    return cell.text if isinstance(cell, CellMark) and cell.role is CellRole.SHARE else cell


def _width(table: Table, index: int) -> int:
    return max((cell_text(row[index]).cell_len for row in table.rows), default=0)


def _natural(table: Table, index: int) -> int:
    return max(_width(table, index), len(table.columns[index])) + _PADDING


def _rigid(table: Table, index: int) -> bool:
    return table.numeric[index] or table.drawn(index)


def _longest_word(table: Table, index: int) -> int:
    """Returns the length of the longest word of a column. An indented text counts as one word."""
    texts = [plain(row[index]) for row in table.rows] + [table.columns[index]]
    words = [len(text) if text.startswith(" ") else max(map(len, text.split() or [""])) for text in texts]
    return min(_WORD_MAX, max(words))


def _least(table: Table, index: int) -> int:
    own = _width(table, index) if _rigid(table, index) else _longest_word(table, index)
    return max(own, *map(len, _heading_lines(table, index))) + _PADDING


def _heading_lines(table: Table, index: int) -> list[str]:
    own = _width(table, index) if _rigid(table, index) else _longest_word(table, index)
    return textwrap.wrap(table.columns[index], max(_HEADING_MIN, own), break_long_words=False) or [""]


def _mark(mark: CellMark) -> Text:
    if mark.role is CellRole.BREAK:
        return Text("\n")
    if mark.role is CellRole.SHARE:
        return Text.assemble(f"{mark.text:>7} ", (f"{_bar(mark.value):{_BAR_WIDTH}}", "cyan"))
    return Text(mark.text, style=_STYLES.get(mark.role, ""))


def _bar(share: float) -> str:
    eighths = round(max(0.0, min(share, 1.0)) * _BAR_WIDTH * 8)
    return "█" * (eighths // 8) + (" ▏▎▍▌▋▊▉"[eighths % 8] if eighths % 8 else "")
