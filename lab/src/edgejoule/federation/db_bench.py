"""An unmodified db_bench on a server of a federation, and what came out."""

from __future__ import annotations

import re
import shutil
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from edgejoule.errors import FederationError
from edgejoule.federation.federation import Federation
from edgejoule.federation.processes import Process

_ECO = re.compile(
    r"\[eco\] job \S+: "
    r"(?:compacted by (?P<worker>\S+) in|(?P<kept>compacted here: )|(?P<back>.*); compacted here after)"
)


@dataclass(frozen=True)
class Fill:
    """fillrandom on an empty database, until its compactions have ended.

    level1_bytes: 0: eight write buffers. options: further words for db_bench. asks: its RocksDB asks the server's ecod
    where to compact.
    """

    operations: int = 100_000
    value_bytes: int = 400
    seed: int = 1
    write_buffer_bytes: int = 1 << 19
    level1_bytes: int = 0
    level0_trigger: int = 4
    level0_slowdown: int = 8
    level0_stop: int = 12
    background_jobs: int = 2
    compression: str = "none"
    options: Sequence[str] = ()
    asks: bool = True

    def words(self, database: Path) -> list[str]:
        """The command."""
        return [
            "db_bench",
            "--benchmarks=fillrandom,waitforcompaction",
            f"--db={database}",
            f"--num={self.operations}",
            f"--value_size={self.value_bytes}",
            f"--seed={self.seed}",
            f"--write_buffer_size={self.write_buffer_bytes}",
            f"--target_file_size_base={2 * self.write_buffer_bytes}",
            f"--max_bytes_for_level_base={self.level1_bytes or 8 * self.write_buffer_bytes}",
            f"--level0_file_num_compaction_trigger={self.level0_trigger}",
            f"--level0_slowdown_writes_trigger={self.level0_slowdown}",
            f"--level0_stop_writes_trigger={self.level0_stop}",
            f"--max_background_jobs={self.background_jobs}",
            f"--compression_type={self.compression}",
            "--statistics=1",
            *self.options,
        ]


@dataclass(frozen=True)
class Filled:
    """What a run gave. Compactions are those of level 0 that eco was asked about.

    stall_s: that RocksDB let writers wait. moved_bytes: to and from each worker, by RocksDB's count of what remote
    compactions read and wrote, shared out by the jobs. decisions: of the server's ecod (LoggedDecision of eco.proto).
    """

    throughput_ops_s: float
    fill_s: float
    stall_s: float
    offloaded: Mapping[str, int]
    kept: int
    fell_back: int
    flushed_bytes: float
    compacted_bytes: float
    moved_bytes: Mapping[str, float]
    decisions: Sequence[dict[str, Any]] = field(default=(), repr=False)

    @property
    def jobs_offloaded(self) -> int:
        """To all workers."""
        return sum(self.offloaded.values())


class Bench:
    """A db_bench that runs. Of several at a time each fills a database of its own."""

    def __init__(self, federation: Federation, server: str, fill: Fill, database: Path, log: Path) -> None:
        self._federation, self._server, self._fill, self._database = federation, server, fill, database
        self._begun_s = time.time()
        shutil.rmtree(database, ignore_errors=True)
        environment = federation.with_preload(server) if fill.asks else {}
        self.process: Process = federation.start(server, fill.words(database), log, environment)

    def result(self) -> Filled:
        """Waits for it. Raises FederationError: it failed, or the preload library did not work."""
        status, text = self.process.wait(), self.process.text()
        if status or self._fill.asks != ("eco: attached " in text):
            raise FederationError(f"db_bench on {self._server} ended with {status}: {text[-2000:].strip()}")
        decisions = self._federation.decisions(self._server, self._begun_s)
        log = (self._database / "LOG").read_text(errors="replace")
        return read_result(self._fill, text, log, self._server, decisions)


def begin(federation: Federation, server: str, fill: Fill, name: str = "db") -> Bench:
    """Start it. name: of the database and of its log, in the server's folder."""
    folder = federation.place(server).folder
    return Bench(federation, server, fill, folder / name, folder / f"{name}.log")


def fill(federation: Federation, server: str, what: Fill, name: str = "db") -> Filled:
    """Start it and wait for it. The database stays until the next of its name."""
    (federation.place(server).folder / f"{name}.log").unlink(missing_ok=True)
    return begin(federation, server, what, name).result()


def read_result(fill: Fill, text: str, log: str, server: str, decisions: Sequence[dict[str, Any]] = ()) -> Filled:
    """Of what db_bench prints and of the database's LOG."""
    throughput = _number(r"^fillrandom\s*:.*?([\d.]+) ops/sec", text)
    jobs = list(_ECO.finditer(log))
    offloaded = dict(Counter(job["worker"] for job in jobs if job["worker"]))
    moved = sum(_number(rf"^rocksdb\.remote\.compact\.{way}\.bytes COUNT : (\d+)", text) for way in ("read", "write"))
    count = sum(offloaded.values())
    moved_bytes = {worker: moved * jobs / count for worker, jobs in offloaded.items()}
    return Filled(
        throughput_ops_s=throughput,
        fill_s=fill.operations / throughput,
        stall_s=_number(r"^rocksdb\.stall\.micros COUNT : (\d+)", text) * 1e-6,
        offloaded=offloaded,
        kept=sum(job["kept"] is not None for job in jobs),
        fell_back=sum(job["back"] is not None for job in jobs),
        flushed_bytes=_number(r"^rocksdb\.flush\.write\.bytes COUNT : (\d+)", text),
        compacted_bytes=_number(r"^rocksdb\.compact\.write\.bytes COUNT : (\d+)", text),
        moved_bytes={**moved_bytes, **({server: moved} if moved else {})},
        decisions=decisions,
    )


def _number(pattern: str, text: str) -> float:
    found = re.search(pattern, text, re.MULTILINE)
    if not found:
        raise FederationError(f"db_bench's output has no {pattern}: {text[-500:]}")
    return float(found[1])
