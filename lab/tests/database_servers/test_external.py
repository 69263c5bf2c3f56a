"""Studies on servers that the user runs: worked on, never started, configured, stopped or emptied."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import redis
from pymongo.uri_parser import parse_uri

from edgejoule.database_servers.redis import connected
from edgejoule.database_servers.server import LOOPBACK, free_ports
from edgejoule.databases.driver import driver_path
from edgejoule.findings import find
from edgejoule.store import Store

from .conftest import GIVEN_MONGODB, GivenMongoDB, Start
from .studies import Study, needs, until

pytestmark = pytest.mark.server
SCHEMAS = Path(__file__).resolve().parents[3] / "schemas"
PASSWORD = "not for everybody"


class UsersRedis:
    """A Redis with a password that nothing of edgejoule has started."""

    def __init__(self, folder: Path) -> None:
        needs("redis")
        (self.port,) = free_ports(1)
        self.right, self.wrong = folder / "right", folder / "wrong"
        self.right.write_text(PASSWORD + "\n")
        self.wrong.write_text("a guess\n")
        self.process = subprocess.Popen(
            ["redis-server", "--bind", LOOPBACK, "--port", str(self.port), "--requirepass", PASSWORD, "--save", ""],
            stdout=subprocess.DEVNULL, cwd=folder,
        )  # fmt: skip
        end = time.monotonic() + 60
        while not self.asked("PING"):
            assert time.monotonic() < end
            time.sleep(0.02)

    def asked(self, *arguments: str) -> Any:
        try:
            with connected(self.port, password=PASSWORD) as client:
                return client.execute_command(*arguments)
        except redis.ConnectionError:
            return None

    def reads(self) -> bool:
        """Has somebody read a record?"""
        statistics = self.asked("INFO", "commandstats")
        return "cmdstat_hmget" in statistics or "cmdstat_hgetall" in statistics

    def load(self) -> None:
        properties = {"host": LOOPBACK, "port": self.port, "password_file": self.right}
        arguments = [word for name, value in properties.items() for word in ("-p", f"redis.{name}={value}")]
        subprocess.run(
            [driver_path(), "load", "-db", "redis", "-p", "recordcount=500", "-p", "dataintegrity=true", *arguments],
            check=True, capture_output=True,
        )  # fmt: skip

    def fixed(self, *, port: bool = True, password: bool = True) -> str:
        lines = [f'"redis.host" = "{LOOPBACK}"', "dataintegrity = true"]
        lines += [f'"redis.port" = {self.port}'] if port else []
        lines += [f'"redis.password_file" = "{self.right}"'] if password else []
        return "\n".join(lines)


@pytest.fixture
def users_redis(tmp_path: Path) -> Iterator[UsersRedis]:
    folder = tmp_path / "users"
    folder.mkdir()
    redis = UsersRedis(folder)
    yield redis
    redis.process.kill()
    redis.process.wait()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Of the study: the server's is another one."""
    made = tmp_path / "study"
    made.mkdir()
    return made


def test_every_run_works_on_what_the_user_has_loaded(folder: Path, users_redis: UsersRedis) -> None:
    users_redis.load()
    before = users_redis.asked("CONFIG", "GET", "*"), users_redis.asked("DBSIZE")
    study = Study(folder, "redis", fixed=users_redis.fixed())
    code, said = study.run("--set", "design.replications=2")
    assert code in (0, 3), said
    runs = study.runs()
    assert [run.status for run in runs] == ["finished", "finished"]
    assert [run.facts["load"]["runs_before"] for run in runs] == [0, 1]
    schema = json.loads((SCHEMAS / "run-record.schema.json").read_text())
    for run in runs:
        jsonschema.validate(study.record(run), schema)
        server = run.facts["server"]
        values: dict[str, Any] = {r.name: r.value for r in run.responses}
        assert server["version"] == users_redis.asked("INFO", "server")["redis_version"]
        assert server["settings"]["port"] == str(users_redis.port)
        assert PASSWORD not in json.dumps(study.record(run))
        cpu_us = server["cpu_s"] * 1e6 / 2000
        assert values["server_cpu_us_per_op"] == pytest.approx(cpu_us, rel=0.01)
        assert values["cpu_us_per_op"] == pytest.approx(values["server_cpu_us_per_op"] + values["client_cpu_us_per_op"])
        assert values["server_rss_peak_mb"] is None
        assert server["rss_peak_bytes"] is None
    assert (users_redis.asked("CONFIG", "GET", "*"), users_redis.asked("DBSIZE")) == before
    assert users_redis.process.poll() is None
    assert study.left() == []


