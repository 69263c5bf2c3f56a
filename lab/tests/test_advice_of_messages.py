"""Messages name the place and say what to do."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import edgejoule

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
