"""`list` and `show` on narrow terminals: names and paths stay whole, and notes have a mark."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from edgejoule.cli.layout import print_wrapped
from edgejoule.cli.main import main
from edgejoule.store import Store

NAME = "redis-or-postgresql-at-a-fixed-rate"
WIDTHS = ("40", "60", "80")


@pytest.fixture
def store(make_store: Callable[..., Store]) -> Path:
    """Two experiments, the first with a long name, a missing response, a note and a note on run 2."""
    missing = {("energy_net_j", 1): "no idle window: the machine was busy"}
    with make_store(databases=("sqlite", "leveldb"), workloads=("read",), blocks=2, missing=missing) as made:
        made._db.execute("UPDATE experiments SET name = ?", (NAME,))
        made._db.commit()
        made.add_note(1, "the heating was on", "ada")
        made.add_note(1, "fan unplugged", "ada", 1)
        return made.path


def shown(store: Path, width: str | None, *arguments: str) -> str:
    done = CliRunner().invoke(main, [*arguments, "--store", str(store)], env={"COLUMNS": width})
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.parametrize("width", WIDTHS)
def test_list_never_breaks_a_name(store: Path, width: str) -> None:
    text = shown(store, width, "list")
    assert f"1  {NAME}," in text
    assert "4 of 4 runs finished; 2 notes" in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= int(width)


@pytest.mark.parametrize("width", WIDTHS)
def test_show_of_a_run_never_breaks_the_name_of_a_response(store: Path, width: str) -> None:
    whole, narrow = shown(store, None, "show", "--run", "2"), shown(store, width, "show", "--run", "2")
    names = [line.split()[0] for line in whole.split("method\n")[1].split("\n\n")[0].splitlines() if "  " in line]
    assert len(names) > 10
    assert [name for name in names if name not in narrow.replace(":", " ").split()] == []
    assert max(map(len, narrow.splitlines())) <= int(width)


@pytest.mark.parametrize("width", [*WIDTHS, None])
def test_show_of_a_run_gives_the_reason_of_a_missing_value_below_the_values(store: Path, width: str | None) -> None:
    text = " ".join(shown(store, width, "show", "--run", "2").split())
    assert "energy_net_j has no value: no idle window: the machine was busy" in text


def test_a_note_has_a_mark_where_experiments_and_runs_are_listed(store: Path) -> None:
    header, first = shown(store, None, "list").splitlines()
    assert header.split()[-2:] == ["remark", "question"]
    assert "  2 notes  Which" in first
    rows = [line.split() for line in shown(store, None, "show").splitlines()]
    assert [row[-1] for row in rows if len(row) > 4 and row[0].isdigit() and row[2] in ("sqlite", "leveldb")][
        1
    ] == "note"


def test_without_notes_there_is_no_column_for_them(make_store: Callable[..., Store]) -> None:
    with make_store(databases=("sqlite", "leveldb"), workloads=("read",), blocks=2) as made:
        path = made.path
    assert "remark" not in shown(path, None, "list")
    assert "note" not in shown(path, None, "show")


@pytest.mark.parametrize("width", range(40, 70))
def test_a_path_breaks_at_its_slashes_and_keeps_its_colon(width: int) -> None:
    out = io.StringIO()
    path = "/srv/a-folder-with-a-long-name/and-one-more-below-it/results.csv"
    print_wrapped(Console(file=out, width=width), f"edgejoule: {path}: state the accuracy of the recorder")
    lines = out.getvalue().splitlines()
    assert ":" not in lines
    assert max(map(len, lines)) <= width
    assert "".join(lines).replace(" ", "") == f"edgejoule:{path}:statetheaccuracyoftherecorder"
    ends = [line.split()[-1] for line in lines]
    assert all(end.endswith(("/", ".", ":")) for end in ends if end in f"{path}:")


def test_the_lines_of_a_text_are_indented_behind_its_lead() -> None:
    out = io.StringIO()
    print_wrapped(Console(file=out, width=12), "one two three four", "7  ")
    assert out.getvalue().splitlines() == ["7  one two", "   three", "   four"]


def test_a_text_that_fits_is_printed_as_it_is() -> None:
    out = io.StringIO()
    print_wrapped(Console(file=out, width=40), "column 'a  b' has two blanks", "  ")
    assert out.getvalue() == "  column 'a  b' has two blanks\n"
