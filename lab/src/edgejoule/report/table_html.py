"""A table's cells as HTML. The table around them is the template's macro."""

from __future__ import annotations

from markupsafe import Markup, escape

from edgejoule.findings.table import Cell, CellMark, CellRole, pieces
from edgejoule.report import svg

_FORMS = {
    CellRole.HOLE: '<span class="hole">{}</span>',
    CellRole.SOFT: '<span class="soft">{}</span>',
    CellRole.STRONG: "<b>{}</b>",
    CellRole.FLAG: '<span class="flag">⚑ {}</span>',
    CellRole.BREAK: "<br>",
    CellRole.DRAWING: "<pre>{}</pre>",
}


def cell_html(cell: Cell) -> Markup:
    """A cell, escaped."""
    return Markup("").join(escape(p) if isinstance(p, str) else _mark(p) for p in pieces(cell))


def chip(name: str, index: int) -> Markup:
    """A name with its colour."""
    return Markup('<span class="chip s{}">{}</span>').format(index % svg.COLOURS, name)


def _mark(mark: CellMark) -> Markup:
    if mark.role is CellRole.NAME:
        return chip(mark.text, int(mark.value))
    if mark.role is CellRole.SHARE:
        percent = 100 * max(0.0, min(1.0, mark.value))
        bar = Markup('<span class="share"><i style="width:{:.1f}%"></i></span>').format(percent)
        return Markup('{} <span class="percent">{}</span>').format(bar, mark.text)
    if mark.role is CellRole.SOFT:
        return Markup(_FORMS[mark.role]).format(mark.detail or mark.text)
    text = Markup(_FORMS[mark.role]).format(mark.text)
    return Markup('<span title="{}">{}</span>').format(mark.detail, text) if mark.detail else text
