"""JSON files of the user, read with one kind of error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from edgejoule.errors import InputError


def read(path: Path, expected: str) -> Any:
    """Returns what the file has. Raises InputError for a file that cannot be read or is not JSON.

    expected: what the file should be, for the message: "the stages of edgejoule calibrate".
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    except RecursionError:
        raise InputError(f"{path}: not JSON: it is nested too deep; expected {expected}") from None
    except ValueError as error:
        raise InputError(f"{path}: not JSON: {error}; expected {expected}") from error
