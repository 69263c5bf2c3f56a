"""Messages name the place and say what to do."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import edgejoule

from edgejoule.databases.checks import _no_connection

HEAD = 'name = "a"\nquestion = "?"\n'
NOOP = f'{HEAD}[factors]\ndatabase = ["noop"]\n[fixed]\nworkload = "workloadc"\nrecordcount = 5\noperationcount = 5\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            f'{NOOP}[fixed.redis]\npersistence = "none"\ntimeout_ms = 5\n',
            'experiment.toml:9: fixed.redis: expected a value, got a table; write the whole name of an option in '
            'quotes: "redis.persistence" = "none", "redis.timeout_ms" = 5',
        ),
        (
            f'{HEAD}[fixed]\nworkload = "w"\n[factors]\ndatabase = ["noop"]\nredis = {{ persistence = ["rdb"] }}\n',
            '"redis.persistence" = ["rdb"]',
        ),
        (
            f'{NOOP}[workloads.w.redis]\npersistence = "none"\n',
            'workloads.w.redis: expected a value, got a table; write the whole name of an option in quotes: '
            '"redis.persistence" = "none"',
        ),
        (
            f"{NOOP}threads = 1\nthreads = 2\n",
            "experiment.toml:10: fixed.threads: stated twice, first in line 9; remove one of the two",
        ),
        (
            f"{NOOP}[factors]\nthreads = [2]\n",
            "experiment.toml:9: factors: stated twice, first in line 3; put its keys into one table",
        ),
    ],
)  # fmt: skip
def test_a_mistake_in_a_spec_is_answered_with_what_to_write(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "experiment.toml").write_text(text)
    done = edgejoule(tmp_path, "run", "experiment.toml", "--dry-run")
    assert (done.returncode, message in done.stderr) == (2, True), done.stderr


def test_a_property_file_in_another_encoding_is_named_with_the_line(tmp_path: Path) -> None:
    (tmp_path / "experiment.toml").write_text(f'{NOOP}[workloads.w]\nfile = "own"\n')
    (tmp_path / "own").write_bytes(b"recordcount=5\nrequestdistribution=\xb8\n")
    done = edgejoule(tmp_path, "run", ".", "--dry-run")
    assert "own:2: is not UTF-8 text; save it in UTF-8" in done.stderr
    assert "codec" not in done.stderr


def test_equal_values_are_reported_with_file_and_column(tmp_path: Path) -> None:
    (tmp_path / "equal.csv").write_text("a,y\n1,3\n1,3\n2,3\n2,3\n")
    done = edgejoule(tmp_path, "analyse", "equal.csv", "--response", "y", "--factors", "a")
    assert "equal.csv, column y: all 4 values of the response are equal" in done.stderr


@pytest.fixture
def users_server(tmp_path: Path) -> Iterator[socket.socket]:
    """Yields a port that listens, named by an experiment as the user's Redis."""
    _no_connection.cache_clear()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        own = f'"redis.host" = "127.0.0.1"\n"redis.port" = {listening.getsockname()[1]}\nmaxexecutiontime = 1\n'
        text = NOOP.replace('["noop"]', '["redis"]').replace("operationcount = 5\n", own)
        (tmp_path / "experiment.toml").write_text(text)
        yield listening


def test_a_dry_run_names_the_users_server_and_announces_no_load(tmp_path: Path, users_server: socket.socket) -> None:
    done = edgejoule(tmp_path, "run", ".", "--dry-run")
    port = users_server.getsockname()[1]
    assert done.returncode == 0, done.stderr
    assert f"redis is your server at 127.0.0.1:{port}: the study neither starts nor loads it" in done.stdout
    assert "the loads before" not in done.stdout
    assert "does not answer" not in done.stdout


def test_a_dry_run_marks_a_users_server_that_does_not_answer(tmp_path: Path, users_server: socket.socket) -> None:
    port = users_server.getsockname()[1]
    users_server.close()
    done = edgejoule(tmp_path, "run", ".", "--dry-run")
    assert f"! redis at 127.0.0.1:{port} does not answer (Connection refused): start it, or correct" in done.stdout
    assert "0 of 5 runs can be done here" in done.stdout
    assert done.returncode == 1
