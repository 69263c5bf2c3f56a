"""An update on a server reads no record before it writes, by the counters of the server. Only key-value stores merge:
driver/adapters/tests/contract_test.cc and driver/tests/test_driver_cli.py test the reads that their client counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from edgejoule.store import Run

from .studies import Study
from .test_mongodb import REAL

pytestmark = pytest.mark.server


class Counted(NamedTuple):
    """How a server counts. reads, write: its counters. opening: reads of a client that opens it and does no work.

    updates: levels of the property `update`. The real YCSB does not know it.
    """

    database: str
    reads: tuple[str, ...]
    write: str
    opening: int = 0
    updates: tuple[str, ...] = ("put", "merge")
    fixed: str = ""

    def reads_in(self, run: Run) -> int:
        """Reads of records. PostgreSQL also counts the one scan by which an UPDATE finds its row."""
        counters: Mapping[str, int] = run.facts["server"]["operations"]
        own = counters["n_tup_upd"] if self.database == "postgres" else 0
        return sum(counters.get(name, 0) for name in self.reads) - own - self.opening


SERVERS = [
    Counted("redis", ("hgetall", "hmget", "hget"), "hset"),
    Counted("mongodb", ("query", "getmore"), "update", opening=1),  # is the collection empty?
    Counted("postgres", ("idx_scan", "seq_scan"), "n_tup_upd"),
    pytest.param(
        Counted("cassandra", ("read", "scan"), "write", updates=("put",), fixed='"cassandra.preset" = "1gb-board"'),
        marks=pytest.mark.slow,
    ),
    pytest.param(
        Counted("hbase", ("read",), "write", updates=("put",), fixed='"hbase.preset" = "1gb-board"'),
        marks=pytest.mark.slow,
    ),
]


def measured(folder: Path, server: Counted, updates: float) -> Study:
    """A run for each level of the property `update`. updates: their share; the other operations read."""
    study = Study(
        folder, server.database, f"update = {list(server.updates)}",
        f"writeallfields = true\n{server.fixed}", "insertproportion = 0\nscanproportion = 0",
    )  # fmt: skip
    if server.database == "mongodb" and not REAL:
        spec = folder / "experiment.toml"
        text = spec.read_text().replace('["mongodb"]', '["mongodb-stand-in"]')
        spec.write_text(f'{text}[databases.mongodb-stand-in]\nadapter = "mongodb"\n')
    proportions = {"updateproportion": updates, "readproportion": 1 - updates}
    code, said = study.run(*(f"--set=workloads.mixed.{name}={share}" for name, share in proportions.items()))
    assert code in (0, 3), said
    assert study.left() == []
    assert len(study.runs()) == len(server.updates)
    return study


@pytest.mark.parametrize("server", SERVERS, ids=lambda server: server.database)
def test_an_update_reads_nothing_and_a_read_is_counted(tmp_path: Path, server: Counted) -> None:
    updating, mixed = tmp_path / "updating", tmp_path / "mixed"
    updating.mkdir()
    mixed.mkdir()
    for run in measured(updating, server, 1.0).runs():
        assert run.facts["update_semantics"] == ("put" if "merge" not in server.updates else "native")
        assert run.facts["server"]["operations"][server.write] == 2000
        assert server.reads_in(run) == 0
    study = measured(mixed, server, 0.5)
    for run in study.runs():
        latencies = study.events(run)[-1]["latencies"]
        reads = sum(x["count"] for x in latencies if x["operation"] == "READ" and x.get("measure") != "intended")
        assert 900 < reads < 1100
        assert server.reads_in(run) == reads
