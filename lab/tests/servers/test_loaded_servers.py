"""A command on several servers of a federation at once."""

from __future__ import annotations

import json
import os
import re
import shutil
import statistics
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from command_line import edgejoule

from edgejoule.commands.client import CommandRun
from edgejoule.commands.on_servers import joined, run_together
from edgejoule.commands.shells import ShellStart
from edgejoule.commands.supervisor import Repetition
from edgejoule.databases.checks import not_here
from edgejoule.eco.federation.namespaces import NAMED, why_no_namespaces
from edgejoule.errors import DatabaseError, SpecError
from edgejoule.experiment.plan import make_plan
from edgejoule.experiment.read import load_spec
from edgejoule.machine import cgroup
from edgejoule.machine.network import Link
from edgejoule.machine.storage_counters import StorageCounters
from edgejoule.store import Store
from edgejoule.study.command_figures import cpu_seconds
from edgejoule.study.executions import Execution, intervals_of

ROOT = Path(__file__).resolve().parents[3]
SPEC = """\
name = "loaded"
question = "Who compacts for whom?"

[factors]
"eco.policy" = ["local", "static:high"]

[fixed]
database = "rocksdb"
workload = "fill"
num = 40_000

[workloads.fill]
servers = ["low", "mid"]
command = [
  "db_bench", "--benchmarks=fillrandom,waitforcompaction", "--db={data}", "--num={num}", "--seed={block_seed}",
  "--write_buffer_size=524288", "--level0_file_num_compaction_trigger=2", "--statistics=1",
]
env = { LD_PRELOAD = "{eco_preload}", ECO_CONFIG = "{eco_config}" }

[workloads.fill.per_server.mid]
num = 20_000

[responses.operations]
regex = '^fillrandom.* seconds ([0-9]+) operations'

[responses.fill_ops_s]
regex = '^fillrandom.*?([0-9.]+) ops/sec'
of_servers = "sum"

[servers.low]
share = 0.4
busy_w = 2.0
idle_w = 1.0

[servers.mid]
share = 0.4
busy_w = 4.0
idle_w = 2.0

[servers.high]
share = 0.8
busy_w = 20.0
idle_w = 10.0

[design]
replications = 1

[timing]
idle_s = 0.6

[meter]
run_s_min = 0

[analysis]
responses = ["fill_ops_s", "fill_ops_s@low", "cpu_s@mid", "energy_j@high"]
"""


def written(folder: Path, old: str = "", new: str = "") -> Path:
    assert old in SPEC
    file = folder / "experiment.toml"
    file.write_text(SPEC.replace(old, new, 1) if old else SPEC)
    return file


def ran(start_ns: int, end_ns: int, text: str = "", **more: Any) -> CommandRun:
    amounts = {
        "exit_code": 0, "signal": None, "cpu_user_s": 1.0, "cpu_system_s": 0.5, "rss_peak_bytes": 10,
        "voluntary_switches": 3, "involuntary_switches": 1, "read_bytes": 7, "write_bytes": 9, "ended": 0,
    }  # fmt: skip
    events = [
        {"event": "start", "monotonic_ns": start_ns},
        {"event": "active_end", "monotonic_ns": end_ns, "active_start_ns": start_ns},
        {"event": "settled", "monotonic_ns": end_ns, "complete": True},
        {"event": "end", "monotonic_ns": end_ns + 1},
    ]
    repetition = Repetition(start_ns=start_ns, end_ns=end_ns, **(amounts | more))
    return CommandRun([repetition], events, text, len(text), StorageCounters(end_ns, end_ns))


def test_a_joint_run_is_from_the_first_start_to_the_last_end_and_sums_what_was_used() -> None:
    both = joined({"low": ran(100, 900, "a\n"), "mid": ran(120, 500, "b\n", rss_peak_bytes=30, read_bytes=None)})
    (whole,) = both.repetitions
    assert (whole.start_ns, whole.end_ns, whole.cpu_user_s, whole.write_bytes) == (100, 900, 2.0, 18)
    assert (whole.rss_peak_bytes, whole.read_bytes) == (30, None), "the largest process; unknown on one server"
    assert both.storage == StorageCounters(900, 900), "one device, counted once"
    assert both.text.splitlines() == ["low: a", "mid: b"]
    assert {event["server"] for event in both.events} == {"low", "mid"}
    intervals = intervals_of([Execution.of(both.events)])
    assert (intervals.active_start_ns, intervals.active_end_ns, intervals.settled_end_ns) == (100, 900, 900)


def test_of_a_text_each_server_has_started_a_shell() -> None:
    both = joined({"low": ran(100, 900), "mid": ran(120, 500)})
    assert cpu_seconds(both, ShellStart(0.0, 0.25)) == pytest.approx(3.0 - 2 * 0.25)
    assert cpu_seconds(ran(100, 900), ShellStart(0.0, 0.25)) == pytest.approx(1.5 - 0.25)


