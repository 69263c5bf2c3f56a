"""Each planned run is of one kind, which knows what the rest asks of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from edgejoule.databases.driver import Driver
from edgejoule.databases.system_under_test import Command, Embedded, External, Served, ServedToYcsb, system_of
from edgejoule.errors import DatabaseError
from edgejoule.experiment.model import Spec
from edgejoule.experiment.plan import PlannedRun, make_plan


def planned(database: str, workload: str = "workloada", **fixed: Any) -> PlannedRun:
    return make_plan(Spec.model_validate({
        "name": "p", "question": "?", "factors": {"database": [database], "workload": [workload]},
        "workloads": {"ours": {"command": ["true"], "warmup": 2}}, "design": {"replications": 1},
        "fixed": fixed if workload == "ours" else {"recordcount": 10, "operationcount": 5, **fixed},
    }))[0]  # fmt: skip


@pytest.mark.parametrize(
    ("run", "kind", "has_server", "starts_empty"),
    [
        (planned("sqlite"), Embedded, False, False),
        (planned("redis"), Served, True, False),
        (planned("cassandra"), ServedToYcsb, True, False),
        (planned("redis", **{"redis.host": "board"}), External, True, True),
        (planned("none", "ours"), Command, False, True),
        (planned("redis", "ours"), Command, True, True),
    ],
)
def test_every_planned_run_is_of_one_kind(run: PlannedRun, kind: type, has_server: bool, starts_empty: bool) -> None:
    system = system_of(run)
    assert type(system) is kind
    assert (system.has_server, system.starts_empty) == (has_server, starts_empty)


def test_only_a_command_without_a_database_leaves_none_open() -> None:
    assert not system_of(planned("none", "ours")).opens_database
    assert system_of(planned("redis", "ours")).opens_database
    assert system_of(planned("sqlite")).opens_database


def test_a_command_counts_commands_and_is_warmed_up() -> None:
    assert (system_of(planned("none", "ours")).counts, system_of(planned("none", "ours")).warmups) == ("commands", 2)
    assert (system_of(planned("sqlite")).counts, system_of(planned("sqlite")).warmups) == ("operations", 0)


def test_the_driver_gets_the_path_of_a_database_that_keeps_data() -> None:
    arguments = system_of(planned("sqlite", **{"sqlite.journal_mode": "WAL"})).arguments("run", Path("data"))  # type: ignore[attr-defined]
    assert {"sqlite.path=data", "sqlite.journal_mode=WAL"} <= set(arguments)
    arguments = system_of(planned("noop")).arguments("run", Path("data"))  # type: ignore[attr-defined]
    assert not any(word.startswith("noop.path") for word in arguments)


def test_only_a_server_that_the_user_runs_has_a_host_of_the_user() -> None:
    assert system_of(planned("redis", **{"redis.host": "board"})).users_host == "board"
    assert system_of(planned("redis")).users_host is None


def test_durability_stands_for_options_of_a_server_that_the_study_starts() -> None:
    assert system_of(planned("redis", durability="power")).options["persistence"] == "aof-always"
    external = planned("redis", durability="power", **{"redis.host": "board"})
    assert "persistence" not in system_of(external).options, "the user has configured it"


def test_a_driver_that_was_removed_is_an_error_of_the_run(tmp_path: Path) -> None:
    driver = Driver(["databases"], 5)
    driver._command = [str(tmp_path / "gone")]
    with pytest.raises(DatabaseError, match="gone cannot be started: No such file"):
        driver.run()
