"""The design of an experiment as merged from its files: factors, fixed values, and where each is stated."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rich.console import Console

from edgejoule.cli.layout import print_rows
from edgejoule.experiment.read import SpecReading
from edgejoule.experiment.spec_files import MergedSpec

_SHOWN_ELSEWHERE = ("name", "question", "when", "schema_version")


@dataclass(frozen=True)
class Setting:
    """A stated key. file: relative to the spec's folder, or `--set`. line: None for `--set`."""

    key: str
    value: Any
    file: str
    line: int | None

    @property
    def source(self) -> str:
        """Returns FILE:LINE."""
        return self.file if self.line is None else f"{self.file}:{self.line}"

    def to_json(self) -> dict[str, Any]:
        """Returns the object of `run --dry-run --json`."""
        return {"key": self.key, "value": self.value, "file": self.file, "line": self.line}


def settings(reading: SpecReading) -> list[Setting]:
    """Returns every key that a file or `--set` states, without databases and workloads that are no level of the
    design."""
    merged, spec = reading.merged, reading.spec
    used = {
        table: [str(level) for level in spec.factors.get(name, [spec.fixed.get(name, "")])]
        for table, name in (("databases", "database"), ("workloads", "workload"))
    }
    stated = []
    for place, value in _with_included(merged):
        if place[0] in _SHOWN_ELSEWHERE or (place[0] in used and place[1] not in used[place[0]]):
            continue
        key = ".".join(place)
        source = merged.source(key)
        file = "--set" if source is None else os.path.relpath(source.path, merged.files[0].path.parent)
        stated.append(Setting(key, value, file, source.line(key) if source else None))
    return stated


def _with_included(merged: MergedSpec) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yields every stated key in parts with its value; after a workload's `file`, what that file states."""
    for place, value in _leaves(merged.data):
        yield place, value
        if place[0] == "workloads" and place[2:] == ("file",):
            table = f"workloads.{place[1]}."
            for key, own in merged.included.items():
                if key.startswith(table):
                    yield (*place[:2], key.removeprefix(table)), own


def print_design(out: Console, reading: SpecReading) -> None:
    """Prints two tables, factors and fixed values."""
    merged = settings(reading)
    factors = [s for s in merged if s.key.startswith("factors.")]
    fixed = [s for s in merged if not s.key.startswith("factors.")]
    for title, value, stated in (("factor", "levels", factors), ("fixed", "value", fixed)):
        rows = [(_name(setting), setting.source, _text(setting.value)) for setting in stated]
        if rows:
            out.print()
            print_rows(out, (title, "from", value), rows)
    out.print()


def _name(setting: Setting) -> str:
    return setting.key.removeprefix("factors.").removeprefix("fixed.")


def _text(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(_text, value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _leaves(table: Mapping[str, Any], place: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _leaves(value, (*place, name))
        else:
            yield (*place, name), value
