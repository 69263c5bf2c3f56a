"""Output for people: as wide as the terminal, without trailing blanks, and never wrapped on a pipe.

Texts of others (an imported question, a program's output) reach no terminal as commands: control characters are shown.

The width is that of COLUMNS if it is set, else of the terminal. NO_COLOR removes colours.
"""

from __future__ import annotations

import codecs
import os
import re
import sys
from collections.abc import Iterable
from typing import IO, Any, cast

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from edgejoule.control_characters import SIGNS

PIPE_COLUMNS = 10_000
_LEAST_COLUMNS = 40

_PLAIN_SIGNS = {"±": "+-", "×": "x", "µ": "u", "α": "alpha", "η": "eta", "ω": "omega", "°": " deg ",
                "–": "-", "…": "...", "·": "|", "−": "-"}  # fmt: skip

_RAISED, _LOWERED = re.compile("[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+"), str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")

_TRAILING = re.compile(r"(?: |\x1b\[[0-9;]*m)*(?=\n)")
_STYLES = re.compile(r"\x1b\[[0-9;]*m")


class Trimmed:
    """A text file that drops the blanks at the end of each line. Every write ends with a whole line."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def write(self, text: str) -> int:
        """Writes the text without trailing blanks, in signs that the file's encoding has."""
        trimmed = _TRAILING.sub(lambda end: "".join(_STYLES.findall(end[0])), text)
        encoding = getattr(self._file, "encoding", None) or "utf-8"
        return self._file.write(trimmed.encode(encoding, "edgejoule.plain").decode(encoding))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def _plain(error: UnicodeError) -> tuple[str, int]:
    """Returns ASCII for signs that an encoding lacks: +- for ±."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    signs = error.object[error.start : error.end]
    powers = _RAISED.sub(lambda run: f"^{run[0].translate(_LOWERED)}", signs)
    return "".join(sign if sign.isascii() else _PLAIN_SIGNS.get(sign, "?") for sign in powers), error.end


codecs.register_error("edgejoule.plain", _plain)


def console() -> Console:
    """Returns the console for results: standard output."""
    return _console(sys.stdout)


def messages() -> Console:
    """Returns the console for progress and errors: standard error."""
    return _console(sys.stderr)


def is_unbounded(out: Console) -> bool:
    """Returns whether lines may have any length: a pipe."""
    return out.width >= PIPE_COLUMNS


class _Console(Console):
    """A console that shows control characters in texts; its own styles and movements stay commands."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(segment.text.translate(SIGNS), segment.style)

    def on_broken_pipe(self) -> None:
        """Passes the error on; rich itself would end the program with exit code 1."""
        raise  # rich calls it while it handles the error


def _console(file: IO[str]) -> Console:
    width = _declared_width()
    trimmed = cast(IO[str], Trimmed(file))
    if width is None and not file.isatty():
        return _Console(file=trimmed, highlight=False, soft_wrap=True, width=PIPE_COLUMNS)
    return _Console(file=trimmed, highlight=False, width=width)


def _declared_width() -> int | None:
    try:
        return max(_LEAST_COLUMNS, int(os.environ["COLUMNS"]))
    except (KeyError, ValueError):
        return None
