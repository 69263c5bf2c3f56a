"""Compares what an update does at each database: whether it reads before it writes, and whether it creates a record."""

from __future__ import annotations

from collections.abc import Sequence

from edgejoule.findings.facts import database_level
from edgejoule.findings.text import listed
from edgejoule.store import Run

_MEANINGS = {
    "put": "the row is written without a read",
    "merge": "the row is read first and written whole",
    "native": "the database changes fields of an existing row",
}


def update_caveats(runs: Sequence[Run]) -> list[str]:
    """Returns one sentence if an update means different things at the compared databases."""
    semantics: dict[str, dict[str, None]] = {}
    for run in runs:
        if (own := run.facts.get("update_semantics")) is not None:
            semantics.setdefault(database_level(run), {})[str(own)] = None
    databases: dict[tuple[str, ...], list[str]] = {}
    for database, own in sorted(semantics.items()):
        databases.setdefault(tuple(sorted(own)), []).append(database)
    if len(databases) < 2:
        return []
    parts = [f"{listed(names)}: {' or '.join(_meaning(s) for s in own)}" for own, names in databases.items()]
    return [f"An update is not the same work at each database. {'; '.join(parts)}."]


def _meaning(semantics: str) -> str:
    return f"{_MEANINGS.get(semantics, 'not known')} ({semantics})"
