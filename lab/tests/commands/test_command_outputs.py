"""Declared responses in what a command printed: the mean over its repetitions, or a clear refusal."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from edgejoule.commands.outputs import BYTES_MAX, Output, figures, last_lines
from edgejoule.errors import DatabaseError
from edgejoule.experiment.command import DeclaredResponse, filled, placeholders, unescaped

TPS = {"tps": DeclaredResponse(regex="tps = ([0-9.e+nan-]+)")}
BY_PATH = {"tps": DeclaredResponse(json_path="$.results[1].tps")}


@pytest.mark.parametrize(
    ("text", "repetitions", "value"),
    [
        ("tps = 3", 1, 3.0),
        ("tps = 1\ntps = 5", 1, 5.0),  # a progress line, then the summary
        ("tps = 1\ntps = 5", 2, 3.0),
        ("tps = 9\ntps = 1\ntps = 9\ntps = 5", 2, 3.0),
        ("tps = 1.5e+3", 1, 1500.0),
    ],
)
def test_a_figure_is_the_last_of_each_repetition_and_their_mean(text: str, repetitions: int, value: float) -> None:
    assert figures(text, TPS, repetitions) == {"tps": value}


@pytest.mark.parametrize(
    ("text", "repetitions", "phrase"),
    [
        ("", 1, "the command printed nothing"),
        ("nothing of it", 1, "no match of 'tps = .*ends with: nothing of it"),
        ("tps = 1", 2, "only 1 of 2 repetitions have one"),
        ("tps = 1\ntps = 2\ntps = 3", 2, "3 matches; expected the same number in each"),
        ("tps = -", 1, "expected a number, got '-'"),
        ("tps = nan", 1, "expected a finite number"),
        ("tps = 1e308", 1, "expected a finite number, below 1e\\+100, got '1e308'"),
        ("tps = -1e308", 1, "expected a finite number, below 1e"),
    ],
)
def test_an_output_that_lacks_a_figure_is_refused(text: str, repetitions: int, phrase: str) -> None:
    with pytest.raises(DatabaseError, match=phrase):
        figures(text, TPS, repetitions)


def test_json_is_read_among_other_text_and_from_every_repetition() -> None:
    one = 'begins {x}\n{"results": [{}, {"tps": %s}]}\nends [1'
    assert figures(one % 4, BY_PATH, 1) == {"tps": 4.0}
    assert figures(one % 4 + one % '"6"', BY_PATH, 2) == {"tps": 5.0}
    for wrong in ('{"results": []}', one % "null", one % "true"):
        with pytest.raises(DatabaseError):
            figures(wrong, BY_PATH, 1)


def test_of_a_long_output_the_end_is_kept_and_all_bytes_are_counted(tmp_path: Path) -> None:
    line = b"x" * 99 + b"\n"
    with Output(tmp_path / "output") as output, output.path.open("wb") as command:
        for _ in range(BYTES_MAX // 40):
            command.write(line)
        command.write(b"the last one\n")
    assert output.bytes_total == BYTES_MAX // 40 * 100 + 13
    assert output.text().endswith("the last one\n")
    assert len(output.text()) == BYTES_MAX
    assert not os.path.lexists(tmp_path / "output")


def test_last_lines_are_few_and_short() -> None:
    lines = last_lines("\n".join(f"{i} " + "y" * 1000 for i in range(100)) + "\n\n")
    assert len(lines) == 10
    assert max(map(len, lines)) == 400
    assert lines[-1].startswith("99 ")


def test_placeholders_are_names_in_braces_but_not_the_shells() -> None:
    text = "{a} ${b} {{c}} {d.e} {print $1} {}"
    assert placeholders(text) == ["a", "d.e"]
    assert unescaped(filled(text, {"a": 1, "b": 2, "c": 3, "d.e": 4})) == "1 ${b} {c} 4 {print $1} {}"
