"""A table without lines, whose columns share the width of the terminal. Words break only where nothing else fits."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Collection, Sequence

from rich.console import Console, JustifyMethod
from rich.table import Table
from rich.text import Text

GAP = 2
_PART_MAX = 40
_WORD = re.compile(r"\S+")
_PART = re.compile(r"[^\s._,/:=]*[._,/:=]+|[^\s._,/:=]+")
_HEADING_MAX = 12
_LEAST = 6
_TEXT_LEAST = 16  # narrower text is not read easily


def print_rows(
    out: Console,
    headings: Sequence[str],
    rows: Sequence[Sequence[str | Text]],
    numeric: Collection[int] = (),
    omissible: Sequence[int] = (),
) -> list[int]:
    """Prints a table and returns the omitted columns. No headings: rows alone.

    numeric: indices of columns with figures: on the right, never wrapped. omissible: indices of columns to omit where
    the width does not suffice, the first of them first.
    """
    texts = [[Text(cell) if isinstance(cell, str) else cell for cell in row] for row in rows]
    count = len(headings) or max(map(len, texts), default=0)
    columns = [[row[i] for row in texts] for i in range(count)]
    heads = [_heading(h, column) for h, column in zip(headings or [""] * count, columns, strict=True)]
    least = [
        _least(head, column, rigid=index in numeric)
        for index, (head, column) in enumerate(zip(heads, columns, strict=True))
    ]
    kept = list(range(count))
    for index in omissible:
        if _total([least[i] for i in kept]) > out.width:
            kept.remove(index)
    natural = [
        max(_longest_line(head), *(_longest_line(cell.plain) for cell in column))
        for head, column in zip(heads, columns, strict=True)
    ]
    widths = shared([natural[i] for i in kept], [least[i] for i in kept], out.width)
    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), show_header=bool(headings))
    for index, width in zip(kept, widths, strict=True):
        justify: JustifyMethod = "right" if index in numeric else "left"
        table.add_column(Text(heads[index]), justify=justify, width=width, overflow="fold", vertical="top")
    for row in texts:
        table.add_row(*(_divided(row[i], width) for i, width in zip(kept, widths, strict=True)))
    out.print(table)
    return [i for i in range(count) if i not in kept]


def shared(natural: Sequence[int], least: Sequence[int], width: int) -> list[int]:
    """Returns the columns' widths: natural if they fit, else the widest are reduced, and below `least` only where that
    is not enough.
    """
    widths = list(natural)
    for floor in (least, [_LEAST] * len(widths)):
        while _total(widths) > width:
            above = [i for i, own in enumerate(widths) if own > floor[i]]
            if not above:
                break
            widths[max(above, key=lambda i: widths[i])] -= 1
    return widths


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + GAP * (len(widths) - 1)


def _heading(heading: str, column: Sequence[Text]) -> str:
    """Wraps each line of a heading between words where it is wider than its column."""
    width = max([_HEADING_MAX, *(_longest_line(cell.plain) for cell in column)])
    lines = (textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False) for line in heading.split("\n"))
    return "\n".join(part for line in lines for part in line)


def _least(head: str, column: Sequence[Text], *, rigid: bool) -> int:
    if rigid:
        return max(_longest_line(head), *(_longest_line(cell.plain) for cell in column), 0)
    parts = (part for text in (head, *(cell.plain for cell in column)) for part in _PART.findall(text))
    natural = max(map(_longest_line, (head, *(cell.plain for cell in column))))
    return max([min(_TEXT_LEAST, natural), *(min(_PART_MAX, len(part)) for part in parts)])


def _divided(text: Text, width: int) -> Text:
    """Breaks words that are longer than the width at dots, commas and the like."""
    offsets = []
    for word in _WORD.finditer(text.plain):
        begin = word.start()
        if len(word[0]) > width:
            for part in _PART.finditer(text.plain, word.start(), word.end()):
                if part.end() - begin > width and part.start() > begin:
                    offsets.append(part.start())
                    begin = part.start()
    return Text("\n").join(text.divide(offsets)) if offsets else text


def _longest_line(text: str) -> int:
    return max((Text(line).cell_len for line in text.split("\n")), default=0)
