"""The rounds of a trial, one after the other; each is kept as soon as it has ended."""

from __future__ import annotations

import csv
import json
import random
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from edgejoule.errors import FederationError
from edgejoule.federation.db_bench import Bench, Fill, begin
from edgejoule.federation.decisions import joined
from edgejoule.federation.energy import METHOD, Meter
from edgejoule.federation.federation import Federation, Programs, Timing
from edgejoule.federation.leftovers import remove_leftovers
from edgejoule.federation.namespaces import Namespaces
from edgejoule.federation.shares import CpuGroups
from edgejoule.federation.trial.spec import Link, Place, Trial, servers_of

ENDS_S = 120.0  # that compactions may take after the last write

Record = dict[str, Any]

# Slow servers answer slowly; a quota's period is 20 ms.
TIMING = Timing(beat_ms=500, alive_ms=5000, lease_ms=5000, place_timeout_ms=400)


def run_trial(
    trial: Trial, file: Path, programs: Programs, folder: Path, out: Path, say: Callable[[str], None]
) -> None:
    """Adds to `out`, a JSON line for each round. folder: of databases and logs. Needs root."""
    for left in remove_leftovers():
        say(f"removed what an earlier run left: {left}")
    for link in trial.links:
        with _federation(trial, file, link, programs, folder / link.name) as federation:
            say(f"{link.name}: {federation.network.about}; {federation.shares.about}")
            for number, plan in enumerate(_plan(trial, link)):
                record = _Round(trial, link, federation, number, **plan).run()
                with out.open("a") as lines:
                    lines.write(json.dumps(record) + "\n")
                say(_line(record))


@contextmanager
def _federation(trial: Trial, file: Path, link: Link, programs: Programs, folder: Path) -> Iterator[Federation]:
    network = Namespaces(link.rate_mbit_s, link.delay_ms, encrypted=link.encrypted)
    servers = servers_of(trial, file, link)
    with Federation(servers, programs, folder, shares=CpuGroups(), network=network, timing=TIMING) as federation:
        yield federation


def _plan(trial: Trial, link: Link) -> Iterator[Record]:
    """Policies in another order in each round."""
    dice = random.Random(f"{trial.seed} {link.name}")
    for policy in trial.learn:
        for value_bytes in trial.database.value_bytes:
            yield {"policy": policy, "turn": -1, "value_bytes": value_bytes, "duration_s": trial.learn_s}
    for turn in range(trial.rounds):
        cells = [(policy, size) for policy in trial.policies for size in trial.database.value_bytes]
        for policy, value_bytes in dice.sample(cells, len(cells)):
            yield {"policy": policy, "turn": turn, "value_bytes": value_bytes, "duration_s": trial.duration_s}


