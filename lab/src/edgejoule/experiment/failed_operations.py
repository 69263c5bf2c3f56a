"""Operations that failed and times without a success: their message, and the limits for both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

#: The driver's own default; an experiment's setting failure_share_max overrides it.
FAILURE_SHARE_MAX = 0.01
#: Longer times without a success are flagged; as the driver's own default.
LONGEST_GAP_S_MAX = 1.0

Cause = Mapping[str, Any]  # failure_cause of schemas/driver-event.schema.json


def merged(parts: Sequence[Sequence[Cause]]) -> list[Cause]:
    """Merges the causes of several executions, the commonest first."""
    counts: Counter[tuple[str, str, str]] = Counter()
    for causes in parts:
        for cause in causes:
            counts[cause["operation"], cause["status"], cause["words"]] += cause["count"]
    return [
        {"operation": operation, "status": status, "count": count, "words": cause}
        for (operation, status, cause), count in counts.most_common()
    ]


def failure_text(failed: int, succeeded: int, causes: Sequence[Cause]) -> str:
    """Describes how many failed, with which status, and the commonest cause."""
    by_status: Counter[tuple[str, str]] = Counter()
    for cause in causes:
        by_status[cause["operation"], cause["status"]] += cause["count"]
    message = f"{failed} of {failed + succeeded} operations failed ({_percent(failed / (failed + succeeded))})"
    how = ", ".join(f"{operation} {status} {count}" for (operation, status), count in by_status.most_common())
    return message + (f": {how}; most often ({causes[0]['count']} times): {causes[0]['words']}" if causes else "")


def complaint(failed: int, succeeded: int, share_max: float, causes: Sequence[Cause]) -> str | None:
    """Explains why too many failed operations fail a run; None if they are within the bound."""
    if not failed or failed / (failed + succeeded) <= share_max:
        return None
    return f"{failure_text(failed, succeeded, causes)}; at most {_percent(share_max)} may fail (failure_share_max)"


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
