"""CPU time per operation on real databases: ours with the driver's own share, and a peer on the same library.

Each driver loads its own database and runs on it, with equal settings as far as the peer has them. Our figure is the
CPU time from the first operation to the last acknowledgement, reported by edgejoule-driver; `settled` includes the work
until nothing is left to do. A peer's figure is the CPU time of its process minus that of a run of one operation on the
same database at rest; it does not settle. Before C, a database that merges is settled and read once: LevelDB compacts
tables that reads had to skip, at a time that depends on the end of the load.
"""

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from contestants import Contestant, Field, YcsbCpp
from figures import Bar, Figure, ratio, table
from process import Cost, cost_of
from work import LOAD, Work

ORDER = (LOAD, "C", "A")  # of the workloads on one database

CACHE_BYTES = 64 * 1024 * 1024
MAP_BYTES = 1024 * 1024 * 1024


@dataclass(frozen=True)
class Engine:
    """A database, with options that make both drivers use it alike."""

    name: str
    records: int
    ours: dict[str, str]
    peer: dict[str, str]
    path_ours: str  # name of the option
    path_peer: str
    merges: bool  # a load leaves work that affects the cost of reads
    differs: str  # settings that cannot be made equal


ENGINES = (
    Engine(
        "sqlite",
        40_000,
        {"sqlite.cache_bytes": str(CACHE_BYTES)},
        {"sqlite.cache_size": str(-CACHE_BYTES // 1024), "sqlite.journal_mode": "WAL", "sqlite.synchronous": "NORMAL"},
        "sqlite.path",
        "sqlite.dbpath",
        merges=False,
        differs="WAL, synchronous=NORMAL, 64 MiB cache, a transaction an operation, a rowid table in both; YCSB-cpp's "
        "key is TEXT, ours VARCHAR(255), the same to SQLite; its checkpoints are SQLite's, ours the same, timed",
    ),
    Engine(
        "leveldb",
        100_000,
        {"leveldb.block_cache_bytes": str(CACHE_BYTES), "leveldb.compression": "none"},
        {"leveldb.cache_size": str(CACHE_BYTES), "leveldb.compression": "no"},
        "leveldb.path",
        "leveldb.dbname",
        merges=True,
        differs="64 MiB cache, no compression, log not synced, no batches, an update reads and writes the row in both; "
        "a row has the same length; ours counts background work by a separate Env and locks the key of an update",
    ),
    Engine(
        "rocksdb",
        100_000,
        {"rocksdb.block_cache_bytes": str(CACHE_BYTES), "rocksdb.options": "compression=kNoCompression"},
        {"rocksdb.cache_size": str(CACHE_BYTES), "rocksdb.compression": "no"},
        "rocksdb.path",
        "rocksdb.dbname",
        merges=True,
        differs="64 MiB cache, no compression, log not synced, no batches, an update reads and writes the row in both; "
        "ours reads into a PinnableSlice without a copy, listens to flushes and compactions, locks an update's key",
    ),
    Engine(
        "lmdb",
        40_000,
        {"lmdb.map_bytes": str(MAP_BYTES), "lmdb.nosync": "true"},
        {"lmdb.mapsize": str(MAP_BYTES), "lmdb.nosync": "true"},
        "lmdb.path",
        "lmdb.dbpath",
        merges=False,
        differs="not synced, 1 GiB map, a transaction an operation in both",
    ),
)


@dataclass
class Case:
    """One line of the table."""

    engine: Engine
    contestant: Contestant
    workload: str
    per_op_ns: Figure = field(default_factory=Figure)
    settled_per_op_ns: Figure = field(default_factory=Figure)
    driver_per_op_ns: Figure = field(default_factory=Figure)
    driver_share: Figure = field(default_factory=Figure)


class Engines:
    """The section of the bench: rounds, then the table."""

    name = "engines"
    title = "CPU time per operation on real databases, 1 thread"

    def __init__(
        self, contestants: Field, note: Callable[[str], None], *, rounds: int, shrink: int, folder: Path
    ) -> None:
        self._field = contestants
        self._note = note
        self._rounds = rounds
        self._folder = folder
        self._shrink = shrink
        built_in = contestants.ours.engines()
        self.engines = [engine for engine in ENGINES if engine.name in built_in]
        self.left_out = [engine.name for engine in ENGINES if engine.name not in built_in]
        drivers = [contestants.ours, *(peer for peer in contestants.peers if isinstance(peer, YcsbCpp))]
        self._versions: dict[str, str] = {}
        self._at_rest: dict[tuple[str, str], Cost] = {}  # cost of a run of one operation
        self.cases = [
            Case(engine, driver, workload) for engine in self.engines for driver in drivers for workload in ORDER
        ]

    def round(self, number: int) -> None:
        """Loads and works on each database once with each driver."""
        if number >= self._rounds:
            return
        for case in self.cases:
            self._note(f"{case.contestant.name} {case.engine.name} {case.workload}")
            directory = self._folder / f"{case.engine.name}-of-{type(case.contestant).__name__}"
            if case.workload == LOAD:
                shutil.rmtree(directory, ignore_errors=True)
                directory.mkdir(parents=True)
            records = case.engine.records // self._shrink
            work = Work(case.workload, records, records if case.workload == LOAD else 2 * records)
            if case.contestant is self._field.ours:
                self._measure_ours(case, work, directory)
            else:
                self._measure_peer(case, work, directory)
            if case.workload == ORDER[-1]:
                shutil.rmtree(directory)

    def shown(self) -> str:
        """Returns the table, with notes on differences between the drivers."""
        head = ("engine", "workload", "driver", "ns/op", "[least, most]", "to ours", "settled", "driver's own", "share")
        lines = [table(head, (self._row(case) for case in self.cases), left=3)]
        lines += [f"{engine.name}: {engine.differs}." for engine in self.engines]
        lines.append(f"Versions: {', '.join(f'{name} {version}' for name, version in self._versions.items())}.")
        if self.left_out:
            lines.append(f"Not built into edgejoule-driver: {', '.join(self.left_out)}.")
        return "\n".join(lines)

    def bars(self) -> list[Bar]:
        """Returns no bars."""
        return []

    def as_json(self) -> list[dict[str, Any]]:
        """Returns every figure of every round."""
        return [
            {
                "engine": case.engine.name,
                "version": self._versions.get(case.engine.name),
                "driver": case.contestant.name,
                "workload": case.workload,
                "cpu_per_op_ns": case.per_op_ns.values,
                "settled_cpu_per_op_ns": case.settled_per_op_ns.values,
                "driver_cpu_per_op_ns": case.driver_per_op_ns.values,
                "driver_share": case.driver_share.values,
            }
            for case in self.cases
        ]

    def _measure_ours(self, case: Case, work: Work, directory: Path) -> None:
        ours = self._field.ours
        options = case.engine.ours | {case.engine.path_ours: str(directory / "data")}
        if case.workload == "C" and case.engine.merges:
            cost_of(ours.engine_command(case.engine.name, options, work))
        cost_of(ours.engine_command(case.engine.name, options, work))
        self._versions[case.engine.name] = ours.event("start")["database"]["version"]
        for kind, figure in (("active_end", case.per_op_ns), ("settled", case.settled_per_op_ns)):
            cpu_ns = ours.cpu_ns(kind)
            figure.add(None if cpu_ns is None else cpu_ns / work.operations)
        share = ours.event("end")["driver_share"]
        if share is not None:
            case.driver_per_op_ns.add(share["driver_cpu_ns_per_op"])
            case.driver_share.add(share["driver_cpu_ns_per_op"] / share["run_cpu_ns_per_op"])

    def _measure_peer(self, case: Case, work: Work, directory: Path) -> None:
        def run(the_work: Work, place: Path) -> Cost:
            options = case.engine.peer | {case.engine.path_peer: str(place)}
            return cost_of(case.contestant.engine_command(case.engine.name, options, the_work))

        database = directory / "data"
        key = case.engine.name, case.contestant.name
        if case.workload == LOAD:
            start = run(Work(LOAD, 1, 1), directory / "empty")
        elif case.workload == "C":
            one = Work("C", work.records, 1)
            self._settle(case.engine, database, work.records)
            run(work if case.engine.merges else one, database)
            start = self._at_rest[key] = run(one, database)
        else:
            start = self._at_rest[key]
        many = run(work, database)
        case.per_op_ns.add((many.cpu_ns - start.cpu_ns) / (work.operations - 1))

    def _settle(self, engine: Engine, database: Path, records: int) -> None:
        """Lets edgejoule-driver settle the peer's database, which adds one row."""
        if engine.merges:
            options = engine.ours | {engine.path_ours: str(database)}
            cost_of(self._field.ours.insert_one_command(engine.name, options, records))

    def _row(self, case: Case) -> tuple[str, ...]:
        ours = next(c for c in self.cases if (c.engine, c.workload) == (case.engine, case.workload))
        return (
            case.engine.name,
            case.workload,
            case.contestant.name,
            case.per_op_ns.shown(),
            case.per_op_ns.spread(),
            ratio(case.per_op_ns, ours.per_op_ns),
            case.settled_per_op_ns.shown(),
            case.driver_per_op_ns.shown(),
            "-" if case.driver_share.median is None else f"{case.driver_share.median * 100:.1f} %",
        )
