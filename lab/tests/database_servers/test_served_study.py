"""Studies on servers that `edgejoule run` starts and stops itself."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path

import jsonschema
import pytest

from edgejoule.database_servers import jvm, postgres, ycsb_client

from .conftest import Start
from .studies import Study, needs

pytestmark = pytest.mark.server
SCHEMAS = Path(__file__).resolve().parents[3] / "schemas"


def values(study: Study, index: int = 0) -> dict[str, float]:
    return {r.name: r.value for r in study.runs()[index].responses if r.value is not None}


def test_redis_is_started_for_each_run_with_its_options_as_factors(tmp_path: Path) -> None:
    study = Study(tmp_path, "redis", '"redis.persistence" = ["none", "aof-always"]', "dataintegrity = true")
    code, said = study.run()
    assert code in (0, 3), said
    none, always = study.runs()
    assert [r.facts["server"]["settings"]["persistence"] for r in (none, always)] == ["none", "aof-always"]
    assert always.facts["server"]["version"] == always.database["version"]  # type: ignore[index]
    jsonschema.validate(study.record(always), json.loads((SCHEMAS / "run-record.schema.json").read_text()))
    responses = values(study, 1)
    assert responses["server_cpu_us_per_op"] > 0
    assert responses["cpu_us_per_op"] == pytest.approx(
        responses["server_cpu_us_per_op"] + responses["client_cpu_us_per_op"]
    )
    assert 0 < responses["client_cpu_share"] < 1
    assert responses["server_rss_peak_mb"] > 5
    assert study.left() == []


def test_the_server_counts_the_operations_that_the_driver_did(tmp_path: Path) -> None:
    study = Study(tmp_path, "redis", fixed='"redis.index" = "none"\n"redis.persistence" = "none"')
    study.run()
    (run,) = study.runs()
    end = study.events(run)[-1]
    done = {x["operation"]: x["count"] for x in end["latencies"] if x["measure"] == "service"}
    counted = run.facts["server"]["operations"]
    assert sum(done.values()) == 2000
    assert sum(n for name, n in counted.items() if name in ("hgetall", "hmget", "hget")) == done["READ"]


def test_postgres_is_restored_for_each_run(tmp_path: Path) -> None:
    study = Study(tmp_path, "postgres", '"postgres.synchronous_commit" = ["on", "off"]', "dataintegrity = true")
    code, said = study.run()
    assert code in (0, 3), said
    assert [run.status for run in study.runs()] == ["finished", "finished"]
    assert study.left() == []


@pytest.mark.skipif(not postgres._has_citus(), reason="PostgreSQL has no extension citus here")
def test_citus_keeps_each_row_as_often_as_the_study_says(tmp_path: Path) -> None:
    fixed = '"postgres.workers" = 2\n"postgres.shard_count" = 6\ndataintegrity = true'
    study = Study(tmp_path, "postgres", '"postgres.shard_replication_factor" = [1, 2]', fixed)
    code, said = study.run()
    assert code in (0, 3), said
    for copies, run in enumerate(study.runs(), 1):
        counts = {x["operation"]: x["count"] for x in study.events(run)[-1]["latencies"] if x["measure"] == "service"}
        assert "with Citus" in run.facts["server"]["version"]
        assert run.facts["server"]["operations"]["n_tup_upd"] == copies * counts["UPDATE"]
    assert study.left() == []


def test_without_citus_a_study_reports_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory() as folder:  # not below pytest's own, which the user postgres may not read
        Path(folder).chmod(0o755)
        programs = Path(folder, "bin")
        programs.mkdir()
        for program in postgres._folder().iterdir():  # type: ignore[union-attr]
            (programs / program.name).symlink_to(program)
        monkeypatch.setenv("EDGEJOULE_POSTGRES", str(programs))
        study = Study(tmp_path, "postgres", '"postgres.workers" = [1, 0]')
        _, said = study.run("--keep-going")
    assert [run.status for run in study.runs()] == ["failed", "finished"], said
    assert "Citus is not available, because PostgreSQL has no extension citus; install the package" in said


@pytest.mark.parametrize("database", ["redis", "postgres"])
def test_the_durability_of_a_study_is_in_force_and_reported(tmp_path: Path, database: str) -> None:
    study = Study(tmp_path, database, 'durability = ["none", "power"]', "dataintegrity = true")
    code, said = study.run()
    assert code in (0, 3), said
    runs = study.runs()
    assert [run.durability["class"] for run in runs if run.durability] == ["none", "power"]
    for run in runs:
        assert "weaker than the class asks for" not in str(run.durability), "the server itself says what is in force"
    settings = [run.facts["server"]["settings"] for run in runs]
    if database == "redis":
        assert [s["persistence"] for s in settings] == ["none", "aof-always"]
    else:
        assert [s["fsync"] for s in settings] == ["off", "on"]


@pytest.mark.parametrize(
    ("database", "durability", "option", "value"),
    [
        ("redis", "power", "conf.appendfsync", "no"),
        ("redis", "process", "persistence", "rdb"),
        ("postgres", "power", "synchronous_commit", "off"),
        ("postgres", "power", "conf.fsync", "off"),
    ],
)
def test_an_option_that_breaks_the_promise_of_the_durability_is_refused(
    tmp_path: Path, database: str, durability: str, option: str, value: str
) -> None:
    fixed = f'durability = "{durability}"\n"{database}.{option}" = "{value}"'
    code, said = Study(tmp_path, database, fixed=fixed).run("--dry-run")
    said = " ".join(said.split())
    assert code == 2
    assert f"experiment.toml:14: fixed.{database}.{option}: excludes fixed.durability (experiment.toml:13)" in said
    assert f"{option} = {value} breaks the promise of durability {durability}; remove the option, or name" in said


def test_an_option_that_keeps_more_than_the_promise_takes_precedence(tmp_path: Path) -> None:
    study = Study(tmp_path, "redis", fixed='durability = "process"\n"redis.persistence" = "aof-always"')
    code, said = study.run()
    assert code in (0, 3), said
    (run,) = study.runs()
    assert "appendfsync=always" in str(run.durability)


def test_sessions_of_postgres_have_the_option_of_the_study(tmp_path: Path) -> None:
    study = Study(tmp_path, "postgres", '"postgres.synchronous_commit" = ["on", "off"]')
    code, said = study.run()
    assert code in (0, 3), said
    for run, value in zip(study.runs(), ("on", "off"), strict=True):
        assert f"synchronous_commit={value}" in str(run.durability)
        assert run.facts["server"]["settings"]["synchronous_commit"] == value
        assert run.database is not None
        assert run.database["options"]["synchronous_commit"] == value
        assert not any("durability" in flag for flag in run.flags), "the experiment asks for no class"


def test_a_cell_that_fails_is_in_the_report_with_its_cause_beside_those_that_do_not(tmp_path: Path) -> None:
    study = Study(tmp_path, "redis", '"redis.maxmemory" = ["", "1mb"]')
    _, said = study.run("--keep-going", "-o", "report.html")
    assert [run.status for run in study.runs()] == ["finished", "failed"], said
    page = (tmp_path / "report.html").read_text()
    assert "Failed runs and their causes" in page
    assert "loading redis failed" in page
    assert "maxmemory" in str(study.runs()[1].cause)
    assert study.left() == []


def test_a_wrong_option_is_refused_before_anything_starts(tmp_path: Path) -> None:
    study = Study(tmp_path, "redis", fixed='"redis.persistance" = "none"')
    code, said = study.run()
    assert code == 2
    assert "did you mean 'persistence'?" in said


CASSANDRA = ("cassandra", '"cassandra.preset" = "1gb-board"\n"cassandra.consistency" = "QUORUM"')
HBASE = ("hbase", '"hbase.preset" = "1gb-board"\n"hbase.regions" = 2')


@pytest.mark.slow
@pytest.mark.parametrize(("database", "fixed"), [CASSANDRA, HBASE], ids=["cassandra", "hbase"])
def test_is_driven_by_the_real_ycsb(tmp_path: Path, database: str, fixed: str) -> None:
    study = Study(
        tmp_path, database, fixed=f"dataintegrity = true\n{fixed}",
        workload="insertproportion = 0.1\nscanproportion = 0.1\nreadmodifywriteproportion = 0.1\nmaxscanlength = 5",
    )  # fmt: skip
    code, said = study.run("--set", "workloads.mixed.readproportion=0.4", "--set", "timing.quiet_s=0.3",
                           "--set", "workloads.mixed.updateproportion=0.3")  # fmt: skip
    assert code in (0, 3), said
    (run,) = study.runs()
    jsonschema.validate(study.record(run), json.loads((SCHEMAS / "run-record.schema.json").read_text()))
    events = study.events(run)
    schema = json.loads((SCHEMAS / "driver-event.schema.json").read_text())
    for event in events:
        jsonschema.validate(event, schema)
    end = events[-1]
    counts = {x["operation"]: x["count"] for x in end["latencies"]}
    assert {"READ", "UPDATE", "INSERT", "SCAN", "READ-MODIFY-WRITE", "VERIFY"} <= set(counts)
    rmw = counts["READ-MODIFY-WRITE"]
    clients = sum(n for name, n in counts.items() if name not in ("VERIFY", "READ-MODIFY-WRITE")) - rmw
    assert clients == end["operations"] == 2000
    assert (end["failures"], end["not_found"], end["verify_failures"]) == (0, 0, 0)
    counted = run.facts["server"]["operations"]
    assert counted["write"] == counts["UPDATE"] + counts["INSERT"]
    if database == "cassandra":
        assert counted["read"] == counts["READ"]
        assert counted["scan"] >= counts["SCAN"]
    else:  # each row of a scan is a read
        assert counts["SCAN"] <= counted["read"] - counts["READ"] <= 5 * counts["SCAN"]
    assert run.facts["server"]["client"] == "ycsb"
    responses = values(study)
    assert 0 < responses["client_cpu_share"] < 1
    assert "power_quiet_w" in responses
    assert study.left() == []


THREE_NODES = {
    "cassandra": '"cassandra.nodes" = 3\n"cassandra.consistency" = "QUORUM"',
    "hbase": '"hbase.region_servers" = 3',
}


@pytest.mark.slow
@pytest.mark.parametrize("database", THREE_NODES)
def test_three_nodes_start_again_from_what_was_loaded_with_three_copies(tmp_path: Path, database: str) -> None:
    fixed = f'replication_factor = 3\n"{database}.preset" = "1gb-board"\ndataintegrity = true\n{THREE_NODES[database]}'
    study = Study(tmp_path, database, fixed=fixed)
    code, said = study.run("--set", "fixed.operationcount=500", limit_s=900)
    assert code in (0, 3), said
    (run,) = study.runs()
    assert run.status == "finished", run.cause
    end = study.events(run)[-1]
    assert (end["operations"], end["failures"], end["not_found"], end["verify_failures"]) == (500, 0, 0, 0)
    option = "replication_factor" if database == "cassandra" else "dfs_replication"
    assert run.database["options"][option] == "3"  # type: ignore[index]
    assert study.left() == []


@pytest.mark.slow
@pytest.mark.parametrize("database", ["cassandra", "hbase"])
def test_each_operation_of_a_binding_by_hand(start: Start, database: str) -> None:
    needs(database)
    server = start(database)
    arguments = [word for name, value in server.connection().items() for word in ("-p", f"{database}.{name}={value}")]
    folder = jvm.jars("ycsb")
    command = jvm.java(
        [folder.parent / "build/classes", f"{folder}/*"], "site.ycsb.CommandLine",
        "-db", ycsb_client.BINDINGS[database].class_name, *arguments, "-p", "fieldcount=2",
    )  # fmt: skip
    script = (
        "insert user1 field0=one field1=two\nread user1\nupdate user1 field1=three\nread user1 field1\nscan user1 5\n"
        "delete user1\nread user1\nquit\n"
    )
    said = ""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin
        process.stdin.write(script)
        process.stdin.flush()
        for line in process.stdout or []:
            said += line
            if said.count("Return code: ") == 3:
                break
        process.kill()  # YCSB's shell leaves connections open, which keep it alive
    assert "field0=one" in said
    assert "field1=two" in said
    assert "field1=three" in said
    assert said.count("Return code: OK") == 2, said  # of both reads
    assert "Return code: NOT_FOUND" in said
