"""The text of a PDF that Chromium wrote, without spaces; enough to see whether a sentence stands on a page."""

from __future__ import annotations

import re
import zlib

_HEX = rb"<([0-9A-Fa-f]+)>"


def pdf_pages(pdf: bytes) -> list[str]:
    """The text of each page in the order in which it is drawn, without that of its pictures."""
    objects = {int(n): body for n, body in re.findall(rb"(?<=\n)(\d+) 0 obj\n(.*?)\nendobj", pdf, re.DOTALL)}
    fonts = {
        name: _characters(_stream(objects[_reference(rb"ToUnicode", objects[int(number)])]))
        for name, number in re.findall(rb"/(F\d+) (\d+) 0 R", pdf)
    }
    pages = [body for body in objects.values() if re.search(rb"/Type /Page\b", body)]
    return [_drawn(_stream(objects[_reference(rb"Contents", page)]), fonts) for page in pages]


def _reference(key: bytes, body: bytes) -> int:
    match = re.search(rb"/" + key + rb" (\d+) 0 R", body)
    assert match is not None, key
    return int(match[1])


def _stream(body: bytes) -> bytes:
    match = re.search(rb"stream\r?\n(.*)\r?\nendstream", body, re.DOTALL)
    assert match is not None
    return zlib.decompress(match[1])


def _characters(cmap: bytes) -> dict[int, str]:
    """Glyph numbers to text. A ligature stands beside its letters in the page."""
    single = re.findall(rb"\n" + _HEX + rb" " + _HEX + rb"(?=\n)", cmap)
    table = {int(glyph, 16): chr(int(code, 16)) for glyph, code in single}
    for first, last, code in re.findall(_HEX + rb" " + _HEX + rb" " + _HEX, cmap):
        table |= {int(first, 16) + i: chr(int(code, 16) + i) for i in range(int(last, 16) - int(first, 16) + 1)}
    return table


def _drawn(content: bytes, fonts: dict[bytes, dict[int, str]]) -> str:
    text, font = "", dict[int, str]()
    operators = rb"/(F\d+) [\d.]+ Tf|<([0-9A-Fa-f]+)> Tj|/ActualText \(([^)]*)\)"
    for name, shown, replaced in re.findall(operators, content):
        font = fonts.get(name, font)
        text += replaced.decode("latin-1")
        text += "".join(font.get(int(shown[i : i + 4], 16), "") for i in range(0, len(shown), 4))
    return re.sub(r"[\s\ufb00-\ufb06]", "", text)
