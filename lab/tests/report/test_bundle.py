"""The result bundle: the same bytes again and again, the same findings elsewhere, and no damaged or foreign file."""

from __future__ import annotations

import json
import shutil
import sqlite3
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from bundle_members import rewritten, with_hash
from click.testing import CliRunner

from edgejoule.cli.main import main
from edgejoule.errors import StoreError, UsageError
from edgejoule.export import bundle
from edgejoule.export.bundle import BundleError, bundle_store, import_bundle, write_bundle
from edgejoule.findings import find
from edgejoule.report import build
from edgejoule.store import Store

MakeStore = Callable[..., Store]
SMALL = {"databases": ("sqlite", "leveldb"), "workloads": ("read", "write")}


@pytest.fixture
def store(make_store: MakeStore) -> Store:
    """Finished, failed and planned runs."""
    return make_store(**SMALL, blocks=3, failed={5: "the driver ended"}, planned_only=frozenset({8}))


@pytest.fixture
def packed(store: Store, tmp_path: Path) -> Path:
    path = tmp_path / "one.zip"
    write_bundle(store.path, store.find(), path)
    return path


def findings(opened: Store) -> str:
    return json.dumps(find(opened, opened.find()).to_json())


def records(opened: Store) -> list[dict[str, object]]:
    return [run.record("x") for run in opened.runs(1)]


def page(opened: Store) -> str:
    return build(opened, opened.find(), find(opened, opened.find()))


def test_an_analysis_of_the_bundle_gives_the_same_bytes(store: Store, packed: Path) -> None:
    with bundle_store(packed) as other:
        assert findings(other) == findings(store)
        assert page(other) == page(store)


