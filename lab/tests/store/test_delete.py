"""Deleting an experiment takes all of it and nothing else, also when the program is killed."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import sqlite3
from pathlib import Path

from small_store import finished, small_spec, with_experiment

from edgejoule.experiment.plan import make_plan
from edgejoule.store import Store

STEPS = 20  # of SQLite's virtual machine between two chances to be killed


def two_experiments(path: Path) -> None:
    """Number 1 with traces and a note, number 2 like it."""
    store, first = with_experiment(path, small_spec())
    second = store.create_experiment(
        small_spec(2), "", make_plan(small_spec(2)), energy_words="", energy_min_ratio=None, environment={}
    )
    for experiment in (first, second):
        for index in range(3):
            store.record(experiment, *finished(index))
        store.add_note(experiment, "heating was on", "ada@bench", 1)
    store.close()


def rows_of(path: Path) -> dict[str, list[tuple[object, ...]]]:
    with sqlite3.connect(path) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert db.execute("PRAGMA foreign_key_check").fetchall() == []
        names = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: db.execute(f"SELECT * FROM {name}").fetchall() for name in names if name != "sqlite_sequence"}


def test_a_deleted_experiment_leaves_no_row_and_the_others_whole(tmp_path: Path) -> None:
    both = tmp_path / "both.db"
    two_experiments(both)
    with Store.open(both) as store:
        records = [run.record("small") for run in store.runs(2)]
        store.delete([1])
        assert [e.id for e in store.experiments()] == [2]
        assert [run.record("small") for run in store.runs(2)] == records
        assert len(store.notes(2)) == 1
        store.delete([2])
    assert not any(rows_of(both).values())


def test_the_space_is_given_back(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    two_experiments(path)
    with Store.open(path) as store:
        bulk = "x" * 1_000_000
        store._db.execute("INSERT INTO events SELECT id, 1, ? FROM runs WHERE experiment_id = 1", (bulk,))
        assert store.content_bytes(1) > 3_000_000 > store.content_bytes(2) > 1_000
        before = store.file_bytes()
        store.delete([1])
        assert store.shrink() is None
        assert before - store.file_bytes() >= 3_000_000
        assert store.file_bytes() == sum(
            file.stat().st_size for file in tmp_path.glob("s.db*") if "shm" not in file.name
        )


def test_the_number_of_a_deleted_experiment_is_not_given_again(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    two_experiments(path)
    with Store.open(path) as store:
        store.delete([2])
        store.shrink()
        third = store.create_experiment(
            small_spec(3), "", make_plan(small_spec(3)), energy_words="", energy_min_ratio=None, environment={}
        )
        assert third == 3


def delete_and_die(path: Path, at: int) -> None:
    """Deletes experiment 1 and shrinks the file; killed at this chance, 0 for never. Exit code: 0, or the chances."""
    chances = 0

    def chance() -> int:
        nonlocal chances
        chances += 1
        if chances == at:
            os.kill(os.getpid(), signal.SIGKILL)
        return 0

    with Store.open(path) as store:
        store._db.set_progress_handler(chance, STEPS)
        store.delete([1])
        store.shrink()
    path.with_suffix(".chances").write_text(str(chances))


def test_kill_9_leaves_the_experiment_whole_or_gone(tmp_path: Path) -> None:
    original = tmp_path / "original.db"
    two_experiments(original)
    whole = rows_of(original)
    fork = multiprocessing.get_context("fork")

    def after(at: int) -> tuple[int | None, dict[str, list[tuple[object, ...]]]]:
        path = tmp_path / "killed.db"
        for file in tmp_path.glob("killed.db*"):
            file.unlink()
        shutil.copy(original, path)
        child = fork.Process(target=delete_and_die, args=(path, at))
        child.start()
        child.join()
        return child.exitcode, rows_of(path)

    code, gone = after(0)
    assert code == 0
    assert [row[0] for row in gone["experiments"]] == [2]
    chances = int((tmp_path / "killed.chances").read_text())
    assert chances > 10, "the file is too small to be killed in the middle"
    outcomes = []
    for at in range(1, chances + 1, max(1, chances // 20)):
        code, rows = after(at)
        assert code == -signal.SIGKILL
        assert rows in (whole, gone)
        outcomes.append(rows == whole)
    assert outcomes[0]
    assert not outcomes[-1]
