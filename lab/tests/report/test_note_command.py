"""`edgejoule note`: a remark stays with its experiment, wherever that is shown or taken."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import jsonschema
import pytest
from bundle_members import rewritten, with_hash
from command_line import edgejoule

from edgejoule.store import Store

SCHEMA = Path(__file__).parents[3] / "schemas/run-record.schema.json"
HEATING, FAN = "the heating was on", "fan <b>unplugged</b> [red]& hot"


@pytest.fixture
def folder(make_store: Callable[..., Store]) -> Path:
    store = make_store(databases=("sqlite", "leveldb"), workloads=("read",), blocks=2)
    store.close()
    folder = store.path.rename(store.path.with_name("store.db")).parent
    assert note(folder, HEATING).returncode == 0
    assert note(folder, "--run", "2", FAN, "--author", "").returncode == 0
    return folder


def note(folder: Path, *arguments: str) -> CompletedProcess[str]:
    return edgejoule(folder, "note", "synthetic", *arguments, "--store", "store.db")


def notes(folder: Path) -> list[tuple[int | None, str]]:
    with Store.open(folder / "store.db") as store:
        return [(one.run_index, one.text) for one in store.notes(1)]


def test_notes_are_listed_with_run_time_and_author(folder: Path) -> None:
    first, second = note(folder).stdout.splitlines()
    assert first.startswith("note 1 (20")
    assert first.endswith(f"): {HEATING}")
    assert "@" in first
    assert second.startswith("note 2 (run 2, 20")
    assert second.endswith(f"): {FAN}")
    assert "@" not in second
    assert note(folder, "--run", "2").stdout.splitlines() == [second]
    assert note(folder, "--run", "3").stdout == "run 3 of synthetic (1) has no notes\n"


def test_a_removed_note_is_gone(folder: Path) -> None:
    assert note(folder, "--remove", "1").returncode == 0
    assert notes(folder) == [(1, FAN)]
    done = note(folder, "--remove", "2")
    assert done.returncode == 2
    assert "has 1 note, there is no note 2" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--run", "5", "x"], "--run 5: synthetic (1) has 4 runs"),
        ([" "], "TEXT: is empty"),
        (["a\x1b[31mb"], "TEXT: has the control character '\\x1b'"),
        (["x" * 10_001], "10,001 characters, expected at most 10,000"),
        (["x", "--author", "a\x07"], "--author: has the control character"),
        (["--remove", "1", "x"], "--remove K"),
    ],
)
def test_a_wrong_note_changes_nothing(folder: Path, arguments: list[str], message: str) -> None:
    before = notes(folder)
    done = note(folder, *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert notes(folder) == before


def test_show_and_its_json_have_the_notes(folder: Path) -> None:
    shown = edgejoule(folder, "show", "synthetic", "--store", "store.db").stdout
    assert f"): {HEATING}\n" in shown
    assert f"): {FAN}\n" in shown
    of_run = edgejoule(folder, "show", "synthetic", "--run", "1", "--store", "store.db").stdout
    assert HEATING in of_run
    assert FAN not in of_run
    reported = json.loads(edgejoule(folder, "show", "synthetic", "--json", "--store", "store.db").stdout)
    assert [(one["run_index"], one["text"]) for one in reported["notes"]] == notes(folder)


def test_findings_and_run_records_as_json_have_the_notes(folder: Path) -> None:
    findings = json.loads(edgejoule(folder, "report", "synthetic", "--json", "--store", "store.db").stdout)
    assert [one["text"] for one in findings["notes"]] == [HEATING, FAN]
    lines = edgejoule(folder, "export", "synthetic", "--jsonl", "--store", "store.db").stdout.splitlines()
    records = [json.loads(line) for line in lines]
    assert [record["notes"] for record in records] == [[], [FAN], [], []]
    validator = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text()))
    for record in records:
        validator.validate({**record, "facts": {}})


def test_the_report_has_the_notes_as_text(folder: Path) -> None:
    done = edgejoule(folder, "report", "synthetic", "--store", "store.db", "-o", "r.html")
    assert done.returncode == 0, done.stderr
    page = (folder / "r.html").read_text()
    assert page.index('<section id="notes"') < page.index(HEATING) < page.index("<nav")
    assert page.count(HEATING) == 1
    assert page.index("<h3>All runs</h3>") < page.index("fan &lt;b") < page.index('<section id="method">')
    assert "fan &lt;b&gt;unplugged&lt;/b&gt; [red]&amp; hot" in page
    assert "<b>unplugged" not in page


def test_a_bundle_takes_the_notes_along(folder: Path) -> None:
    assert edgejoule(folder, "export", "synthetic", "--store", "store.db", "--bundle", "b.zip").returncode == 0
    other = folder / "other"
    other.mkdir()
    done = edgejoule(other, "import", "../b.zip", "--store", "store.db")
    assert done.returncode == 0, done.stderr
    assert notes(other) == notes(folder)


Change = Callable[[dict[str, bytes]], None]


def with_note(**changes: object) -> Change:
    def change(members: dict[str, bytes]) -> None:
        first, *others = members["tables/notes.jsonl"].splitlines(keepends=True)
        row = json.dumps(json.loads(first) | changes).encode() + b"\n"
        with_hash(members, "tables/notes.jsonl", row + b"".join(others))

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (with_note(run_index=4), "tables/notes.jsonl, row 1: run_index 4: the experiment has no such run"),
        (with_note(text=""), "tables/notes.jsonl, row 1: text"),
        (with_note(text="\x1b]0;title\x07"), "tables/notes.jsonl, row 1: text: has the control character"),
        (with_note(author="x" * 201), "tables/notes.jsonl, row 1: author: 201 characters"),
        (with_note(written_realtime_ns=-1), "tables/notes.jsonl, row 1: written_realtime_ns"),
    ],
)
def test_a_bundle_with_a_note_that_none_wrote_is_refused(folder: Path, change: Change, message: str) -> None:
    assert edgejoule(folder, "export", "synthetic", "--store", "store.db", "--bundle", "b.zip").returncode == 0
    with zipfile.ZipFile(folder / "b.zip") as archive:
        assert "tables/notes.jsonl" in archive.namelist()
    done = edgejoule(folder, "import", str(rewritten(folder / "b.zip", change)), "--store", "new.db")
    assert done.returncode == 2
    assert message in done.stderr
