"""A study on a federation: real ecods, the driver on the first server, a meter of each."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from command_line import edgejoule

from edgejoule.eco.federation import Federation, FederationServer, Programs, Unlimited
from edgejoule.errors import SpecError
from edgejoule.experiment.read import load_spec
from edgejoule.store import Store
from edgejoule.study.servers import home

BUILD = Path(__file__).resolve().parents[3] / "build"
needs_eco = pytest.mark.skipif(not (BUILD / "lib/libeco-service.so").exists(), reason="make eco builds it")
SHARES = """
[servers.low]
share = 0.5
busy_w = 2.0
idle_w = 1.0

[servers.high]
share = 1.0
busy_w = 20.0
idle_w = 10.0
"""
SPEC = """\
name = "small"
question = "Who compacts?"

[factors]
"eco.policy" = ["local", "static:high"]

[fixed]
database = "rocksdb"
workload = "load"
recordcount = 1000
operationcount = 20_000

[workloads.load]
insertproportion = 1.0
readproportion = 0.0
updateproportion = 0.0
dataintegrity = true

[databases.rocksdb]
options = "write_buffer_size=524288;level0_file_num_compaction_trigger=2"

[design]
replications = 1

[timing]
idle_s = 0.6

[meter]
run_s_min = 0
"""


def runs_of(folder: Path) -> list[dict[str, Any]]:
    """The records of the finished runs, by policy."""
    with Store.open(folder / "results/store.db") as store:
        runs = [run for run in store.runs(store.find().id) if run.status == "finished"]
    return [{"policy": run.levels["eco.policy"], **{r.name: r.value for r in run.responses}} for run in runs]


def events_of(folder: Path) -> dict[object, list[Any]]:
    """The events of the finished runs, by policy."""
    with Store.open(folder / "results/store.db") as store:
        return {run.levels["eco.policy"]: list(store.data(run).events) for run in store.runs(store.find().id)}


def check_export(folder: Path) -> None:
    """An export has every event in the form of its schema, and a bundle with them is accepted."""
    schemas = {
        name: jsonschema.Draft202012Validator(json.loads((BUILD.parent / f"schemas/{name}.schema.json").read_text()))
        for name in ("run-event", "driver-event")
    }
    lines = [json.loads(line) for line in edgejoule(folder, "export", "--events").stdout.splitlines()]
    assert {line["event"] for line in lines} >= {"start", "database", "level0", "decision", "end"}
    for line in lines:
        own = line["event"] in ("level0", "decision")
        event = line if own else {k: v for k, v in line.items() if k not in ("run_index", "attempt")}
        schemas["run-event" if own else "driver-event"].validate(event)
    assert edgejoule(folder, "export", "--bundle", "all.zip").returncode == 0
    done = edgejoule(folder, "import", "all.zip", "--store", "other.db")
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@needs_eco
def test_each_server_has_its_joules_and_the_policy_is_a_factor(tmp_path: Path) -> None:
    (tmp_path / "experiment.toml").write_text(SPEC + SHARES)
    done = edgejoule(tmp_path, "run", "experiment.toml", "--json")
    assert done.returncode in (0, 3), done.stderr
    runs = {run["policy"]: run for run in runs_of(tmp_path)}
    assert set(runs) == {"local", "static:high"}
    for run in runs.values():
        assert run["energy_j"] == pytest.approx(run["energy_j@low"] + run["energy_j@high"])
        assert run["energy_per_op_uj@high"] == pytest.approx(run["energy_j@high"] / 20_000 * 1e6)
        assert run["energy_j@high"] > 10.0 * run["settled_s"] > 0
        assert run["remote_fallbacks"] == 0
    assert runs["local"]["remote_compactions"] == runs["local"]["remote_moved_bytes"] == 0
    assert runs["static:high"]["remote_compactions"] > 0
    assert runs["static:high"]["remote_moved_bytes"] > 0
    printed = json.loads(done.stdout)
    assert "modelled" in json.dumps(printed)
    events = events_of(tmp_path)
    assert all(max(e["files"] for e in of_run if e["event"] == "level0") >= 2 for of_run in events.values())
    decisions = {policy: [e for e in of_run if e["event"] == "decision"] for policy, of_run in events.items()}
    assert {e["place"] for e in decisions["local"]} == {"low"}
    assert {e["place"] for e in decisions["static:high"]} == {"high"}
    assert (
        sum(e["outcome"] == "installed" for e in decisions["static:high"]) == runs["static:high"]["remote_compactions"]
    )
    assert any(e["actual_s"] > 0 and e["actual_j"] > 0 for e in decisions["static:high"])
    check_export(tmp_path)


COMMAND = """
command = [
  "db_bench", "--benchmarks=fillrandom,waitforcompaction", "--db={data}", "--num=40000", "--seed={block_seed}",
  "--write_buffer_size=524288", "--level0_file_num_compaction_trigger=2", "--statistics=1",
]
env = { LD_PRELOAD = "{eco_preload}", ECO_CONFIG = "{eco_config}" }
[responses.operations]
regex = '^fillrandom.* seconds ([0-9]+) operations'
"""


def spec_of_command() -> str:
    """The same study by a program that nobody changed."""
    head, _, rest = SPEC.partition("recordcount = 1000")
    design = rest.partition("[design]")[2]
    return head + "[workloads.load]" + COMMAND + "[design]" + design + SHARES


@pytest.mark.slow
@needs_eco
@pytest.mark.skipif(shutil.which("db_bench") is None, reason="rocksdb-tools are not installed")
def test_an_unmodified_program_runs_on_the_first_server_and_its_compactions_on_another(tmp_path: Path) -> None:
    (tmp_path / "experiment.toml").write_text(spec_of_command())
    done = edgejoule(tmp_path, "run", "experiment.toml")
    assert done.returncode in (0, 3), done.stderr
    runs = {run["policy"]: run for run in runs_of(tmp_path)}
    for policy, run in runs.items():
        assert run["operations"] == 40_000
        assert run["energy_j"] == pytest.approx(run["energy_j@low"] + run["energy_j@high"])
        watts_idle, joules_per_cpu_s = 1.0, 2.0 / 0.5
        of_low = watts_idle * run["active_s"] + joules_per_cpu_s * run["cpu_s"]
        assert run["energy_j@low"] == pytest.approx(of_low, rel=0.1), "the program's CPU time is the first server's"
        assert (run["remote_compactions"] > 0) == (policy == "static:high")
    for policy, events in events_of(tmp_path).items():
        assert {e["place"] for e in events if e["event"] == "decision"} == {"low" if policy == "local" else "high"}
        assert {"flush", "compaction"} <= {e["kind"] for e in events if e["event"] == "database"}
        assert any(e["event"] == "level0" for e in events)


@pytest.mark.parametrize(
    ("old", "new", "phrase"),
    [
        (SHARES, "", "{eco_preload} is of a federation"),
        ("command = [", 'load = "echo {block_seed}"\ncommand = [', "a load is for all of them"),
        ("command = [", 'setup = "echo {eco_config}"\ncommand = [', "belongs to one run"),
        ('database = "rocksdb"', 'database = "none"', "changes nothing for none"),
    ],
)
def test_what_a_command_cannot_have_on_a_federation_is_refused(old: str, new: str, phrase: str, tmp_path: Path) -> None:
    text = spec_of_command()
    if not new:
        text = text.replace('"eco.policy" = ["local", "static:high"]', 'workload = ["load"]')
        text = text.replace('workload = "load"\n', "")
    (tmp_path / "experiment.toml").write_text(text.replace(old, new, 1))
    with pytest.raises(SpecError, match=re.escape(phrase)):
        load_spec(tmp_path / "experiment.toml")


@pytest.fixture
def folder() -> Iterator[Path]:
    """Short: sockets lie in it."""
    made = Path(tempfile.mkdtemp(prefix="eco-"))
    yield made
    shutil.rmtree(made)


@pytest.mark.slow
@needs_eco
def test_a_federation_that_runs_already_gets_the_policy_and_is_metered(folder: Path, tmp_path: Path) -> None:
    servers = [FederationServer("low", 0.5, 2, 1), FederationServer("high", 1.0, 20, 10)]
    with Federation(servers, Programs.of(BUILD), folder, shares=Unlimited()) as federation:
        settings, control = federation.with_preload("low")["ECO_CONFIG"], federation.place("low").control_socket
        text = SPEC + f'[federation]\ncontrol = "{control}"\nsettings = "{settings}"\n'
        for name in ("low", "high"):
            text += f'[servers.{name}]\nmeter = "board-profile"\noptions = {{ profile = "raspberry-pi-4b" }}\n'
        (tmp_path / "experiment.toml").write_text(text)
        done = edgejoule(tmp_path, "run", "experiment.toml")
        assert done.returncode in (0, 3), done.stderr
        assert federation.view("low")["policy"]["name"] in ("local", "static:high")
    runs = {run["policy"]: run for run in runs_of(tmp_path)}
    assert runs["static:high"]["remote_compactions"] > 0
    assert runs["static:high"]["energy_j"] == pytest.approx(2 * runs["static:high"]["energy_j@high"], rel=0.05)


@pytest.mark.parametrize(
    ("old", "new", "key", "phrase"),
    [
        (SHARES, "", "factors.eco.policy", "no servers to offload to"),
        ("static:high", "static:hihg", "factors.eco.policy", "no server is named so; did you mean 'high'"),
        ("static:high", "best", "factors.eco.policy", "expected local, edgepilot"),
        ('"eco.policy" = ["local", "static:high"]', "threads = [1, 2]", "servers", "no eco.policy"),
        ("idle_w = 1.0", "", "servers.low", "idle_w is missing"),
        ("idle_w = 1.0", 'idle_w = 1.0\nmeter = "shelly"', "servers.low.meter", "with [federation]"),
        ("share = 0.5", "share = 1.5", "servers.low.share", "expected a number of at most 1"),
        ("share = 0.5", "shares = 0.5", "servers.low.shares", "unknown key; did you mean 'share'"),
        ('"rocksdb"', '"sqlite"', "factors.eco.policy", "changes nothing for sqlite"),
        ("run_s_min = 0", 'prefer = ["rapl"]', "meter.prefer", "each server has its meter"),
        (
            "[meter]",
            '[federation]\ncontrol = "c"\nsettings = "s"\n[meter]',
            "servers.low.share",
            "a server has a meter; remove it",
        ),
        ("[meter]", '[analysis]\nresponses = ["energy_j@hgih"]\n[meter]', "analysis.responses", "did you mean 'high'"),
        ("[meter]", '[analysis]\nresponses = ["stall_s@low"]\n[meter]', "analysis.responses", "unknown response"),
    ],
)
def test_impossible_settings_of_a_federation_are_refused(
    old: str, new: str, key: str, phrase: str, tmp_path: Path
) -> None:
    spec = tmp_path / "experiment.toml"
    assert old in SPEC + SHARES
    spec.write_text((SPEC + SHARES).replace(old, new, 1))
    with pytest.raises(SpecError) as error:
        load_spec(spec)
    assert key in str(error.value)
    assert phrase in str(error.value)


def test_runs_on_a_federation_share_no_load(tmp_path: Path) -> None:
    spec = tmp_path / "experiment.toml"
    spec.write_text(SPEC + SHARES)
    with pytest.raises(SpecError, match="learn and compact between runs; set load"):
        load_spec(spec, ["design.load=block", "fixed.workload=workloadc"])


def test_a_spec_without_servers_is_what_it_was(tmp_path: Path) -> None:
    """Its digest: stores that exist can be resumed."""
    plain = SPEC.replace('"eco.policy" = ["local", "static:high"]', "threads = [1, 2]")
    (tmp_path / "experiment.toml").write_text(plain)
    spec = load_spec(tmp_path / "experiment.toml")
    measured = spec.model_dump(mode="json", exclude={"analysis", "question", "servers", "federation"})
    assert spec.model_copy(update={"servers": {}}).digest() == spec.digest()
    assert not {"servers", "federation"} & set(measured)


def test_without_eco_the_dry_run_shows_the_plan_and_how_to_build_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(home, "driver_path", lambda: tmp_path / "bin/edgejoule-driver")
    (tmp_path / "experiment.toml").write_text(SPEC + SHARES)
    done = edgejoule(tmp_path, "run", "experiment.toml", "--dry-run")
    assert done.returncode == 1
    assert re.search(r"^static:high +1$", done.stdout, re.MULTILINE), done.stdout
    assert done.stdout.endswith(
        f"! {tmp_path}/bin/ecod is not there; `make eco` builds it\n0 of 2 runs can be done here\n"
    )
