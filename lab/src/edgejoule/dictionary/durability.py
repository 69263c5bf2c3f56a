"""What a client says on the durability of a run, in a record's `durability`."""

from __future__ import annotations

from collections.abc import Mapping

_BROKEN = "its promise does not hold"  # ends the driver's sentence on settings that are weaker than the class


def broken_promise(durability: Mapping[str, object] | None) -> str | None:
    """Returns the settings that break the promise of the class that was asked for; None if it holds, or none was."""
    if not durability or durability.get("asked") is False:
        return None
    clauses = str(durability.get("how", "")).split("; ")
    if not any(clause.endswith(_BROKEN) for clause in clauses):
        return None
    asked = f"{durability.get('class')}: "  # what the class means, which is not so
    return "; ".join(c for c in clauses if not c.endswith(_BROKEN) and not c.startswith(asked))


def promise_text(durability: Mapping[str, object] | None) -> str:
    """Describes how the promise is kept, or that it is not."""
    broken = broken_promise(durability)
    if broken is not None:
        return f"does not hold: {broken}"
    return str((durability or {}).get("how", "not stated"))
