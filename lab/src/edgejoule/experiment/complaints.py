"""Finds errors in an experiment that pydantic cannot find: unknown names, wrong levels, conflicting settings."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence

from edgejoule.clocks.clock_exchange import parse_address
from edgejoule.dictionary.properties import (
    ALL_PROPERTIES,
    COMMAND,
    CORE,
    CORE_WORKLOADS,
    KINDS,
    NETWORK,
    POLICY,
    SETTINGS,
    WORKLOAD_SETTINGS,
    Level,
    complaint,
    is_option,
    static_server,
)
from edgejoule.dictionary.responses import PER_LOADED_SERVER, PER_SERVER, is_of_load, nearest
from edgejoule.errors import UsageError
from edgejoule.experiment.command import CommandWorkload
from edgejoule.experiment.command_complaints import (
    command_complaints,
    command_design_complaints,
    loaded_servers,
    placeholder_settings,
)
from edgejoule.experiment.conditional import Complaint, cells_of, condition_complaints
from edgejoule.experiment.exclusions import Exclusion
from edgejoule.experiment.model import Spec
from edgejoule.experiment.settings import key_of, settings_in_force
from edgejoule.machine import file_system


def complaints(spec: Spec, left_out: Mapping[str, Sequence[Level]] | None = None) -> list[Complaint]:
    """Returns (dotted key, message) pairs, the most specific first; empty for a valid experiment.

    left_out: factor -> levels that the file has, where `--set` gave the factor others.
    """
    errors = [*command_complaints(spec), *_settings(spec), *_workloads(spec), *_missing(spec)]
    errors = errors or condition_complaints(spec.when, spec.factors, left_out or {})
    errors = errors or [*_foreign_properties(spec), *command_design_complaints(spec), *_excluded(spec)]
    errors = errors or [*_shared_loads(spec), *_sequential(spec)]
    return [*errors, *_servers(spec), *_clocks(spec), *_analysis(spec)]


def _settings(spec: Spec) -> Iterator[Complaint]:
    """Checks factors, fixed settings and those of [[when]]: known names, sensible values, each level once."""
    own = placeholder_settings(spec)
    tables: list[tuple[str, str, Mapping[str, list[Level]]]] = [
        ("factors", "factor setting", spec.factors),
        ("fixed", "fixed setting", {k: [v] for k, v in spec.fixed.items()}),
    ]
    tables += [(f"when.{i}.set", "setting", {k: [v] for k, v in r.set.items()}) for i, r in enumerate(spec.when)]
    for table, what, entries in tables:
        for name, levels in entries.items():
            if name not in ALL_PROPERTIES and name not in SETTINGS and name not in own and not is_option(name):
                yield f"{table}.{name}", f"unknown {what}; {nearest(name, [*ALL_PROPERTIES, *SETTINGS, *own])}"
            yield from ((f"{table}.{name}", c) for level in levels if (c := complaint(name, level)))
            if len({_level(level) for level in levels}) < len(levels):
                yield f"{table}.{name}", "the same level twice"
    for name in spec.fixed:
        if name in spec.factors:
            why = "a setting is either varied or fixed; remove the fixed one to vary it"
            yield f"fixed.{name}", Exclusion(f"factors.{name}", why)
    for i, rule in enumerate(spec.when):
        for name in {"database", "workload"} & set(rule.set):
            yield f"when.{i}.set.{name}", f"the {name} is what a run is about: make it a factor, or fixed"


def _level(level: Level) -> str:
    """Returns a text that is equal for levels that a reader cannot distinguish: 100, 100.0 and "100"."""
    return str(int(level)) if isinstance(level, float) and level.is_integer() else str(level)


def _workloads(spec: Spec) -> Iterator[Complaint]:
    for workload, properties in spec.workloads.items():
        if isinstance(properties, CommandWorkload):
            continue
        kind = str(properties.get("kind", CORE))
        if kind not in KINDS:
            yield f"workloads.{workload}.kind", f"unknown kind of workload {kind!r}; {nearest(kind, KINDS)}"
            continue
        for name, value in properties.items():
            key = f"workloads.{workload}.{name}"
            if name == "kind":
                continue
            if name not in KINDS[kind] and name not in WORKLOAD_SETTINGS and not is_option(name):
                of_kind = "" if kind == CORE else f" of kind {kind}"
                yield key, f"unknown property{of_kind}; {nearest(name, KINDS[kind])}"
            elif c := complaint(name, value):
                yield key, c


def _missing(spec: Spec) -> Iterator[Complaint]:
    for setting in ("database", "workload"):
        if setting not in spec.factors and setting not in spec.fixed:
            yield "factors", f"no {setting}: give {setting} as a factor, or fixed"
    table = "factors" if "workload" in spec.factors else "fixed"
    for w in spec.factors.get("workload", [spec.fixed.get("workload", "")]):
        if w not in spec.known_workloads():
            yield (
                f"{table}.workload",
                f"workload {w!r} is described nowhere; add [workloads.{w}] or use {', '.join(CORE_WORKLOADS)}",
            )


def _foreign_properties(spec: Spec) -> Iterator[Complaint]:
    """Yields properties that the kind of a workload does not know."""
    for workload in spec.factors.get("workload", [spec.fixed.get("workload", "")]):
        kind = spec.kind_of(str(workload))
        if kind == COMMAND:
            continue
        reached: list[tuple[str, list[str]]] = [("factors", list(spec.factors)), ("fixed", list(spec.fixed))]
        reached += [
            (f"when.{i}.set", list(rule.set))
            for i, rule in enumerate(spec.when)
            if workload in rule.conditions().get("workload", [workload])
        ]
        for table, names in reached:
            for name in names:
                if name in ALL_PROPERTIES and name not in KINDS[kind]:
                    yield (
                        f"{table}.{name}",
                        f"workload {workload!r} is of kind {kind}, which has no such property; give it under "
                        "[workloads.NAME] or by [[when]] to those that have it",
                    )


def _excluded(spec: Spec) -> Iterator[Complaint]:
    """Yields settings that exclude each other in a cell."""
    for cell in cells_of(spec.factors):
        in_force = settings_in_force(spec, cell)
        if "rate" in in_force and in_force.get("target"):
            why = "either a rate or a target, not both; remove the target to keep the schedule"
            yield key_of(spec, "rate", cell), Exclusion(key_of(spec, "target", cell), why)
        for name in ("rate", "target") if "load_percent" in in_force else ():
            if in_force.get(name):
                why = f"a level of the load curve is a target already; remove the {name} to keep the curve"
                yield key_of(spec, "load_percent", cell), Exclusion(key_of(spec, name, cell), why)
        for name, why, other in file_system.complaints(in_force):
            yield key_of(spec, name, cell), Exclusion(key_of(spec, other, cell), why) if other else why
        if "filesystem" in in_force and spec.design.shares_loads:
            why = 'a file system is made for each run; set load = "run", or "fresh"'
            yield key_of(spec, "filesystem", cell), Exclusion("design.load", why)
        if in_force.get("cache") == "cold" and in_force.get("warmup_s"):
            why = 'the warm-up would fill the cold cache; set warmup_s = 0 to keep it cold, or cache = "warm"'
            yield key_of(spec, "cache", cell), Exclusion(key_of(spec, "warmup_s", cell), why)


def _shared_loads(spec: Spec) -> Iterator[Complaint]:
    """Yields settings that are impossible for runs that share a load."""
    design = spec.design
    if design.loads > 1 and design.load != "cell":
        yield "design.loads", Exclusion("design.load", 'a run or a block has one load; set load = "cell" for more')
    if design.loads > design.replications:
        why = f"every load needs a run; set loads to at most {design.replications}, or replications to {design.loads}"
        yield "design.loads", Exclusion("design.replications", why)
    if design.load in ("run", "block"):
        for name in (name for name in spec.analysis.responses if is_of_load(name)):
            cause = (
                "a snapshot is loaded once, unmeasured" if design.load == "run" else "cells share the load of a block"
            )
            yield "analysis.responses", Exclusion("design.load", f'{name}: {cause}; set load = "fresh", or "cell"')
    if not design.shares_loads:
        return
    if "load_percent" in (*spec.factors, *spec.fixed):
        curve = key_of(spec, "load_percent", {})
        yield "design.load", Exclusion(curve, 'each level of a load curve needs its own load; set load = "run"')
    for workload in spec.factors.get("workload", [spec.fixed.get("workload", "")]):
        properties = spec.known_workloads()[str(workload)] | spec.fixed
        if spec.kind_of(str(workload)) != CORE or properties.get("insertproportion"):
            inserts = key_of(spec, "insertproportion", {"workload": workload})
            why = f"{design.load}: workload {workload!r} inserts, and the next run on the same load would insert the "
            yield "design.load", Exclusion(inserts, why + 'same keys again; set load = "run", or insertproportion = 0')


def _sequential(spec: Spec) -> Iterator[Complaint]:
    declared, key, log = spec.design.sequential, "design.sequential", spec.analysis.scale == "log"
    if declared is None:
        return
    own = {"stein": ("first", "precision"), "alpha-spending": ("looks",)}
    for kind, names in own.items():
        for name in names:
            given = getattr(declared, name) is not None
            if given != (kind == declared.kind):
                why = f'belongs to {kind}, and the kind is {declared.kind}; remove it, or set kind = "{kind}"'
                yield f"{key}.{name}", Exclusion(f"{key}.kind", why) if given else "is missing"
    if declared.budget_s is not None and declared.kind != "stein":
        why = f'belongs to stein, and the kind is {declared.kind}; remove it, or set kind = "stein"'
        yield f"{key}.budget_s", Exclusion(f"{key}.kind", why)
    if spec.design.shares_loads:
        why = 'looks count replications, and runs that share a load are not replications; set load = "run"'
        yield key, Exclusion("design.load", why)
    replications = spec.design.replications
    if declared.looks is not None:
        yield from _wrong_looks(declared.looks, replications)
    if declared.first and declared.first > replications:
        why = f"more than the {replications} replications of the design; set first to at most {replications}"
        yield f"{key}.first", Exclusion("design.replications", why)
    if declared.precision and log and declared.precision <= 1:
        got = f"expected a ratio above 1 (1.05: within 5 %), got {declared.precision}"
        yield f"{key}.precision", f"on the log scale {got}"


def _clocks(spec: Spec) -> Iterator[Complaint]:
    for meter, address in spec.meter.clocks.items():
        try:
            parse_address(address)
        except UsageError as error:
            yield f"meter.clocks.{meter}", str(error)


def _servers(spec: Spec) -> Iterator[Complaint]:
    """Checks that a federation has an offloading policy, and a policy a federation."""
    table = "factors" if POLICY in spec.factors else "fixed"
    if any(POLICY in rule.set for rule in spec.when):
        yield "when", f"{POLICY} is of the whole federation: make it a factor, or fixed"
    policies: list[Level] = spec.factors.get(POLICY, [spec.fixed[POLICY]] if POLICY in spec.fixed else [])
    yield from _network(spec)
    if not spec.servers:
        if policies:
            yield f"{table}.{POLICY}", "no servers to offload to: describe them, [servers.NAME]"
        if spec.federation:
            yield "federation", "which servers has it? Name them with their meters, [servers.NAME]"
        return
    if not policies:
        yield "servers", f"no {POLICY}: give it as a factor, or fixed"
    if len(spec.servers) == 1:
        yield "servers", "a single server cannot offload"
    for policy in policies:
        if (target := static_server(policy)) and target not in spec.servers:
            yield f"{table}.{POLICY}", f"{policy!r}: no server is named so; {nearest(target, spec.servers)}"
    if spec.design.load != "run":
        yield "design.load", Exclusion("servers", 'the servers learn and compact between runs; set load = "run"')
    if spec.meter.prefer:
        why = "each server has its meter: a share of this machine its watts, a machine its own; remove prefer"
        yield "meter.prefer", Exclusion("servers", why)
    for database in spec.factors.get("database", [spec.fixed.get("database", "")]):
        if (adapter := spec.database_options(str(database))[0]) != "rocksdb":
            why = f"changes nothing for {adapter}: only RocksDB's compactions are offloaded; remove {adapter}"
            yield f"{table}.{POLICY}", Exclusion(key_of(spec, "database", {}), why)
    for name, server in spec.servers.items():
        share = {"share": server.share, "busy_w": server.busy_w, "idle_w": server.idle_w}
        for key, value in share.items():
            if spec.federation and value is not None:
                why = "belongs to a share of this machine, and with [federation] a server has a meter; remove it"
                yield f"servers.{name}.{key}", Exclusion("federation", why)
            if not spec.federation and value is None:
                yield f"servers.{name}", f"{key} is missing"
        for key, given in (("meter", server.meter), ("options", server.options)):
            if given and not spec.federation:
                yield f"servers.{name}.{key}", "belongs to a separate machine, with [federation]"
        if spec.federation and not server.meter:
            yield f"servers.{name}", "meter is missing: a name as in `edgejoule meters`"


def _network(spec: Spec) -> Iterator[Complaint]:
    """Yields settings of a network that this study does not create."""
    tables: list[tuple[str, Mapping[str, object]]] = [("factors", spec.factors), ("fixed", spec.fixed)]
    tables += [(f"when.{i}.set", rule.set) for i, rule in enumerate(spec.when)]
    for table, settings in tables:
        for name in (name for name in settings if name.startswith("network.")):
            if name not in NETWORK:
                yield f"{table}.{name}", f"unknown setting; {nearest(name, NETWORK)}"
            elif spec.federation:
                why = "with [federation] the servers are separate machines with a real network; remove the setting"
                yield f"{table}.{name}", Exclusion("federation", why)
            elif not spec.servers:
                yield f"{table}.{name}", "no servers whose network it is: describe them, [servers.NAME]"


def _no_server(name: str, servers: Collection[str], spec: Spec) -> str:
    if name in spec.servers:
        return f"of the servers that a command runs on, which are {', '.join(servers)}"
    return f"no server is named so; {nearest(name, servers)}"


def _wrong_looks(looks: list[int], replications: int) -> Iterator[Complaint]:
    key = "design.sequential.looks"
    if not looks or len(looks) > 20 or looks[0] < 2 or any(b <= a for a, b in itertools.pairwise(looks)):
        yield key, "expected 1 to 20 rising numbers of replications, the first at least 2"
    elif looks[-1] != replications:
        why = f"the last look is after all {replications} replications, not after {looks[-1]}; set replications to "
        yield key, Exclusion("design.replications", why + f"{looks[-1]}, or the last look to {replications}")


def _analysis(spec: Spec) -> Iterator[Complaint]:
    if spec.analysis.margin is not None:
        if spec.analysis.scale == "log" and spec.analysis.margin <= 1:
            yield "analysis.margin", f"on the log scale expected a ratio above 1, got {spec.analysis.margin}"
        if spec.analysis.test == "kruskal-dunn-holm":
            why = "ranks have no distances; declare tukey or games-howell to call groups the same, or remove the margin"
            yield "analysis.margin", Exclusion("analysis.test", why)
    known = spec.known_responses()
    for name in spec.analysis.responses:
        base, at, server = name.partition("@")
        loaded = loaded_servers(spec)
        of_a_server = [*PER_SERVER, *((*PER_LOADED_SERVER, *spec.responses) if loaded else ())]
        servers = spec.servers if base in PER_SERVER else loaded
        if at and base in of_a_server and server not in servers:
            yield "analysis.responses", f"{name!r}: {_no_server(server, servers, spec)}"
        elif base not in (of_a_server if at else known):
            yield "analysis.responses", f"unknown response {name!r}; {nearest(name, known)}"
    if (headline := spec.analysis.headline) is not None:
        if headline not in spec.analysis.responses:
            declared = spec.analysis.responses
            yield "analysis.headline", f"{headline!r} is not in analysis.responses; {nearest(headline, declared)}"
        elif spec.design.sequential and headline != spec.analysis.responses[0]:
            yield (
                "analysis.headline",
                f"the first of analysis.responses ends a sequential study: put {headline!r} first",
            )
    if (compare := spec.analysis.compare) is not None:
        if compare not in spec.factors:
            yield "analysis.compare", f"{compare!r} is no factor; {nearest(compare, spec.factors)}"
        elif compare == spec.analysis.by:
            why = f"the levels of {compare!r} are analysed apart, so none is compared; name another factor to compare"
            yield "analysis.compare", Exclusion("analysis.by", why)
    if spec.analysis.by is not None and spec.analysis.by not in spec.factors:
        yield "analysis.by", f"{spec.analysis.by!r} is no factor; {nearest(spec.analysis.by, spec.factors)}"