class _Round:
    def __init__(
        self,
        trial: Trial,
        link: Link,
        federation: Federation,
        number: int,
        *,
        policy: str,
        turn: int,
        value_bytes: int,
        duration_s: int,
    ) -> None:
        self.trial, self.link, self.federation = trial, link, federation
        self.number, self.policy, self.turn = number, policy, turn
        self.value_bytes, self.duration_s = value_bytes, duration_s

    def run(self) -> Record:
        federation = self.federation
        federation.set_policy(self.policy)
        federation.wait(federation.idle, "jobs of the round before do not end")
        loaded = [place for place in self.trial.servers if place.loaded]
        begun_s = time.time()
        meter = Meter(federation)
        benches = {place.name: self._begin(place) for place in loaded}
        self._wait(benches)
        results = {name: bench.result() for name, bench in benches.items()}
        moved: dict[str, float] = {}
        for filled in results.values():
            for server, moved_bytes in filled.moved_bytes.items():
                moved[server] = moved.get(server, 0) + moved_bytes
        output = {name: written(bench.process.text()) for name, bench in benches.items()}
        energies = meter.read(moved, max(writing_s for writing_s, _ in output.values()))
        decisions = joined(federation.decisions(server.name, begun_s) for server in federation.servers)
        servers: Record = {
            name: {"cpu_s": energy.cpu_s, "marginal_j": energy.marginal_j, "idle_j": energy.idle_j}
            for name, energy in energies.items()
        }
        for name, filled in results.items():
            folder = federation.place(name).folder
            log = (folder / "db" / "LOG").read_text(errors="replace")
            writing_s, operations = output[name]
            servers[name] |= {
                "operations": operations,
                "writing_s": writing_s,
                "stall_s": filled.stall_s,
                "offloaded": dict(filled.offloaded),
                "kept": filled.kept,
                "fell_back": filled.fell_back,
                "flushes": log.count('"event": "flush_finished"'),
                "compactions": compactions(log),
                "seconds": operations_by_second(folder / "db.csv"),
            }
        return {
            "trial": self.trial.name,
            "link": self.link.name,
            "policy": self.policy,
            "turn": self.turn,
            "value_bytes": self.value_bytes,
            "begun_s": begun_s,
            "took_s": time.time() - begun_s,
            "energy": METHOD,
            "watts": {s.name: [s.busy_core_w, s.idle_w, s.transfer_j_per_byte] for s in federation.servers},
            "servers": servers,
            "decisions": decisions,
        }

    def _begin(self, place: Place) -> Bench:
        database, folder = self.trial.database, self.federation.place(place.name).folder
        for old in ("db.log", "db.csv"):
            (folder / old).unlink(missing_ok=True)
        limit = [f"--benchmark_write_rate_limit={place.writes_mb_s * 1e6:.0f}"] if place.writes_mb_s else []
        fill = Fill(
            operations=database.keys,
            value_bytes=self.value_bytes,
            seed=self.trial.seed + self.number,
            write_buffer_bytes=database.write_buffer_kb << 10,
            level0_trigger=database.level0_trigger,
            level0_slowdown=database.level0_slowdown,
            level0_stop=database.level0_stop,
            background_jobs=database.background_jobs,
            compression=database.compression,
            asks=place.asks,
            options=[
                f"--duration={self.duration_s}",
                "--report_interval_seconds=1",
                f"--report_file={folder / 'db.csv'}",
                *limit,
                *database.options,
            ],
        )
        return begin(self.federation, place.name, fill)

    def _wait(self, benches: dict[str, Bench]) -> None:
        end = time.monotonic() + self.duration_s + ENDS_S
        while any(bench.process.runs() for bench in benches.values()):
            if time.monotonic() > end:
                raise FederationError(f"a round of {self.duration_s} s has not ended {ENDS_S:g} s later")
            time.sleep(0.1)


def written(text: str) -> tuple[float, int]:
    """Seconds and operations of what db_bench prints."""
    found = re.search(r"^fillrandom\s*:.*?([\d.]+) seconds (\d+) operations", text, re.MULTILINE)
    if not found:
        raise FederationError(f"db_bench's output has no fillrandom: {text[-500:]}")
    return float(found[1]), int(found[2])


def operations_by_second(file: Path) -> list[int]:
    """db_bench's report file."""
    with file.open() as lines:
        return [int(row["interval_qps"]) for row in csv.DictReader(lines)]


def compactions(log: str) -> Record:
    """Of a database's LOG: seconds and CPU seconds by the number of the job."""
    found: Record = {}
    for line in log.splitlines():
        _, mark, event = line.partition("EVENT_LOG_v1 ")
        if not mark or '"compaction_finished"' not in event:
            continue
        values = json.loads(event)
        found[str(values["job"])] = [
            values["compaction_time_micros"] * 1e-6,
            values["compaction_time_cpu_micros"] * 1e-6,
        ]
    return found


def _line(record: Record) -> str:
    turn = "learns" if record["turn"] < 0 else f"round {record['turn'] + 1}"
    parts = [
        f"{name} {each['operations'] / each['writing_s']:,.0f} ops/s, {each['stall_s']:.1f} s stalled, "
        f"{sum(each['offloaded'].values())} away, {each['kept']} here"
        for name, each in record["servers"].items()
        if "operations" in each
    ]
    return f"{record['policy']}, {record['value_bytes']} B, {turn}, {record['took_s']:.0f} s: " + "; ".join(parts)
