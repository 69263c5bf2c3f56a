"""What is not statistics: the databases' own words, the meters, the runs one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from edgejoule.findings.model import DatabaseFacts, Progress, RunFacts
from edgejoule.store import Run


def progress_of(runs: Sequence[Run]) -> Progress:
    """How many runs there are of each kind."""
    kinds = {kind: sum(r.status == kind for r in runs) for kind in ("finished", "failed", "planned")}
    return Progress(len(runs), kinds["finished"], kinds["failed"], kinds["planned"], sum(bool(r.flags) for r in runs))


def database_facts(runs: Sequence[Run]) -> tuple[DatabaseFacts, ...]:
    """One entry per database level and durability class that ran, in order of first appearance by name."""
    grouped: dict[tuple[str, str], list[Run]] = {}
    for r in runs:
        if r.database is not None:
            durability = str((r.durability or {}).get("class", "not stated"))
            grouped.setdefault((_database_level(r), durability), []).append(r)
    return tuple(_facts(name, durability, own) for (name, durability), own in sorted(grouped.items()))


def _database_level(run: Run) -> str:
    return str(run.levels.get("database") or run.settings.get("database") or (run.database or {}).get("name"))


def _facts(name: str, durability: str, runs: Sequence[Run]) -> DatabaseFacts:
    own = [r.database for r in runs if r.database is not None]
    options: dict[str, str] = {}
    for key in dict.fromkeys(k for d in own for k in d.get("options", {})):
        values = list(dict.fromkeys(str(d.get("options", {}).get(key, "not set")) for d in own))
        options[key] = " or ".join(values)
    return DatabaseFacts(
        name=name,
        product=", ".join(dict.fromkeys(str(d.get("name", "not stated")) for d in own)),
        versions=tuple(dict.fromkeys(str(d.get("version", "not stated")) for d in own)),
        options=options,
        durability=durability,
        how="; ".join(dict.fromkeys(str((r.durability or {}).get("how", "not stated")) for r in runs)),
    )


def meters_of(runs: Sequence[Run]) -> tuple[Mapping[str, Any], ...]:
    """The different meters of all runs."""
    found: list[Mapping[str, Any]] = []
    for r in runs:
        found += [m for m in r.meters if m not in found]
    return tuple(found)


def run_facts(run: Run, names: Sequence[str]) -> RunFacts:
    """One run, with the values of the named responses."""
    stored = {r.name: r for r in run.responses}
    values = {n: (stored[n].value, stored[n].missing_reason) for n in names if n in stored}
    return RunFacts(
        number=run.run_index + 1, block=run.block + 1, levels=run.levels, status=run.status, cause=run.cause,
        flags=run.flags, started_realtime_ns=run.started_realtime_ns, values=values,
    )  # fmt: skip