def test_a_password_may_stand_in_the_environment(
    folder: Path, users_redis: UsersRedis, monkeypatch: pytest.MonkeyPatch
) -> None:
    users_redis.load()
    monkeypatch.setenv("BENCH_PASSWORD", PASSWORD)
    fixed = users_redis.fixed(password=False) + '\n"redis.password_env" = "BENCH_PASSWORD"'
    code, said = Study(folder, "redis", fixed=fixed).run()
    assert code in (0, 3), said


def test_nothing_is_loaded_there(folder: Path, users_redis: UsersRedis) -> None:
    study = Study(folder, "redis", fixed=users_redis.fixed())
    code, said = study.run()
    assert code == 1, said
    assert "is empty; load one first (edgejoule-driver load -db redis" in str(study.runs()[0].cause)
    assert users_redis.asked("DBSIZE") == 0


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (f'"redis.password" = "{PASSWORD}"', "name the place of the password by redis.password_env or"),
        ("insertproportion = 0.1", "begin with the changed rows; set insertproportion = 0, or remove redis.host"),
        ("memory_limit_mb = 100", "memory_limit_mb is for what the study starts itself"),
        ('"redis.persistence" = "none"', "redis.persistence: unknown option; it is of servers that the study starts"),
    ],
)
def test_what_only_a_server_of_the_study_takes_is_refused(
    folder: Path, users_redis: UsersRedis, more: str, message: str
) -> None:
    fixed = users_redis.fixed(password=False) + "\n" + more
    code, said = Study(folder, "redis", fixed=fixed).run()
    assert code == 2
    assert message in " ".join(said.split())


def test_a_server_that_breaks_the_promise_of_the_durability_flags_its_runs(
    folder: Path, users_redis: UsersRedis
) -> None:
    users_redis.load()
    study = Study(folder, "redis", fixed=users_redis.fixed() + '\ndurability = "power"')
    code, said = study.run()
    assert code == 3, said
    settings = 'appendonly=no, appendfsync=everysec, save=""; set on the server'
    for run in study.runs():
        assert f"durability power does not hold: {settings}" in run.flags
    with Store.open(study.store) as store:
        found = find(store, store.experiments()[0])
    assert found.caveats[0] == f"redis does not keep the promise of durability power: {settings}."
    assert [(d.durability, d.how) for d in found.databases] == [("power", f"does not hold: {settings}")]


def test_rows_that_the_user_has_not_loaded_are_reported_with_the_remedy(folder: Path, users_redis: UsersRedis) -> None:
    users_redis.load()
    study = Study(folder, "redis", fixed=users_redis.fixed())
    code, said = study.run("--set", "fixed.recordcount=100000", "--set", "fixed.dataintegrity=false")
    assert code == 1
    assert "does recordcount match the load?" in " ".join(said.split())


def failed_then_finished(study: Study, cause: str) -> None:
    code, said = study.run("--keep-going")
    assert code == 1, said
    failed, finished = study.runs()
    assert (failed.status, finished.status) == ("failed", "finished"), said
    assert str(failed.cause).startswith(cause)
    assert "its log is where the user runs it" in str(failed.cause)
    assert study.left() == []


def test_a_server_that_is_not_there_fails_its_runs_alone(folder: Path, users_redis: UsersRedis) -> None:
    users_redis.load()
    (nobody,) = free_ports(1)
    ports = f'"redis.port" = [{nobody}, {users_redis.port}]'
    study = Study(folder, "redis", ports, users_redis.fixed(port=False))
    failed_then_finished(
        study, f"Redis at {LOOPBACK}:{nobody}: cannot connect: Connection refused; is a server running"
    )


def test_a_wrong_password_fails_its_runs_alone(folder: Path, users_redis: UsersRedis) -> None:
    users_redis.load()
    files = f'"redis.password_file" = ["{users_redis.wrong}", "{users_redis.right}"]'
    study = Study(folder, "redis", files, users_redis.fixed(password=False))
    failed_then_finished(study, f"Redis at {LOOPBACK}:{users_redis.port}: AUTH: WRONGPASS")


