"""The report says if an update means different work at the compared databases."""

from __future__ import annotations

from edgejoule.findings.updates import update_caveats
from edgejoule.store import Run


def run(database: str, semantics: str | None) -> Run:
    facts = {} if semantics is None else {"update_semantics": semantics}
    return Run(run_index=0, block=0, levels={"database": database}, status="finished", facts=facts)


def test_different_updates_are_one_caveat():
    runs = [run("sqlite", "native"), run("leveldb", "put"), run("rocksdb", "put"), run("lmdb", "merge")]
    assert update_caveats(runs) == [
        "An update is not the same work at each database. leveldb and rocksdb: the row is written without a read "
        "(put); lmdb: the row is read first and written whole (merge); sqlite: the database changes fields of an "
        "existing row (native)."
    ]


def test_alike_updates_and_runs_without_updates_are_none():
    assert update_caveats([run("leveldb", "put"), run("rocksdb", "put"), run("sqlite", None)]) == []
    assert update_caveats([]) == []


def test_a_study_of_the_semantics_itself_has_no_caveat():
    runs = [run(database, semantics) for database in ("leveldb", "rocksdb") for semantics in ("put", "merge")]
    assert update_caveats(runs) == []
