"""Facts beside the statistics: the databases' settings, the meters, the runs one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from edgejoule.dictionary.durability import broken_promise, promise_text
from edgejoule.dictionary.responses import OTHER_CPU_SHARE_MIN, reported_responses
from edgejoule.experiment.model import Spec
from edgejoule.findings.model import DatabaseFacts, LoadFacts, Progress, RunFacts
from edgejoule.findings.storage import storage_text
from edgejoule.findings.text import count, percent
from edgejoule.meters.base import Method
from edgejoule.stats.figures import plain
from edgejoule.store import Run

_CLIENTS = {"driver": "edgejoule-driver", "ycsb": "the real Java YCSB", "command": "the experiment's command"}


def effective_responses(spec: Spec, runs: Sequence[Run]) -> list[str]:
    """Returns the names of the responses to analyse, the primary one first."""
    responses = [r for run in runs for r in run.responses]
    modelled = any(r.method == Method.MODELLED for r in responses)
    return reported_responses(spec.analysis.responses, {r.name for r in responses}, modelled=modelled)


def deciding_response(spec: Spec, reported: Sequence[str], runs: Sequence[Run]) -> str:
    """Returns the name of the response that decides: analysis.headline, else the first one."""
    declared = spec.analysis.headline
    if declared is None:
        return reported[0]
    return reported_responses([declared], {r.name for run in runs for r in run.responses}, modelled=False)[0]


def stand_ins(runs: Sequence[Run]) -> list[str]:
    """Returns the databases in whose place a stand-in ran, by the names that the experiment gives them."""
    versions = [(database_level(r), str((r.database or {}).get("version", ""))) for r in runs]
    return sorted({name for name, version in versions if version.startswith("stand-in") and "stand-in" not in name})


def progress_of(runs: Sequence[Run]) -> Progress:
    """Counts the runs by status, and the flagged runs."""
    kinds = Counter(run.status for run in runs)
    return Progress(
        len(runs), kinds["finished"], kinds["failed"], kinds["planned"], sum(bool(r.flags) for r in runs),
        kinds["not_here"],
    )  # fmt: skip


def not_here(runs: Sequence[Run]) -> list[str]:
    """Returns the databases without any run because they are not here, by the names that the experiment gives them."""
    others = {database_level(run) for run in runs if run.status != "not_here"}
    return sorted({database_level(run) for run in runs if run.status == "not_here"} - others)


def not_here_caveats(runs: Sequence[Run]) -> list[str]:
    """Returns one caveat for each reason why runs are not here."""
    causes = Counter(run.cause for run in runs if run.status == "not_here")
    return [f"{n} of {count(len(runs), 'run')} left out: {cause}." for cause, n in causes.items()]


def database_facts(runs: Sequence[Run]) -> tuple[DatabaseFacts, ...]:
    """Returns one entry per database level and durability class that ran, ordered by both."""
    grouped: dict[tuple[str, str], list[Run]] = {}
    for r in runs:
        if r.database is not None:
            durability = durability_class(r)
            grouped.setdefault((database_level(r), durability), []).append(r)
    return tuple(_facts(name, durability, own) for (name, durability), own in sorted(grouped.items()))


def database_level(run: Run) -> str:
    """Returns the name that the experiment gives the run's database."""
    return str(run.levels.get("database") or run.settings.get("database") or (run.database or {}).get("name"))


def durability_class(run: Run) -> str:
    """Describes the durability class of a run."""
    known = run.durability or {}
    if known.get("asked") is False and "server" in run.facts:
        return "the server's setting: the experiment asks for no class"
    return str(known.get("class", "not stated"))


def durability_caveats(runs: Sequence[Run]) -> list[str]:
    """Returns one caveat for each database whose settings break the promise of the durability that was asked for."""
    broken: dict[tuple[str, str], dict[str, None]] = {}
    for run in runs:
        if (settings := broken_promise(run.durability)) is not None:
            broken.setdefault((database_level(run), durability_class(run)), {})[settings] = None
    return [
        f"{name} does not keep the promise of durability {durability}: {' or '.join(settings)}."
        for (name, durability), settings in sorted(broken.items())
    ]


def session_caveats(runs: Sequence[Run]) -> list[str]:
    """Returns one caveat for each value of synchronous_commit that the sessions of PostgreSQL did not have. Releases of
    2026-11-25 and before gave the sessions the value of the durability class instead.
    """
    ignored = Counter(pair for run in runs if (pair := _commit_of_sessions(run)) is not None)
    return [
        f"postgres.synchronous_commit = {asked} had no effect in {count(number, 'run')}, whose sessions had {actual}: "
        "an earlier release ignored the option. Measure again."
        for (asked, actual), number in sorted(ignored.items())
    ]


def _commit_of_sessions(run: Run) -> tuple[str, str] | None:
    """Returns synchronous_commit as the experiment sets it and as the sessions had it; None if they are the same."""
    settings = run.facts.get("server", {}).get("settings", {})
    asked = settings.get("conf.synchronous_commit", settings.get("synchronous_commit"))
    actual = (run.database or {}).get("options", {}).get("synchronous_commit")
    return None if asked is None or actual is None or asked == actual else (asked, actual)


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
        how="; ".join(dict.fromkeys(promise_text(r.durability) for r in runs)),
    )


