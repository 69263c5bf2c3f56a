"""Neither a terminal nor a browser obeys texts of others: titles, colours, the direction of writing."""

from __future__ import annotations

import re

import pytest
from command_line import edgejoule

HOSTILE = "\x1b]0;title\x07 \x1b[31mred \x9b2J \u202edlog \x7f"
OBEYED = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@pytest.mark.parametrize("command", [("show",), ("list",), ("show", "--run", "1")])
def test_control_characters_of_a_question_are_shown(make_store, tmp_path, command) -> None:
    toml = HOSTILE.encode("unicode_escape").decode().replace("\\x", "\\u00")
    make_store(blocks=2, workloads=("read",), question=toml).close()
    done = edgejoule(tmp_path, *command, "--store", "store-0.db")
    assert not OBEYED.search(done.stdout), ascii(done.stdout)
    assert command == ("show", "--run", "1") or "␛[31mred" in done.stdout


def test_control_characters_are_shown_in_the_report(make_store, tmp_path) -> None:
    toml = HOSTILE.encode("unicode_escape").decode().replace("\\x", "\\u00")
    make_store(blocks=2, workloads=("read",), question=toml).close()
    edgejoule(tmp_path, "report", "--store", "store-0.db", "-o", "page.html")
    page = (tmp_path / "page.html").read_text()
    assert not OBEYED.search(page.replace("\t", "")), "a browser turns the direction of writing at U+202E"
    assert "␛[31mred" in page


def test_control_characters_of_a_table_are_shown(tmp_path) -> None:
    (tmp_path / "a.csv").write_text("db,y\n" + "".join(f"{db},{y}\n" for db in (HOSTILE, "b") for y in (5, 6)))
    done = edgejoule(tmp_path, "analyse", "a.csv", "--response", "y", "--factors", "db")
    assert done.returncode == 0
    assert not OBEYED.search(done.stdout), ascii(done.stdout)


def test_control_characters_of_an_error_are_shown(tmp_path) -> None:
    (tmp_path / "a.csv").write_text(f"db,y\na,{HOSTILE}\n")
    done = edgejoule(tmp_path, "analyse", "a.csv", "--response", "y", "--factors", "db")
    assert done.returncode == 2
    assert not OBEYED.search(done.stderr), ascii(done.stderr)
