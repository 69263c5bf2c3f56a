"""TOML text, read with one kind of error: the parser's own do not cover all that a text can do to it."""

from __future__ import annotations

import re
import tomllib
from typing import Any

LEVELS_MAX = 100  # of tables and arrays within each other
_PART = r"""(?:"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[A-Za-z0-9_-]+)"""
#: A dotted key that is too deep; the parser would take minutes for it.
_LONG_KEY = re.compile(rf"(?:^|[{{,])[ \t]*\[{{0,2}}[ \t]*(?:{_PART}[ \t]*\.[ \t]*){{{LEVELS_MAX}}}", re.MULTILINE)


def loads(text: str) -> dict[str, Any]:
    """The table that the text describes. Raises tomllib.TOMLDecodeError for invalid text."""
    if _LONG_KEY.search(text):
        raise _too_deep(text)
    try:
        table = tomllib.loads(text)
    except RecursionError:
        raise _too_deep(text) from None
    except tomllib.TOMLDecodeError:
        raise
    except ValueError as error:  # a number with more digits than Python converts
        raise tomllib.TOMLDecodeError(str(error)) from error
    if _is_too_deep(table):
        raise _too_deep(text)
    return table


def _is_too_deep(table: dict[str, Any]) -> bool:
    level: list[Any] = [table]
    for _ in range(LEVELS_MAX):
        inner = [item for node in level for item in (node.values() if isinstance(node, dict) else node)]
        level = [item for item in inner if isinstance(item, dict | list)]
        if not level:
            return False
    return True


def _too_deep(text: str) -> tomllib.TOMLDecodeError:
    """The error; with the line, if one line opens so many levels."""
    opened = [sum(line.count(sign) for sign in "[{.") for line in text.splitlines()]
    most = max(opened, default=0)
    where = f" (at line {opened.index(most) + 1})" if most >= LEVELS_MAX else ""
    return tomllib.TOMLDecodeError(f"tables or arrays are nested deeper than {LEVELS_MAX} levels{where}")