def load_facts(runs: Sequence[Run]) -> tuple[LoadFacts, ...]:
    """Returns every load once, ordered by its levels, without the loads that have no recorded figures, and without
    those of single runs, whose figures are responses."""
    grouped: dict[str, list[Run]] = {}
    for run in runs:
        load = run.facts.get("load", {})
        if "active_s" in load and ("snapshot" in load or not load["name"].startswith("run-")):
            grouped.setdefault(load.get("snapshot") or load["name"], []).append(run)
    loads = []
    for own in grouped.values():
        first, load = own[0].levels, own[0].facts["load"]
        levels = {name: level for name, level in first.items() if all(run.levels[name] == level for run in own)}
        loads.append(LoadFacts(levels, len(own), load["records"], load["active_s"], load["settled_s"]))
    return tuple(sorted(loads, key=lambda load: tuple(map(str, load.levels.values()))))


def meters_of(runs: Sequence[Run]) -> tuple[Mapping[str, Any], ...]:
    """Returns the distinct meters of all runs."""
    distinct: list[Mapping[str, Any]] = []
    for r in runs:
        distinct += [m for m in r.meters if m not in distinct]
    return tuple(distinct)


def run_facts(run: Run, names: Sequence[str]) -> RunFacts:
    """Returns one run's facts with the values of the named responses."""
    stored = {r.name: r for r in run.responses}
    values = {n: (stored[n].value, stored[n].missing_reason) for n in names if n in stored}
    return RunFacts(
        number=run.run_index + 1, block=run.block + 1, levels=run.levels, status=run.status, cause=run.cause,
        flags=run.flags, started_realtime_ns=run.started_realtime_ns, values=values,
        circumstances="; ".join(circumstances(run)),
    )  # fmt: skip


def circumstances(run: Run) -> list[str]:
    """Returns the facts of a run that a reader needs to judge its figures; ordinary ones are left out."""
    facts, notes = run.facts, []
    if run.attempt or run.set_aside:
        notes.append(f"attempt {run.attempt + 1}{', set aside: another one counts' if run.set_aside else ', counts'}")
    if (load := facts.get("load")) and not load["name"].startswith("run-"):
        place = f"after {count(load['runs_before'], 'run')}" if load["runs_before"] else "the first run"
        notes.append(f"load {load['name']}, {place} on it")
    if (cache := facts.get("cache")) and cache["state"] == "cold":
        own = cache.get("own_cache_bytes")
        of_server = "" if own is None else f", {own / 1024:,.0f} KiB in the server's own cache"
        notes.append(f"cold cache, {cache['resident_bytes_after'] / 1024:,.0f} KiB resident{of_server}")
    chosen = run.settings.get("file_system") or run.settings.get("data_path")
    if chosen and (storage := facts.get("storage")):
        notes.append(f"data on {storage_text(storage)}")
    if memory := facts.get("memory"):
        peak = "" if memory["peak_bytes"] is None else f", {memory['peak_bytes'] / 2**20:,.0f} reached"
        limit = memory["limit_bytes"] / 2**20
        notes.append(f"memory {limit:,.0f} MiB{peak}; data {plain(memory['data_bytes_per_limit'], 2)} times that")
    if level := facts.get("load_percent"):
        notes.append(f"{level['percent']:g} % of {level['reached_ops_s']:,.0f} ops/s")
    if server := facts.get("server"):
        settings = ", ".join(f"{name} {value}" for name, value in server["settings"].items())
        notes.append(
            f"server {server['server']} {server['version']} ({settings}), driven by {_CLIENTS[server['client']]}"
        )
    if "executions" in facts:
        notes.append(f"k = {facts['executions']} executions, {percent(facts['worked_share'])} of the time at work")
    if "repetitions" in facts:
        notes.append(f"k = {facts['repetitions']} repetitions back to back, figures are of one")
    if shell := facts.get("shell"):
        notes.append(f"{shell['shell']} takes {plain(shell['start_s'] * 1e3, 2)} ms to start, which is subtracted")
    if (other_share := run.value("other_cpu_share")) is not None and other_share > OTHER_CPU_SHARE_MIN:
        notes.append(f"other programs: {percent(other_share)} of the CPU")
    if cooled := facts.get("cool_down"):
        notes.append(_cooled(cooled))
    after = facts.get("environment", {}).get("after", {})
    if (degrees := after.get("temperature_c")) is not None:
        notes.append(f"{degrees:.0f} °C")
    return notes


def _cooled(cooled: Mapping[str, Any]) -> str:
    """Describes the cool-down before the run: duration, temperature and idle power reached."""
    begun = [f"{cooled['temperature_c']:.0f} °C"] if cooled["temperature_c"] is not None else []
    power = cooled["idle_power"]
    if power.get("reached_w") is not None:
        start = f"{power['start_w']:.3g} at the start of the study"
        begun.append(f"{power['reached_w']:.3g} W {power['method']} at idle ({start})")
    why = f"; not for idle power: {power['why_not']}" if power.get("why_not") else ""
    return f"waited {cooled['waited_s']:g} s to cool down, to {', '.join(begun) or 'no readable target'}{why}"
