"""Factors x replications -> ordered runs. The same spec gives the same plan on every machine."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from edgejoule.dictionary.properties import CORE, NETWORK, POLICY, WORKLOAD_SETTINGS, is_option
from edgejoule.experiment.command import CommandWorkload
from edgejoule.experiment.conditional import cells_of
from edgejoule.experiment.failed_operations import FAILURE_SHARE_MAX, LONGEST_GAP_S_MAX
from edgejoule.experiment.model import Level, Spec
from edgejoule.experiment.settings import settings_in_force
from edgejoule.machine.file_system import FileSystem, of_settings
from edgejoule.machine.network import Link, link_of


@dataclass(frozen=True)
class PlannedRun:
    """One run: its place in the order, its cell, and all options of the driver.

    properties: YCSB properties in force. options: adapter options without prefix. seed: the driver's, the same for
    every cell of a block, so that all databases of a block see the same operation stream. rate: a schedule in the
    driver's notation (steps:, sine:, file:), instead of a target. kind: of the workload. durability: None leaves it to
    the kind. durability_asked: the experiment names it. replication_factor: copies of each row; None: as the options
    say. failure_share_max: of the operations; a run in which more fail has failed. longest_gap_s_max: without a
    success; a longer one is flagged. cold: with an empty page cache. memory_limit_bytes: of database, driver and the
    page cache they fill. load_unit: runs of one unit that want the same content share a load made for them; None: it
    starts from a snapshot. load_percent: of the rate that the cell reaches; 0 is idle. data_path: below which folder
    the database lies; None: the study's own. file_system: made for the run, with the database on it. policy: of the
    federation, by which compactions are offloaded; None: no eco. link: of the federation's servers; None: loopback.
    command: the program that is the workload; values: of its placeholders, without those that the run itself fills in.
    """

    index: int
    block: int
    levels: Mapping[str, Level]
    adapter: str
    database: str
    options: Mapping[str, Level]
    properties: Mapping[str, Level]
    durability: str | None
    threads: int
    target_ops_s: int | None
    rate: str | None
    warmup_s: float
    seed: int
    kind: str = CORE
    cold: bool = False
    memory_limit_bytes: int | None = None
    load_unit: str | None = None
    load_percent: float | None = None
    data_path: str | None = None
    file_system: FileSystem | None = None
    policy: str | None = None
    link: Link | None = None
    durability_asked: bool = False
    replication_factor: int | None = None
    failure_share_max: float = FAILURE_SHARE_MAX
    longest_gap_s_max: float = LONGEST_GAP_S_MAX
    command: CommandWorkload | None = None
    values: Mapping[str, Level] = field(default_factory=dict)

    def label(self) -> str:
        """Returns the cell's text: its levels in the factors' order."""
        return cell_label(self.levels)


@dataclass(frozen=True)
class Addition:
    """Replications that were added to a finished experiment: further blocks, each with these cells."""

    replications: int
    cells: tuple[Mapping[str, Level], ...]
    realtime_ns: int

    @property
    def runs(self) -> int:
        """The number of runs that were added."""
        return self.replications * len(self.cells)


def cell_label(levels: Mapping[str, Level]) -> str:
    """Returns a cell's text: its levels in the factors' order."""
    return " · ".join(str(level) for level in levels.values())


def cells(spec: Spec) -> list[dict[str, Level]]:
    """Returns every combination of the factors' levels, in the order written (the last factor varies fastest)."""
    return list(cells_of(spec.factors))


#: Settings that are no property of YCSB's and no option of a database.
_OWN_SETTINGS = (
    "durability", "threads", "target", "rate", "warmup_s", "cache", "memory_limit_mb", "load_percent", "data_path",
    "filesystem", "filesystem_mb", "filesystem_device", "mkfs_options", "mount_options", "replication_factor",
    "failure_share_max", "longest_gap_s_max", POLICY, *NETWORK,
)  # fmt: skip


def make_plan(spec: Spec, added: Sequence[Addition] = ()) -> list[PlannedRun]:
    """Returns all runs in order: per block every cell once, shuffled by the seed unless the order is as written; then
    the blocks of each addition with its cells.

    Source: Montgomery, Design and Analysis of Experiments, ch. 4 (randomised complete blocks).
    """
    ordered = enumerate(_ordered(spec, added))
    return [_planned(spec, levels, index, block, seed) for index, (block, levels, seed) in ordered]


def planned_cells(spec: Spec, added: Sequence[Addition] = ()) -> Iterator[tuple[int, dict[str, Level]]]:
    """Returns block and levels of every run, in the plan's order."""
    return ((block, levels) for block, levels, _ in _ordered(spec, added))