class FakeClient:
    """Runs until it is stopped, or fails when all are ready."""

    def __init__(self, ready: Callable[[], object], error: Exception | None = None) -> None:
        self.ready, self.error, self.stopped = ready, error, threading.Event()

    def run(self) -> CommandRun:
        self.ready()
        if self.error:
            raise self.error
        assert self.stopped.wait(30), "the other one is stopped"
        raise DatabaseError("was stopped")

    def stop(self) -> None:
        self.stopped.set()


def test_the_first_command_that_fails_stops_the_others_and_is_the_one_reported() -> None:
    clients: dict[str, FakeClient] = {}

    def make(server: str, ready: Callable[[], object]) -> Any:
        clients[server] = FakeClient(ready, DatabaseError("no space") if server == "mid" else None)
        return clients[server]

    with pytest.raises(DatabaseError, match="on mid: no space"):
        run_together(["low", "mid"], make)
    assert clients["low"].stopped.is_set()


def test_a_command_that_fails_before_all_are_ready_ends_the_wait_of_the_others() -> None:
    def make(server: str, ready: Callable[[], object]) -> Any:
        def refused() -> None:
            raise DatabaseError("prepare failed")

        return FakeClient(refused if server == "mid" else ready)

    with pytest.raises(DatabaseError, match="on mid: prepare failed"):
        run_together(["low", "mid"], make)


@pytest.mark.parametrize(
    ("old", "new", "phrase"),
    [
        ('["low", "mid"]', '["low", "mid", "hihg"]', "'hihg': no server is named so; did you mean 'high'"),
        ('["low", "mid"]', '["low", "low", "mid"]', "names a server twice"),
        ('["low", "mid"]', '["low"]', "the command does not run there"),
        ("num = 20_000", "nmu = 20_000", "the command does not contain {nmu}"),
        ("num = 20_000", "block_seed = 1", "{block_seed} is filled in by the run"),
        ("run_s_min = 0", "", "set run_s_min = 0"),
        ("env = {", 'phase = "p"\nenv = {', "phase is of one command on one server"),
        ('"cpu_s@mid"', '"cpu_s@high"', "of the servers that a command runs on, which are low, mid"),
        ('"cpu_s@mid"', '"rss_peak_mb@mdi"', "no server is named so; did you mean 'mid'"),
        ('"cpu_s@mid"', '"device_write_bytes@mid"', "unknown response"),
    ],
)
def test_what_cannot_run_on_several_servers_is_refused(old: str, new: str, phrase: str, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=re.escape(phrase)):
        load_spec(written(tmp_path, old, new))


def test_responses_of_one_server_need_a_command_on_several(tmp_path: Path) -> None:
    text = SPEC.replace('servers = ["low", "mid"]\n', "").replace("[workloads.fill.per_server.mid]\nnum = 20_000", "")
    (tmp_path / "experiment.toml").write_text(text)
    with pytest.raises(SpecError, match="unknown response 'fill_ops_s@low'"):
        load_spec(tmp_path / "experiment.toml")


@pytest.mark.parametrize(
    ("old", "new", "phrase"),
    [
        ("num = 40_000", 'num = 40_000\n"network.delay_ms" = 2000', "expected at most 1000, got 2000"),
        ("num = 40_000", 'num = 40_000\n"network.rate" = 100', "unknown setting; did you mean 'network.rate_mbit_s'"),
        (
            "[meter]",
            '[federation]\ncontrol = "c"\nsettings = "s"\n[meter]',
            "a command runs on this one; name the first",
        ),
    ],
)
def test_a_network_that_cannot_be_made_is_refused(old: str, new: str, phrase: str, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=re.escape(phrase)):
        load_spec(written(tmp_path, old, new))


def test_a_network_needs_servers_that_are_shares_of_this_machine(tmp_path: Path) -> None:
    factors = 'database = ["rocksdb"]\n"network.delay_ms" = [1, 10]'
    text = f'name = "n"\nquestion = "?"\n[factors]\n{factors}\n[fixed]\nworkload = "workloada"\n'
    (tmp_path / "experiment.toml").write_text(text)
    with pytest.raises(SpecError, match="no servers whose network it is"):
        load_spec(tmp_path / "experiment.toml")


def test_the_network_is_a_factor_and_loopback_by_default(tmp_path: Path) -> None:
    assert {planned.link for planned in make_plan(load_spec(written(tmp_path)))} == {None}
    network = 'workload = "fill"\n"network.encrypted" = false'
    spec = load_spec(written(tmp_path, 'workload = "fill"', network), ["factors.network.rate_mbit_s=[0, 100]"])
    links = {planned.link for planned in make_plan(spec)}
    assert links == {Link(0.0, 0.0, encrypted=False), Link(100.0, 0.0, encrypted=False)}


