"""Small studies on servers, as a user calls them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from edgejoule.database_servers.record import FILE, Record
from edgejoule.databases.driver import adapters
from edgejoule.machine.processes import files_of_processes
from edgejoule.store import Run, Store

SPEC = """\
name = "served"
question = "Does a study on a server work from end to end?"

[factors]
database = ["{database}"]
{factor}
workload = ["mixed"]

[fixed]
recordcount = 500
operationcount = 2000
threads = 2
{fixed}

[workloads.mixed]
readproportion = 0.5
updateproportion = 0.5
requestdistribution = "zipfian"
{workload}

[design]
replications = 1
seed = 5
order = "as-written"

[timing]
idle_s = 0.25
run_timeout_s = 120

[meter]
run_s_min = 0
"""


def needs(database: str) -> None:
    adapter = adapters()[database]
    if not adapter.available:
        pytest.skip(f"{database}: {adapter.fix}")


class Study:
    """A study in a separate folder."""

    def __init__(self, folder: Path, database: str, factor: str = "", fixed: str = "", workload: str = "") -> None:
        needs(database)
        self.folder, self.store = folder, folder / "results/store.db"
        text = SPEC.format(database=database, factor=factor, fixed=fixed, workload=workload)
        (folder / "experiment.toml").write_text(text)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", "from edgejoule.cli.main import main; main()", "run", "experiment.toml"]
        return subprocess.Popen(
            [*command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.folder,
            env={k: v for k, v in os.environ.items() if k != "COLUMNS"},
        )  # fmt: skip

    def run(self, *arguments: str, limit_s: float = 300) -> tuple[int, str]:
        """Exit code and what was said, which must not take beyond its deadline."""
        with self.start(*arguments) as process:
            out, errors = process.communicate(timeout=limit_s)
        assert "Traceback" not in errors, errors
        return process.returncode, out + errors

    def runs(self) -> list[Run]:
        with Store.open(self.store) as store:
            return store.runs(store.find().id)

    def events(self, run: Run) -> list[dict[str, Any]]:
        with Store.open(self.store) as store:
            return [dict(event) for event in store.data(run).events]

    def record(self, run: Run) -> dict[str, Any]:
        record: dict[str, Any] = json.loads(json.dumps(run.record("served")))
        return record

    def server_under_load(self, process: subprocess.Popen[str]) -> Record:
        """That of the first run, some operations into it."""
        return until(lambda: self._served_run(), process)

    def _served_run(self) -> Record | None:
        record = Record.read(self.folder / "results/data/run")
        if record is None or record.processes[-1].cpu_s() < 0.2:
            return None
        return record

    def left(self) -> list[str]:
        """Records of servers and processes with the study's folder in their command lines."""
        files = [str(file) for file in self.folder.glob(f"**/{FILE}")]
        for entry in files_of_processes("cmdline"):
            try:
                argv = entry.read_bytes()
            except OSError:
                continue
            if str(self.folder).encode() in argv:
                files.append(argv.decode(errors="replace"))
        return files


def until(holds: Callable[[], Any], process: subprocess.Popen[str], most_s: float = 120) -> Any:
    end = time.monotonic() + most_s
    while not (holders := holds()):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.02)
    return holders