_Ordered = tuple[int, dict[str, Level], int]  # block, levels and driver's seed of a run


def _ordered(spec: Spec, added: Sequence[Addition]) -> Iterator[_Ordered]:
    """Returns every run: block after block, or one cell after another; each addition after all before it."""
    blocks = enumerate(_blocks(spec))
    yield from _in_order(spec, itertools.islice(blocks, spec.design.replications))
    for addition in added:
        further = itertools.islice(blocks, addition.replications)
        chosen = ((block, ([c for c in order if c in addition.cells], seed)) for block, (order, seed) in further)
        yield from _in_order(spec, chosen)


def _in_order(spec: Spec, blocks: Iterator[tuple[int, tuple[list[dict[str, Level]], int]]]) -> Iterator[_Ordered]:
    runs = ((block, levels, seed) for block, (order, seed) in blocks for levels in order)
    if spec.design.order != "one-after-another":
        return runs
    declared, order = spec.design.sequential, cells(spec)
    stages = declared.stages if declared else ()  # every cell ends a stage before any begins the next
    return iter(sorted(runs, key=lambda run: (sum(run[0] >= end for end in stages), order.index(run[1]), run[0])))


def _blocks(spec: Spec) -> Iterator[tuple[list[dict[str, Level]], int]]:
    """Yields the cells of each block in their order, and the seed of the block's driver, without end."""
    rng = random.Random(spec.design.seed)
    while True:
        order = cells(spec)
        if spec.design.order == "randomised-blocks":
            rng.shuffle(order)
        yield order, rng.randrange(2**63)


def _planned(spec: Spec, levels: Mapping[str, Level], index: int, block: int, seed: int) -> PlannedRun:
    settings = settings_in_force(spec, levels)
    database, workload = str(settings.pop("database")), str(settings.pop("workload"))
    command, values = spec.commands.get(workload), {"threads": 1, **settings}
    properties = {n: v for n, v in spec.known_workloads()[workload].items() if n not in WORKLOAD_SETTINGS}
    kind = str(properties.pop("kind", CORE))
    adapter, own_options = spec.database_options(database)
    options = _options(adapter, properties) | own_options | _options(adapter, settings)
    own = {name: settings.pop(name) for name in _OWN_SETTINGS if name in settings}
    settings = {} if command else settings
    properties = {name: v for name, v in (properties | settings).items() if not is_option(name)}
    target = int(own.get("target", 0))
    return PlannedRun(
        index=index,
        block=block,
        levels=levels,
        adapter=adapter,
        database=database,
        options=options,
        properties=properties,
        durability=str(own["durability"]) if "durability" in own else "process" if kind == CORE else None,
        durability_asked="durability" in own,
        replication_factor=int(own["replication_factor"]) if "replication_factor" in own else None,
        failure_share_max=float(own.get("failure_share_max", FAILURE_SHARE_MAX)),
        longest_gap_s_max=float(own.get("longest_gap_s_max", LONGEST_GAP_S_MAX)),
        threads=int(own.get("threads", 1)),
        target_ops_s=target or None,
        rate=str(own["rate"]) if "rate" in own else None,
        warmup_s=float(own.get("warmup_s", 0)),
        seed=seed,
        kind=kind,
        cold=own.get("cache") == "cold",
        load_unit=_load_unit(spec, levels, block, index),
        load_percent=float(own["load_percent"]) if "load_percent" in own else None,
        data_path=str(own["data_path"]) if "data_path" in own else None,
        file_system=of_settings(own),
        policy=str(own[POLICY]) if POLICY in own else None,
        link=link_of(own),
        memory_limit_bytes=int(own["memory_limit_mb"]) * 2**20 if "memory_limit_mb" in own else None,
        command=command,
        values={name: values[name] for name in sorted(command.uses() & set(values))} if command else {},
    )


def _options(adapter: str, settings: Mapping[str, Level]) -> dict[str, Level]:
    """Returns the options of a database among settings, without its prefix."""
    return {
        name.removeprefix(f"{adapter}."): v
        for name, v in settings.items()
        if is_option(name) and name.startswith(f"{adapter}.")
    }


def _load_unit(spec: Spec, levels: Mapping[str, Level], block: int, index: int) -> str | None:
    """Names the load that is made for a run: its own, or one that it shares with a block's runs, or a cell's (over
    design.loads loads), of equal content. None: it starts from a snapshot."""
    if spec.design.load == "run":
        return None
    if spec.design.load == "fresh":
        return f"run-{index + 1}"
    if spec.design.load == "block":
        return f"block-{block + 1}"
    share = block * spec.design.loads // spec.design.replications
    return f"cell-{cells(spec).index(dict(levels)) + 1}-load-{share + 1}"
