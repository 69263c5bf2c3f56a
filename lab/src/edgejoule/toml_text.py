"""TOML text: read with one kind of error, for the parser's own do not cover all that a text can do to it; values
written.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from typing import Any


def loads(text: str) -> dict[str, Any]:
    """The table that the text describes. Raises tomllib.TOMLDecodeError for every text that is none."""
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise tomllib.TOMLDecodeError("arrays or tables are nested too deep") from error
    except tomllib.TOMLDecodeError:
        raise
    except ValueError as error:  # a number with more digits than Python converts
        raise tomllib.TOMLDecodeError(str(error)) from error


def value(content: Any) -> str:
    """A value as TOML; tables inline. Texts as JSON has them, which TOML reads but for the DEL character."""
    if isinstance(content, Mapping):
        return "{ " + ", ".join(f"{key_text(key)} = {value(each)}" for key, each in content.items()) + " }"
    if isinstance(content, list | tuple):
        return "[" + ", ".join(map(value, content)) + "]"
    return json.dumps(content, ensure_ascii=False).replace("\x7f", "\\u007f")


def key_text(name: str) -> str:
    """A key as TOML: in quotes where it needs them."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else value(name)
