"""No joule and no watt of a modelled store stands anywhere without the word that it is modelled.

The walk reads what people and programs get: terminal, HTML, CSV, JSON, JSON lines, Parquet. Each mutant takes the word
out of one place and must be detected.
"""

from __future__ import annotations

import csv
import importlib.util
import io
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest
from click.testing import CliRunner
from rich.console import Console

from edgejoule.cli import progress
from edgejoule.cli.export import export
from edgejoule.cli.progress import StudyProgress
from edgejoule.cli.report import print_answer, print_details
from edgejoule.cli.show import show
from edgejoule.dictionary.responses import RESPONSES
from edgejoule.experiment.plan import make_plan
from edgejoule.export import parquet
from edgejoule.findings import effects, find, model, tables
from edgejoule.report import bars, build, load_curve
from edgejoule.store import Store

PARQUET = importlib.util.find_spec("pyarrow") is not None
METHOD = re.compile(r"modelled|counted|measured", re.IGNORECASE)
UNIT = r"(?:[kmµ]?J|[kmµ]?W|[kMµm]?Wh|joules?|watts?)"
FIGURE = re.compile(rf"\d[\d.,]*\s*{UNIT}(?![\w])")
UNIT_ALONE = re.compile(rf"(?<![\w]){UNIT}(?![\w])")
ENERGY_NAME = re.compile(r"(?:^|_)(?:energy|power|joules?|watts?)(?:_|$)|_(?:j|uj|mj|w|mw)$")


# JSON: a dict that names a joule or a watt has the method beside it or around it.