def test_without_root_a_study_with_a_network_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    plan = make_plan(load_spec(written(tmp_path, "num = 40_000", 'num = 40_000\n"network.delay_ms" = 2')))
    assert any("network namespaces need root; run as root, or leave" in message for message in not_here(plan))


@pytest.mark.slow
@pytest.mark.root
@pytest.mark.skipif(why_no_namespaces() is not None, reason=f"{why_no_namespaces()}")
@pytest.mark.skipif(not (ROOT / "build/lib/libeco-service.so").exists(), reason="make eco builds it")
@pytest.mark.skipif(shutil.which("db_bench") is None, reason="rocksdb-tools are not installed")
def test_on_a_slow_link_tables_take_longer_and_each_server_keeps_what_it_learnt(tmp_path: Path) -> None:
    text = SPEC.replace('["local", "static:high"]', '["static:high"]\n"network.rate_mbit_s" = [0, 20]')
    text += '[[when]]\n"network.rate_mbit_s" = 0\nset = { "network.encrypted" = false }\n'
    (tmp_path / "experiment.toml").write_text(text)
    done = edgejoule(tmp_path, "run", "experiment.toml")
    assert done.returncode in (0, 3), done.stderr
    took_s: dict[object, list[float]] = {}
    with Store.open(tmp_path / "results/store.db") as store:
        for run in store.runs(store.find().id):
            decided = [e for e in store.data(run).events if e["event"] == "decision" and e["outcome"] == "installed"]
            took_s[run.levels["network.rate_mbit_s"]] = [event["actual_s"] for event in decided]
            assert next(r.value for r in run.responses if r.name == "energy_j@high") > 0
            assert any(event["predicted_s"] for event in decided), (
                "learnt before, by an ecod that was started anew since"
            )
    assert statistics.median(took_s[20]) > 2 * statistics.median(took_s[0])
    assert not list(NAMED.glob("ejfed-*-mid")), "no namespace is left"
    assert not list(cgroup.ROOT.glob("**/edgejoule-*-mid")), "and no group"


@pytest.mark.slow
@pytest.mark.skipif(not (ROOT / "build/lib/libeco-service.so").exists(), reason="make eco builds it")
@pytest.mark.skipif(shutil.which("db_bench") is None, reason="rocksdb-tools are not installed")
def test_each_loaded_server_has_its_own_data_seed_and_figures(tmp_path: Path) -> None:
    done = edgejoule(tmp_path, "run", str(written(tmp_path)))
    assert done.returncode in (0, 3), done.stderr
    with Store.open(tmp_path / "results/store.db") as store:
        runs = store.runs(store.find().id)
        events = {run.levels["eco.policy"]: list(store.data(run).events) for run in runs}
    for run in runs:
        values = {r.name: r.value for r in run.responses}
        assert (values["operations"], values["operations@low"], values["operations@mid"]) == (60_000, 40_000, 20_000)
        assert values["fill_ops_s"] == pytest.approx(values["fill_ops_s@low"] + values["fill_ops_s@mid"])
        assert values["cpu_s"] == pytest.approx(values["cpu_s@low"] + values["cpu_s@mid"])
        assert values["active_s"] >= max(values["active_s@low"], values["active_s@mid"])
        assert values["throughput_ops_s"] == pytest.approx(60_000 / values["active_s"])
        assert values["energy_per_op_uj@high"] == pytest.approx(values["energy_j@high"] / 60_000 * 1e6)
        installed = [e["home"] for e in events[run.levels["eco.policy"]] if e.get("outcome") == "installed"]
        assert bool(installed) == (run.levels["eco.policy"] == "static:high")
        for name in ("low", "mid"):
            assert values[f"remote_compactions@{name}"] == installed.count(name)
        assert values["remote_compactions"] == values["remote_compactions@low"] + values["remote_compactions@mid"]
    for of_run in events.values():
        assert {e["home"] for e in of_run if e["event"] == "decision"} == {"low", "mid"}
        assert {e["server"] for e in of_run if e["event"] in ("level0", "database")} == {"low", "mid"}
    assert edgejoule(tmp_path, "report", "latest", "-o", "page.html").returncode == 0
    page = (tmp_path / "page.html").read_text()
    for name in ("local, low", "local, mid", "static:high, low"):
        assert name in page
    check_events(tmp_path)


def check_events(folder: Path) -> None:
    """The events that lab adds have the form of their schema, and a bundle with them is accepted."""
    schema = json.loads((ROOT / "schemas/run-event.schema.json").read_text())
    for line in map(json.loads, edgejoule(folder, "export", "--events").stdout.splitlines()):
        if line["event"] in ("level0", "decision"):
            jsonschema.Draft202012Validator(schema).validate(line)
    assert edgejoule(folder, "export", "--bundle", "all.zip").returncode == 0
    done = edgejoule(folder, "import", "all.zip", "--store", "other.db")
    assert done.returncode == 0, done.stderr
