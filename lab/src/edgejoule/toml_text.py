"""TOML text, read with one kind of error: the parser's own do not cover all that a text can do to it."""

from __future__ import annotations

import tomllib
from typing import Any


def loads(text: str) -> dict[str, Any]:
    """The table that the text describes. Raises tomllib.TOMLDecodeError for invalid text."""
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise tomllib.TOMLDecodeError("arrays or tables are nested too deep") from error
    except tomllib.TOMLDecodeError:
        raise
    except ValueError as error:  # a number with more digits than Python converts
        raise tomllib.TOMLDecodeError(str(error)) from error
