"""One table, two renderers: the page escapes and styles its cells, the terminal fits it into its width."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from edgejoule.cli.layout import print_rows, shared
from edgejoule.cli.table_text import print_bare, print_omitted, print_table
from edgejoule.findings.table import BREAK, CellMark, CellRole, Table, hole, plain, soft, strong
from edgejoule.report.table_html import cell_html

CELLS = (
    ("a < b", "a &lt; b", "a < b"),
    (("1 ", hole("(2 failed)")), '1 <span class="hole">(2 failed)</span>', "1 (2 failed)"),
    (
        hole("missing", 'no "meter"'),
        '<span title="no &#34;meter&#34;"><span class="hole">missing</span></span>',
        "missing",
    ),
    (soft("too close", "within 1.2"), '<span class="soft">within 1.2</span>', "too close"),
    (
        (strong("3"), BREAK, CellMark(CellRole.NAME, "lmdb", 1)),
        '<b>3</b><br><span class="chip s1">lmdb</span>',
        "3lmdb",
    ),
    (
        CellMark(CellRole.SHARE, "25.0 %", 0.25),
        '<span class="share"><i style="width:25.0%"></i></span> <span class="percent">25.0 %</span>',
        "25.0 %",
    ),
)


@pytest.mark.parametrize(("cell", "html", "text"), CELLS)
def test_a_cell_has_one_text_and_is_escaped_on_the_page(cell: object, html: str, text: str) -> None:
    assert cell_html(cell) == html
    assert plain(cell) == text


def printed(table: Table, width: int) -> str:
    out = io.StringIO()
    print_table(Console(file=out, width=width), table)
    return out.getvalue()


WIDE = Table(
    "Pairs",
    ("database", "ratio of the other to the better", "squares", "verdict"),
    (False, True, True, False),
    (("rocksdb, read", "1.07 to 1.84", "123,456,789", "the same within the margin"),) * 2,
    note="simultaneous",
    optional=(2,),
)


def test_a_terminal_with_room_shows_every_column_on_one_line() -> None:
    text = printed(WIDE, 120)
    assert "squares" in text
    assert text.count("the same within the margin") == 2
    assert text.rstrip().endswith("simultaneous")


def test_a_narrow_terminal_lacks_optional_columns_and_tears_no_figure() -> None:
    text = printed(WIDE, 44)
    assert text.count("squares") == 1
    assert "Not shown at 44 columns: squares.\n" in text
    assert text.count("1.07 to 1.84") == 2
    assert "…" not in text
    assert all(len(line.rstrip()) <= 44 for line in text.splitlines())


def test_a_table_that_does_not_fit_is_printed_as_records() -> None:
    lines = printed(WIDE, 30).splitlines()
    assert lines[:4] == [
        "Pairs",
        "database rocksdb, read; ratio",
        "  of the other to the better",
        "  1.07 to 1.84; squares",
    ]
    assert max(map(len, lines)) <= 30


@pytest.mark.parametrize("width", range(16, 80, 3))
def test_no_width_tears_a_figure_or_cuts_a_verdict(width: int) -> None:
    text = printed(WIDE, width)
    assert " ".join(text.split()).count("1.07 to 1.84") == 2
    assert all(word in text.split() for word in ("rocksdb,", "same", "within", "margin"))


def test_markup_is_plain_text_on_the_terminal() -> None:
    table = Table("[red]", ("y[J]", "[/b]"), (False, False), (("[bold]x", ""),))
    assert all(word in printed(table, 80) for word in ("[red]", "y[J]", "[/b]", "[bold]x"))


def test_a_list_has_no_lines_and_loses_no_letter_where_it_is_narrow() -> None:
    out = io.StringIO()
    table = Table("runs", ("run", "a\nµJ"), (True, False), (("1", "device_reads_per_op"), ("22", "[/x]")))
    print_bare(Console(file=out, width=16), table)
    lines = [line.rstrip() for line in out.getvalue().splitlines()]
    assert lines == ["     a", "run  µJ", "  1  device_", "     reads_per_", "     op", " 22  [/x]"]


@pytest.mark.parametrize(
    ("natural", "least", "width", "widths"),
    [
        ([5, 10, 50], [5, 8, 12], 80, [5, 10, 50]),
        ([5, 10, 50], [5, 8, 12], 40, [5, 10, 21]),
        ([5, 30, 50], [5, 8, 12], 40, [5, 15, 16]),
        ([5, 30, 50], [5, 28, 12], 40, [5, 19, 12]),
        ([5, 10], [5, 10], 10, [5, 6]),
    ],
)
def test_columns_share_the_width_and_words_break_last(
    natural: list[int], least: list[int], width: int, widths: list[int]
) -> None:
    assert shared(natural, [least], width) == widths


def test_columns_that_do_not_fit_are_omitted_and_named() -> None:
    out = io.StringIO()
    omitted = print_rows(
        Console(file=out, width=30), ("run", "throughput", "latency", "remark"),
        [("1", "120,000", "1.5", "other programs")], numeric=(0, 1, 2), omissible=(2, 1),
    )  # fmt: skip
    assert omitted == [1, 2]
    assert [line.rstrip() for line in out.getvalue().splitlines()] == ["run  remark", "  1  other programs"]


def test_a_word_longer_than_its_column_breaks_at_a_dot() -> None:
    out = io.StringIO()
    print_rows(Console(file=out, width=26), (), [("workloads.read.readproportion", "0.5")])
    assert [line.rstrip() for line in out.getvalue().splitlines()] == ["workloads.read.        0.5", "readproportion"]


def test_omitted_columns_with_commas_are_listed_with_semicolons() -> None:
    out = io.StringIO()
    print_omitted(Console(file=out, width=80), ["energy, settled\nJ", "active time\ns"])
    print_omitted(Console(file=out, width=80), ["energy\nJ", "active time\ns", ""])
    assert out.getvalue().splitlines() == [
        "Not shown at 80 columns: energy, settled; active time.",
        "Not shown at 80 columns: energy and active time.",
    ]