def test_a_server_that_answers_too_late_fails_the_run_that_it_kept_waiting(
    folder: Path, users_redis: UsersRedis
) -> None:
    users_redis.load()
    limits = '\n"redis.timeout_ms" = 1500\n"redis.reconnect_ms" = 3000'
    study = Study(folder, "redis", '"redis.connect_timeout_ms" = [500, 600000]', users_redis.fixed() + limits)
    text = (folder / "experiment.toml").read_text()
    rule = '[[when]]\n"redis.connect_timeout_ms" = 500\nset = { operationcount = 0, maxexecutiontime = 90 }\n'
    (folder / "experiment.toml").write_text(text + rule)
    with study.start("--keep-going") as process:
        until(users_redis.reads, process)
        begin = time.monotonic()
        users_redis.process.send_signal(signal.SIGSTOP)
        until(lambda: study.runs()[0].status == "failed", process)
        took_s = time.monotonic() - begin
        users_redis.process.send_signal(signal.SIGCONT)
        _, errors = process.communicate(timeout=300)
    assert took_s < 90  # not what the run would have taken
    late, good = study.runs()
    assert "no answer within 1500 ms (redis.timeout_ms); not back within 3000 ms" in str(late.cause)
    assert good.status == "finished", errors
    assert study.left() == []


def test_a_mongodb_of_the_user(folder: Path, start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    server = start("mongodb")
    options: dict[str, object] = {"database": GivenMongoDB.test_database}
    if GIVEN_MONGODB:
        parts = parse_uri(GIVEN_MONGODB)
        ((options["host"], options["port"]), *_) = parts["nodelist"]
        if parts["username"]:
            monkeypatch.setenv("MONGODB_PASSWORD", parts["password"])
            options |= {"user": parts["username"], "password_env": "MONGODB_PASSWORD"}
    else:
        options |= server.connection()
    arguments = [word for name, value in options.items() for word in ("-p", f"mongodb.{name}={value}")]
    load = [str(driver_path()), "load", "-db", "mongodb", "-p", "recordcount=500", *arguments]
    subprocess.run(load, check=True, capture_output=True)
    before = server.operations()
    study = Study(
        folder, "mongodb", fixed="\n".join(f'"mongodb.{name}" = {json.dumps(value)}' for name, value in options.items())
    )
    code, said = study.run()
    assert code in (0, 3), said
    (run,) = study.runs()
    assert run.status == "finished"
    assert run.facts["server"]["version"] == server.version
    done = {x["operation"]: x["count"] for x in study.events(run)[-1]["latencies"] if x["measure"] == "service"}
    counted = {name: count - before[name] for name, count in server.operations().items()}
    assert counted["update"] == done["UPDATE"]
    assert counted["insert"] == 0


def test_a_postgres_of_the_user(folder: Path, start: Start) -> None:
    needs("postgres")
    server = start("postgres")
    arguments = [word for name, value in server.connection().items() for word in ("-p", f"postgres.{name}={value}")]
    load = [str(driver_path()), "load", "-db", "postgres", "-p", "recordcount=500", *arguments]
    subprocess.run(load, check=True, capture_output=True)
    fixed = "\n".join(f'"postgres.{name}" = {json.dumps(value)}' for name, value in server.connection().items())
    study = Study(folder, "postgres", fixed=fixed)
    code, said = study.run()
    assert code in (0, 3), said
    (run,) = study.runs()
    assert run.facts["server"]["version"] == server.version
    assert run.facts["server"]["cpu_s"] > 0
    assert server.trouble() is None
    # From now on it wants a password that nobody has.
    (server.data / "pg_hba.conf").write_text(f"host all all {LOOPBACK}/32 scram-sha-256\n")
    os.kill(server.processes[0].pid, signal.SIGHUP)
    (folder / "wrong").write_text("a guess\n")
    study = Study(folder, "postgres", fixed=f'{fixed}\n"postgres.password_file" = "{folder}/wrong"')
    code, said = study.run("--keep-going", "--set", "design.replications=2")
    assert code == 1, said
    for run in study.runs():
        assert run.status == "failed"
        assert "password authentication failed" in str(run.cause)
        assert "is it the right password for the user?" in str(run.cause)
    assert study.left() == []
