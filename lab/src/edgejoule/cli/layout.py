"""A table without lines, whose columns share the width of the terminal. Words break only where nothing else fits."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Collection, Iterator, Sequence

from rich.console import Console, JustifyMethod
from rich.table import Table
from rich.text import Text

GAP = 2
_PART_MAX = 40
_WORD = re.compile(r"\S+")
_PART = re.compile(r"[^\s._,/:=]*[._,/:=]+|[^\s._,/:=]+")
_SHORT_PART = re.compile(r"[^\s._,/:=-]*[._,/:=-]+|[^\s._,/:=-]+")  # hyphens divide too
_HEADING_MAX = 12
_HEADING_LEAST = 7  # where columns do not fit otherwise
_LEAST = 6
_TEXT_LEAST = 16  # narrower text is not read easily


def print_rows(
    out: Console,
    headings: Sequence[str],
    rows: Sequence[Sequence[str | Text]],
    numeric: Collection[int] = (),
    omissible: Sequence[int] = (),
) -> list[int]:
    """Prints a table and returns the omitted columns. No headings: rows alone. Rows that would break names are printed
    as records.

    numeric: indices of columns with figures: on the right, never wrapped. omissible: indices of columns to omit where
    the width does not suffice, the first of them first.
    """
    texts = [[Text(cell) if isinstance(cell, str) else cell for cell in row] for row in rows]
    count = len(headings) or max(map(len, texts), default=0)
    columns = [[row[i] for row in texts] for i in range(count)]
    for heading_max in (_HEADING_MAX, _HEADING_LEAST):
        heads = [_heading(h, c, heading_max) for h, c in zip(headings or [""] * count, columns, strict=True)]
        least = [
            _least(head, column, rigid=index in numeric)
            for index, (head, column) in enumerate(zip(heads, columns, strict=True))
        ]
        kept = _kept(least, omissible, out.width)
        if _total([least[i] for i in kept]) <= out.width:
            break
    natural = [
        max(_longest_line(head), *(_longest_line(cell.plain) for cell in column))
        for head, column in zip(heads, columns, strict=True)
    ]
    parts = [
        least[i] if i in numeric else _longest_part(head, column)
        for i, (head, column) in enumerate(zip(heads, columns, strict=True))
    ]
    if headings and _total([parts[i] for i in kept]) > out.width:
        print_records(out, headings, texts)
        return []
    floors = [[floor[i] for i in kept] for floor in (least, parts)]
    widths = shared([natural[i] for i in kept], floors, out.width)
    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), show_header=bool(headings))
    for index, width in zip(kept, widths, strict=True):
        justify: JustifyMethod = "right" if index in numeric else "left"
        table.add_column(Text(heads[index]), justify=justify, width=width, overflow="fold", vertical="top")
    for row in texts:
        table.add_row(*(_divided(row[i], width) for i, width in zip(kept, widths, strict=True)))
    out.print(table)
    return [i for i in range(count) if i not in kept]


def print_records(out: Console, headings: Sequence[str], rows: Sequence[Sequence[Text]]) -> None:
    """Prints each row as a text, for a terminal that is too narrow for a table: run 1; database sqlite; ops/s 9,358."""
    names = [" ".join(heading.split()) for heading in headings]
    for row in rows:
        cells = [
            f"{name} {cell.plain.strip()}".strip() for name, cell in zip(names, row, strict=True) if cell.plain.strip()
        ]
        print_wrapped(out, "; ".join(cells), indent=2)


def fits(out: Console, headings: Sequence[str], rows: Sequence[Sequence[Text]]) -> bool:
    """Returns whether a table fits with each row on one line."""
    columns = list(zip(*rows, strict=True))
    heads = [_heading(h, column) for h, column in zip(headings, columns, strict=True)]
    widths = [
        max(_longest_line(head), *(_longest_line(cell.plain) for cell in column))
        for head, column in zip(heads, columns, strict=True)
    ]
    return _total(widths) <= out.width


def print_wrapped(out: Console, text: str, lead: str = "", indent: int | None = None, style: str = "") -> None:
    """Prints a text behind its lead. The other lines are indented, by default as far as the lead is long. A word breaks
    only if it is wider than a line, and a path then at its slashes.
    """
    if "\n" not in text and len(lead) + len(text) <= out.width:
        out.print(Text(lead + text, style=style))
        return
    indent = len(lead) if indent is None else indent
    lines: list[str] = []
    line, room = lead, out.width - indent
    for word in text.split():
        for number, piece in enumerate(_pieces(word, room)):
            begins = line in ("", lead)
            joint = " " if number == 0 and not begins else ""
            if not begins and len(line) + len(joint) + len(piece) > (room if lines else out.width):
                lines.append(line)
                line, joint = "", ""
            line += joint + piece
    out.print(Text(f"\n{' ' * indent}".join([*lines, line]), style=style))


def _pieces(word: str, width: int) -> list[str]:
    """Returns a word in pieces of at most that width."""
    pieces = _divided(Text(word), width).plain.split("\n")
    return [piece[i : i + width] for piece in pieces for i in range(0, len(piece), width)]


def shared(natural: Sequence[int], floors: Sequence[Sequence[int]], width: int) -> list[int]:
    """Returns the columns' widths: natural if they fit, else the widest are reduced to their floors. The next floor
    counts only where the one before does not suffice.
    """
    widths = list(natural)
    for floor in (*floors, [_LEAST] * len(widths)):
        while _total(widths) > width:
            above = [i for i, own in enumerate(widths) if own > floor[i]]
            if not above:
                break
            widths[max(above, key=lambda i: widths[i])] -= 1
    return widths


def _kept(least: Sequence[int], omissible: Sequence[int], width: int) -> list[int]:
    kept = list(range(len(least)))
    for index in omissible:
        if _total([least[i] for i in kept]) > width:
            kept.remove(index)
    return kept


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + GAP * (len(widths) - 1)


def _heading(heading: str, column: Sequence[Text], width_max: int = _HEADING_MAX) -> str:
    """Wraps each line of a heading between words where it is wider than its column."""
    width = max([width_max, *(_longest_line(cell.plain) for cell in column)])
    lines = (textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False) for line in heading.split("\n"))
    return "\n".join(part for line in lines for part in line)


def _least(head: str, column: Sequence[Text], *, rigid: bool) -> int:
    if rigid:
        return max(_longest_line(head), *(_longest_line(cell.plain) for cell in column), 0)
    natural = max(map(_longest_line, (head, *(cell.plain for cell in column))))
    return max(min(_TEXT_LEAST, natural), _longest_part(head, column, _PART))


def _longest_part(head: str, column: Sequence[Text], pattern: re.Pattern[str] = _SHORT_PART) -> int:
    parts = (part for text in (head, *(cell.plain for cell in column)) for part in pattern.findall(text))
    return max((min(_PART_MAX, len(part)) for part in parts), default=0)


def _divided(text: Text, width: int) -> Text:
    """Breaks words that are longer than the width at dots, commas and the like, and if need be at hyphens."""
    offsets = []
    for word in _WORD.finditer(text.plain):
        begin = word.start()
        if len(word[0]) > width:
            for part in _parts(text.plain, word, width):
                if part.end() - begin > width and part.start() > begin:
                    offsets.append(part.start())
                    begin = part.start()
    return Text("\n").join(text.divide(offsets)) if offsets else text


def _parts(text: str, word: re.Match[str], width: int) -> Iterator[re.Match[str]]:
    for part in _PART.finditer(text, word.start(), word.end()):
        if len(part[0]) > width:
            yield from _SHORT_PART.finditer(text, part.start(), part.end())
        else:
            yield part


def _longest_line(text: str) -> int:
    return max((Text(line).cell_len for line in text.split("\n")), default=0)
