"""A store of an earlier format opens, becomes one of the present format, and loses nothing."""

from __future__ import annotations

import gzip
import json
import sqlite3
from pathlib import Path

import pytest

from edgejoule import __version__
from edgejoule.errors import StoreError
from edgejoule.store import SCHEMA_VERSION, Store
from edgejoule.store.catalogue import APPLICATION_ID
from edgejoule.store.formats import upgrade

WRITTEN = Path(__file__).parents[1] / "data/written-before"


@pytest.fixture
def old_store(tmp_path: Path) -> Path:
    path = tmp_path / "store.db"
    path.write_bytes(gzip.decompress((WRITTEN / "store.db.gz").read_bytes()))
    assert version_of(path) == 5
    return path


@pytest.fixture
def store_of_6(tmp_path: Path) -> Path:
    path = tmp_path / "store-6.db"
    path.write_bytes(gzip.decompress((WRITTEN / "store-6.db.gz").read_bytes()))
    assert version_of(path) == 6
    return path


def version_of(path: Path) -> int:
    with sqlite3.connect(path) as db:
        return int(db.execute("PRAGMA user_version").fetchone()[0])


def rows_of(path: Path) -> dict[str, list[tuple[object, ...]]]:
    with sqlite3.connect(path) as db:
        names = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        kept = [name for name in names if name not in ("notes", "sqlite_sequence")]
        return {name: db.execute(f"SELECT * FROM {name}").fetchall() for name in kept}


def test_a_store_of_format_5_keeps_every_row_and_takes_notes(old_store: Path) -> None:
    before = rows_of(old_store)
    with Store.open(old_store) as store:
        (experiment,) = store.experiments()
        assert store.notes(experiment.id) == []
        store.add_note(experiment.id, "heating was on", "")
        assert [note.text for note in store.notes(experiment.id)] == ["heating was on"]
    assert rows_of(old_store) == before
    assert_is_like_a_new_store(old_store)


def test_a_store_of_format_6_keeps_its_notes_and_takes_runs_that_are_not_here(store_of_6: Path) -> None:
    before = rows_of(store_of_6)
    with Store.open(store_of_6) as store:
        assert [note.text for note in store.notes(1)] == ["heating was on"]
    assert rows_of(store_of_6) == before
    assert_is_like_a_new_store(store_of_6)
    with sqlite3.connect(store_of_6) as db:
        db.execute("UPDATE runs SET status = 'not_here'")


def test_a_read_only_store_of_format_6_has_its_notes(store_of_6: Path) -> None:
    with Store.open(store_of_6, read_only=True) as store:
        assert [note.text for note in store.notes(1)] == ["heating was on"]
        with pytest.raises(StoreError, match="cannot be written"):
            store.add_note(1, "heating was off", "")
    assert version_of(store_of_6) == 6


def assert_is_like_a_new_store(path: Path) -> None:
    assert version_of(path) == SCHEMA_VERSION
    with sqlite3.connect(path) as db:
        assert db.execute("PRAGMA foreign_key_check").fetchall() == []
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        new = dict(db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'"))
    with Store.open(path.with_name("new.db"), create=True) as store:
        made = dict(list(map(tuple, store._db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'"))))
    assert {name: sql.replace('"', "") for name, sql in new.items()} == made


def test_a_read_only_open_changes_no_byte(old_store: Path) -> None:
    before = old_store.read_bytes()
    with Store.open(old_store, read_only=True) as store:
        (experiment,) = store.experiments()
        assert len(store.runs(experiment.id)) == 4
        assert store.notes(experiment.id) == []
        with pytest.raises(StoreError, match="readonly"):
            store.add_note(experiment.id, "heating was on", "")
    assert old_store.read_bytes() == before


def test_an_interrupted_upgrade_changes_nothing(old_store: Path) -> None:
    db = sqlite3.connect(old_store, isolation_level=None)
    pages = db.execute("PRAGMA page_count").fetchone()[0]
    db.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(sqlite3.OperationalError, match="full"):
        upgrade(db)
    db.close()
    assert version_of(old_store) == 5
    with Store.open(old_store) as store:
        assert store.experiments()[0].progress == "4 of 4 runs finished"


def test_two_programs_upgrade_one_store(old_store: Path) -> None:
    one, other = (sqlite3.connect(old_store, isolation_level=None) for _ in range(2))
    assert [upgrade(one), upgrade(other)] == [SCHEMA_VERSION, SCHEMA_VERSION]
    with Store.open(old_store) as store:
        assert len(store.experiments()) == 1


def test_a_later_format_is_refused(old_store: Path) -> None:
    with sqlite3.connect(old_store) as db:
        db.execute("PRAGMA user_version = 8")
    for read_only in (False, True):
        with pytest.raises(StoreError) as caught:
            Store.open(old_store, read_only=read_only)
        assert str(caught.value) == (
            f"{old_store}: store format 8, written by a later edgejoule; this is edgejoule {__version__}, "
            "which reads the formats 5, 6 and 7. Use that edgejoule for this store, or name another store: --store PATH"
        )


def test_a_spec_with_keys_of_a_later_version_is_refused(old_store: Path) -> None:
    with sqlite3.connect(old_store) as db:
        db.execute("UPDATE experiments SET spec_json = json_set(spec_json, '$.analysis.later', 1)")
    with Store.open(old_store) as store:
        message = (
            r"experiment 1 \(.*\) was written by edgejoule 0.1.0; its spec has analysis.later, which this edgejoule"
        )
        with pytest.raises(StoreError, match=message):
            store.experiments()


def test_an_earlier_format_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "store.db") as db:
        db.executescript(f"CREATE TABLE others (x); PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = 4")
    with pytest.raises(StoreError, match="store format 4, written by an earlier edgejoule; this is edgejoule"):
        Store.open(tmp_path / "store.db")


def test_notes_are_listed_by_their_order_and_removed_by_their_number(old_store: Path) -> None:
    with Store.open(old_store) as store:
        for text, run_index in (("a", None), ("b", 2), ("c", None)):
            store.add_note(1, text, "ada@bench", run_index)
        store.remove_note(1, 2)
        left = [(note.number, note.run_index, note.text) for note in store.notes(1)]
        assert left == [(1, None, "a"), (2, None, "c")]
        record = json.loads(json.dumps(store.notes(1)[0].record()))
        assert record.keys() == {"number", "run_index", "written_realtime_ns", "author", "text"}


def test_a_write_protected_store_is_read_in_its_format(old_store: Path, tmp_path: Path) -> None:
    db = sqlite3.connect(f"{old_store.as_uri()}?mode=ro", uri=True, isolation_level=None)
    assert upgrade(db) == 5