def test_mutant_that_rounds_a_response_gives_other_bytes(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = bundle._out
    monkeypatch.setattr(bundle, "_out", lambda value: round(value, 3) if isinstance(value, float) else out(value))
    write_bundle(store.path, store.find(), tmp_path / "rounded.zip")
    with bundle_store(tmp_path / "rounded.zip") as other:
        assert findings(other) != findings(store)


def test_every_row_comes_back_bit_for_bit(store: Store, packed: Path) -> None:
    with bundle_store(packed) as other:
        assert records(other) == records(store)
        for mine, theirs in zip(store.runs(1), other.runs(1), strict=True):
            before, after = store.data(mine), other.data(theirs)
            assert list(after.events) == list(before.events)
            assert list(after.latencies) == list(before.latencies)
            for a, b in zip(before.traces, after.traces, strict=True):
                assert a.channel == b.channel
                assert a.reasons == b.reasons
                np.testing.assert_array_equal(a.t_ns, b.t_ns)
                np.testing.assert_array_equal(a.value, b.value)


def test_the_same_experiment_gives_the_same_bytes_wherever_it_lies(
    store: Store, packed: Path, make_store: MakeStore, tmp_path: Path
) -> None:
    again, elsewhere = tmp_path / "again.zip", tmp_path / "elsewhere.zip"
    write_bundle(store.path, store.find(), again)
    assert again.read_bytes() == packed.read_bytes()
    target = tmp_path / "fresh.db"
    import_bundle(packed, target)
    with Store.open(target) as opened:
        write_bundle(target, opened.find(), elsewhere)
    assert elsewhere.read_bytes() == packed.read_bytes()


def test_a_store_with_others_takes_it_under_a_free_number_and_leaves_them_alone(
    store: Store, packed: Path, make_store: MakeStore
) -> None:
    other = make_store(**SMALL, blocks=2, seed=9)
    before = findings(other)
    number = import_bundle(packed, other.path)
    assert number == 2
    mine, theirs = json.loads(findings(store)), json.loads(findings(other))
    assert theirs["experiment"].pop("id") == 2
    assert mine["experiment"].pop("id") == 1
    assert theirs == mine
    assert json.dumps(find(other, other.find("1")).to_json()) == before


def test_the_same_experiment_is_not_taken_twice(store: Store, packed: Path) -> None:
    with pytest.raises(UsageError, match="has this experiment already, as number 1"):
        import_bundle(packed, store.path)
    assert len(store.experiments()) == 1


def test_the_content_is_readable_text(packed: Path) -> None:
    with zipfile.ZipFile(packed) as archive:
        assert "edgejoule import" in archive.read("README.txt").decode()
        assert 'name = "synthetic"' in archive.read("experiment.toml").decode()
        assert "Synthetic Board 1" in archive.read("environment.json").decode()
        assert json.loads(archive.read("bundle.json"))["format"] == "edgejoule result bundle"


def head_with(members: dict[str, bytes], **changes: object) -> None:
    members["bundle.json"] = json.dumps(json.loads(members["bundle.json"]) | changes).encode()


CHANGES: dict[str, tuple[Callable[[dict[str, bytes]], None], str]] = {
    "a changed figure": (
        lambda m: m.update({"tables/responses.jsonl": m["tables/responses.jsonl"].replace(b"1", b"2", 1)}),
        "damaged: tables/responses.jsonl is not as it was written",
    ),
    "a lost member": (lambda m: m.pop("tables/events.jsonl"), "damaged: its members"),
    "an added member": (lambda m: m.update({"virus.exe": b""}), "damaged: its members"),
    "no head": (lambda m: m.pop("bundle.json"), "has no bundle.json"),
    "a broken head": (lambda m: m.update({"bundle.json": b"{"}), "bundle.json is not what a bundle has"),
    "another format": (lambda m: head_with(m, format="x"), "a 'x', expected"),
    "a newer format": (lambda m: head_with(m, store_format=99), "of store format 99"),
    "foreign columns": (
        lambda m: with_hash(m, "tables/events.jsonl", b'{"run_id": 0, "x": 1}\n'), "events.jsonl, line 1: columns"
    ),
    "no JSON": (lambda m: with_hash(m, "tables/events.jsonl", b"hello\n"), "tables/events.jsonl, line 1"),
    "a row of no run": (
        lambda m: with_hash(m, "tables/events.jsonl", b'{"run_id": 77, "monotonic_ns": 1, "json": "{}"}\n'),
        "has a row of number 77 of runs",
    ),
    "a value the store refuses": (
        lambda m: with_hash(m, "tables/events.jsonl", b'{"run_id": 0, "monotonic_ns": null, "json": "{}"}\n'),
        "nothing was changed",
    ),
    "two experiments": (
        lambda m: with_hash(m, "tables/experiments.jsonl", m["tables/experiments.jsonl"] * 2), "2 experiments"
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", CHANGES)
def test_a_damaged_or_foreign_bundle_is_refused_and_changes_nothing(
    what: str, packed: Path, make_store: MakeStore
) -> None:
    change, message = CHANGES[what]
    other = make_store(**SMALL, blocks=2, seed=9)
    before = records(other)
    with pytest.raises(BundleError, match=r"changed\.zip") as error:
        import_bundle(rewritten(packed, change), other.path)
    assert message in str(error.value)
    assert len(other.experiments()) == 1
    assert records(other) == before


@pytest.mark.parametrize("cut", [0, 10, 1000])
def test_a_cut_file_is_refused(packed: Path, tmp_path: Path, cut: int) -> None:
    (tmp_path / "cut.zip").write_bytes(packed.read_bytes()[:cut])
    with pytest.raises(BundleError, match="damaged"):
        import_bundle(tmp_path / "cut.zip", tmp_path / "new.db")
    assert not (tmp_path / "new.db").exists()


def test_flipped_bytes_are_never_taken(packed: Path, tmp_path: Path) -> None:
    """Seeded places all over the file: refused, or (in a place that means nothing) taken with every figure right."""
    whole = packed.read_bytes()
    with bundle_store(packed) as opened:
        right = records(opened)
    for seed in range(40):
        place = int(np.random.default_rng(seed).integers(len(whole)))
        (tmp_path / "flipped.zip").write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        try:
            with bundle_store(tmp_path / "flipped.zip") as opened:
                assert records(opened) == right, f"seed {seed}"
        except BundleError:
            continue


def test_a_bundle_that_cannot_be_written_leaves_nothing(store: Store, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be written"):
        write_bundle(store.path, store.find(), tmp_path / "absent" / "x.zip")


def test_the_commands_pack_take_and_report(store: Store, tmp_path: Path) -> None:
    run = CliRunner().invoke
    packed, other = tmp_path / "p.zip", tmp_path / "other.db"
    assert run(main, ["export", "--bundle", str(packed), "--store", str(store.path)]).exit_code == 0
    taken = run(main, ["import", str(packed), "--store", str(other)])
    assert "synthetic is experiment 1" in taken.output
    assert "1 failed, 10 finished, 1 planned" in taken.output
    mine = run(main, ["report", "--json", "-o", str(tmp_path / "mine.html"), "--store", str(store.path)])
    theirs = run(main, ["report", str(packed), "--json", "-o", str(tmp_path / "theirs.html")])
    assert mine.exit_code == theirs.exit_code == 0
    assert mine.output == theirs.output
    assert (tmp_path / "mine.html").read_bytes() == (tmp_path / "theirs.html").read_bytes()


def test_the_commands_refuse_with_a_message(tmp_path: Path, store: Store) -> None:
    shutil.copy(store.path, tmp_path / "s.zip")
    for arguments, said, code in (
        (["import", str(tmp_path / "none.zip")], "no such file", 2),
        (["import", str(tmp_path / "s.zip")], "not a ZIP file", 2),
        (["report", str(tmp_path / "none.zip")], "no such file", 2),
        (["export", "--bundle", "x.txt", "--store", str(store.path)], "expected the name of a .zip file", 2),
    ):
        result = CliRunner().invoke(main, arguments)
        assert result.exit_code == code, result.output
        assert said in result.output


@pytest.mark.parametrize(
    "arguments",
    [["report", "-o"], ["export", "--csv", "-o"], ["export", "--parquet"], ["export", "--bundle"]],
    ids=lambda arguments: " ".join(arguments),
)
def test_a_missing_folder_is_refused_with_the_command_that_makes_it(
    store: Store, tmp_path: Path, arguments: list[str]
) -> None:
    target = tmp_path / "my results" / "x.zip"
    result = CliRunner().invoke(main, [*arguments, str(target), "--store", str(store.path)])
    assert result.exit_code == 2, result.output
    assert f"{arguments[-1]} {target}: no folder {target.parent}; make it: mkdir -p '{target.parent}'" in result.stderr
    assert not target.parent.exists()


def test_a_table_that_belongs_to_no_experiment_is_detected(store: Store, tmp_path: Path) -> None:
    with sqlite3.connect(store.path) as db:
        db.execute("CREATE TABLE strangers (x INTEGER)")
    with pytest.raises(AssertionError, match="belongs to no experiment"):
        write_bundle(store.path, store.find(), tmp_path / "x.zip")
