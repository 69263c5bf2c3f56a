"""The commands, one module each; main.py joins them."""

from __future__ import annotations

import sys
from types import TracebackType

_print_error = sys.excepthook


def _report_interrupt(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Prints one line for Ctrl-C while modules are imported, before any command can report it."""
    if issubclass(kind, KeyboardInterrupt):
        print("edgejoule: interrupted", file=sys.stderr)
    else:
        _print_error(kind, error, trace)


sys.excepthook = _report_interrupt