def json_naked(value: object, method: bool = False, path: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        method = method or bool(METHOD.search(str(value.get("method", ""))))
        for key, inner in value.items():
            number = isinstance(inner, int | float) and not isinstance(inner, bool)
            if number and not method and (ENERGY_NAME.search(key) and key not in RATIOS):
                yield f"{path}.{key} = {inner}"
            yield from json_naked(inner, method, f"{path}.{key}")
        if not method and (str(value.get("unit", "")) in ("J", "µJ", "W") or value.get("response") in ENERGIES):
            yield f"{path}: {value.get('name') or value.get('response')} in {value.get('unit')}"
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from json_naked(inner, method, f"{path}[{i}]")
    elif isinstance(value, str) and not method and FIGURE.search(value) and not METHOD.search(value):
        yield f"{path}: {value!r}"


RATIOS = {"energy_min_ratio"}
ENERGIES = {name for name, r in RESPONSES.items() if r.is_energy}


# Text: a figure with its unit has the method on its line; a table's column has it in the header.


def text_naked(text: str) -> Iterator[str]:
    header = ""
    for line in text.splitlines():
        if not re.search(r"\d", line):
            header = f"{header} {line}"
        if FIGURE.search(line) and not METHOD.search(line):
            yield line.strip()
    if UNIT_ALONE.search(header) and not METHOD.search(header):
        yield f"header: {' '.join(header.split())}"


def csv_naked(text: str) -> Iterator[str]:
    for name in next(csv.reader(io.StringIO(text))):
        if ENERGY_NAME.search(name.split(".")[0]) and not METHOD.search(name):
            yield f"column {name}"


# Parquet: a column with a joule or a watt has the method in its name and its metadata; samples have it in every row.


def parquet_naked(table: Any) -> Iterator[str]:
    for field in table.schema:
        metadata = {key.decode(): value.decode() for key, value in (field.metadata or {}).items()}
        energy = ENERGY_NAME.search(field.name.split(".")[0]) or metadata.get("unit") in ("J", "µJ", "W")
        if energy and not (METHOD.search(field.name) and METHOD.search(metadata.get("method", ""))):
            yield f"column {field.name}"
    if "value" in table.column_names:
        methods = table.column("method").to_pylist() if "method" in table.column_names else [None] * len(table)
        yield from (f"row {i}" for i, method in enumerate(methods) if not METHOD.search(method or ""))


# HTML: a block that holds a figure says the method itself, or its column, caption or drawing does.

BLOCKS = {
    "p",
    "dd",
    "li",
    "td",
    "th",
    "caption",
    "figcaption",
    "h1",
    "h2",
    "h3",
    "h4",
    "summary",
    "text",
    "title",
    "dt",
}


class Blocks(HTMLParser):
    """(tag, own text, what explains it): table headers for cells, aria-label and axis for drawings."""

    def __init__(self) -> None:
        super().__init__()
        self.closed: list[tuple[str, str, str]] = []
        self._open: list[tuple[str, list[str]]] = []
        self._headers: list[str] = []
        self._column = 0
        self._drawing: str | None = None
        self._in_drawing: list[int] = []
        self._skip = 0

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = dict(attributes)
        self._skip += tag in ("script", "style", "pre")
        if tag == "table":
            self._headers = []
        elif tag == "tr":
            self._column = 0
        elif tag == "svg":
            self._drawing, self._in_drawing = values.get("aria-label") or "", []
            self.closed.append(("svg", self._drawing, ""))
        if tag in BLOCKS:
            self._open.append((tag, []))

    def handle_endtag(self, tag: str) -> None:
        self._skip -= tag in ("script", "style", "pre")
        if tag == "svg" and self._drawing is not None:
            texts = " ".join(self.closed[i][1] for i in self._in_drawing)
            for i in self._in_drawing:
                name, text, _ = self.closed[i]
                self.closed[i] = (name, text, f"{self._drawing} {texts}")
            self._drawing = None
        if self._open and self._open[-1][0] == tag:
            _, parts = self._open.pop()
            text = " ".join("".join(parts).split())
            explained = ""
            if tag == "th":
                self._headers.append(text)
            elif tag == "td":
                explained = self._headers[self._column] if self._column < len(self._headers) else ""
                self._column += 1
            if self._drawing is not None:
                self._in_drawing.append(len(self.closed))
            self.closed.append((tag, text, explained))

    def handle_data(self, data: str) -> None:
        if not self._skip:
            for _, parts in self._open:
                parts.append(data)


def html_naked(page: str) -> Iterator[str]:
    parser = Blocks()
    parser.feed(page)
    for tag, text, explained in parser.closed:
        unit = FIGURE.search(text) or (tag in ("th", "text", "svg", "caption") and _names_unit(text))
        if unit and not METHOD.search(f"{text} {explained}"):
            yield f"<{tag}> {text}"
    for match in re.finditer(r'"unit":\s*"W"', page):
        if not METHOD.search(page[match.end() : match.end() + 60]):
            yield page[match.start() : match.end() + 60]


def _names_unit(text: str) -> bool:
    return bool(re.search(rf"\({UNIT}[,)]|^{UNIT}(?: per operation)?(?:,|$)|(?:^|\b)(?:energy|mean power)\b", text))


# The documents that are walked


def terminal(store: Store) -> str:
    out = Console(record=True, width=200, file=io.StringIO())
    experiment = store.find()
    findings = find(store, experiment)
    print_answer(out, findings.answer)
    print_details(out, findings)
    runner = CliRunner()
    outputs = [runner.invoke(show, [*w, "--store", str(store.path)]).output for w in ((), ("--run", "2"))]
    return "\n".join([out.export_text(), *outputs])


def progress_lines(store: Store) -> str:
    out = Console(record=True, width=200, file=io.StringIO())
    experiment = store.find()
    watcher = StudyProgress(out, "modelled")
    watcher._spec, watcher._todo = experiment.spec, make_plan(experiment.spec)  # as started() leaves it
    for run in store.runs(experiment.id)[:6]:
        watcher.ran(run)
    return out.export_text()


def command(store: Store, *arguments: str, of: Any = export) -> str:
    return CliRunner().invoke(of, [*arguments, "--store", str(store.path)]).stdout


def parquet_of(store: Store, *arguments: str) -> Any:
    target = store.path.with_suffix(".parquet")
    command(store, *arguments, "--parquet", str(target))
    return pytest.importorskip("pyarrow.parquet").read_table(target)


def walk(store: Store) -> list[str]:
    """Every naked figure, after where it stands."""
    experiment = store.find()
    result = find(store, experiment)
    places: dict[str, Callable[[], Iterator[str]]] = {
        "terminal": lambda: text_naked(terminal(store)),
        "progress": lambda: text_naked(progress_lines(store)),
        "html": lambda: html_naked(build(store, experiment, result)),
        "report --json": lambda: json_naked(json.loads(json.dumps(result.to_json()))),
        "show --json": lambda: json_naked(json.loads(command(store, "--json", of=show))),
        "csv": lambda: csv_naked(command(store, "--csv")),
        "jsonl": lambda: (n for line in command(store, "--jsonl").splitlines() for n in json_naked(json.loads(line))),
        "samples": lambda: (
            n for line in command(store, "--samples").splitlines()[:50] for n in json_naked(json.loads(line))
        ),
    }
    if PARQUET:
        places["parquet"] = lambda: parquet_naked(parquet_of(store))
        places["parquet samples"] = lambda: parquet_naked(parquet_of(store, "--samples"))
    return [f"{place}: {naked}" for place, check in places.items() for naked in check()]


@pytest.fixture
def modelled(make_store: Callable[..., Store]) -> Iterator[Store]:
    """Small, with a failed run and a missing energy."""
    with make_store(
        blocks=3, databases=("sqlite", "rocksdb"), workloads=("read", "write"), failed={4: "No space left on device"},
        missing={("energy_j", 2): "7 % of the interval has no power, 0.3 J of 4 J at least"},
        analysis='responses = ["energy_per_op_uj", "energy_j", "throughput_ops_s", "power_mean_w"]',
    ) as store:  # fmt: skip
        yield store


def test_no_joule_and_no_watt_stands_without_its_method(modelled: Store) -> None:
    assert walk(modelled) == []


def _json_without_method(r: Any, original: Callable[[Any], dict[str, Any]] = model._response_json) -> dict[str, Any]:
    return {k: v for k, v in original(r).items() if k != "method"}


def _text_without_method(response: Any, original: Callable[[Any], str] = progress._response_text) -> str:
    return original(response).replace(" modelled", "")


MUTANTS: dict[str, tuple[object, str, object, str]] = {
    "the verdict's sentences": (effects, "what_text", lambda r, *, capital=False: r.label, "terminal"),
    "a table's heading": (tables, "heading", lambda r, unit=None, *, capital=False: f"{r.label} ({r.unit})", "html"),
    "a drawing's axis": (bars, "axis_title", lambda r, unit: unit.symbol, "html"),
    "the progress of a run": (progress, "_response_text", _text_without_method, "progress"),
    "the findings as JSON": (model, "_response_json", _json_without_method, "report --json"),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_the_walk_finds_a_place_that_forgot_the_method(
    mutant: str, modelled: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    where, name, changed, place = MUTANTS[mutant]
    monkeypatch.setattr(where, name, changed)
    if mutant == "a drawing's axis":
        monkeypatch.setattr(model.ResponseFinding, "title", property(lambda r: r.label))
        monkeypatch.setattr(load_curve, "axis_title", changed)
    naked = walk(modelled)
    assert any(n.startswith(place) for n in naked), naked


@pytest.mark.parametrize("mutant", ["the column's name", "the column's metadata", "the samples"])
def test_the_walk_finds_a_parquet_file_that_forgot_the_method(
    mutant: str, modelled: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyarrow")
    if mutant == "the samples":
        right = parquet._repeated
        monkeypatch.setattr(parquet, "_repeated", lambda pa, word, n: right(pa, word.replace("modelled", ""), n))
    elif mutant == "the column's metadata":
        monkeypatch.setattr(parquet, "_described", lambda column: {"unit": str(column.unit)})
    else:
        write = parquet.write_runs
        monkeypatch.setattr(
            parquet, "write_runs",
            lambda columns, *rest: write([replace(c, name=c.name.replace(".modelled", "")) for c in columns], *rest),
        )  # fmt: skip
    naked = walk(modelled)
    assert any(n.startswith("parquet") for n in naked), naked


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (text_naked, "sqlite 71.2 µJ (modelled)", "sqlite 71.2 µJ"),
        (text_naked, "mean 4.2 W counted", "mean 4.2 W"),
        (csv_naked, "run,energy_j.modelled\n1,2\n", "run,energy_j\n1,2\n"),
        (json_naked, {"method": "modelled", "cells": [{"energy_j": 3.0}]}, {"cells": [{"energy_j": 3.0}]}),
        (json_naked, {"unit": "J", "method": "counted", "value": 1}, {"unit": "J", "value": 1}),
        (json_naked, ["3.2 J (modelled)"], ["3.2 J"]),
        (html_naked, "<p>costs 3 J, modelled</p>", "<p>costs 3 J</p>"),
        (html_naked, "<table><th>energy (J, modelled)</th></table>", "<table><th>energy (J)</th></table>"),
        (html_naked, '<svg aria-label="modelled"><text>W</text></svg>', '<svg aria-label=""><text>W</text></svg>'),
    ],
)  # fmt: skip
def test_the_walk_distinguishes_a_figure_with_its_method_from_one_without(
    check: Any, good: object, bad: object
) -> None:
    assert list(check(good)) == []
    assert list(check(bad))
