"""The text of an experiment with the properties of its workloads' files in it, so that it needs no other file."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from typing import Any

import tomli_w

from edgejoule import toml_text
from edgejoule.experiment.model import tables_of
from edgejoule.experiment.spec_files import key_lines

_FILE = re.compile(r"\s*file\s*=")


def with_properties(
    text: str, workloads: Mapping[str, Mapping[str, Any]], places: Mapping[str, str] | None = None
) -> str:
    """Returns the text with the properties in the place of each `file` of [workloads.NAME].

    text: a valid experiment without `base`. workloads: all properties of those that name a file. places: dotted key
    (workloads.NAME.PROPERTY) -> FILE:LINE, for comments.
    """
    data = toml_text.loads(text)
    stated = {name: own for name, own in tables_of(data.get("workloads")) if "file" in own and name in workloads}
    if not stated:
        return text
    for name in stated:
        data["workloads"][name] = dict(workloads[name])
    lines, at = text.splitlines(), key_lines(text)
    numbers = {name: at.get(f"workloads.{name}.file", 0) for name in stated}
    for name, number in sorted(numbers.items(), key=lambda one: -one[1]):
        if number and _FILE.match(lines[number - 1]):
            added = {key: value for key, value in workloads[name].items() if key not in stated[name]}
            lines[number - 1 : number] = [f"# {lines[number - 1].strip()}", *_lines(name, added, places or {})]
    inlined = "\n".join(lines) + "\n"
    return (
        inlined
        if _reads_as(inlined, data)
        else f"# With its property files, as it was measured.\n{tomli_w.dumps(data)}"
    )


def _lines(name: str, properties: Mapping[str, Any], places: Mapping[str, str]) -> list[str]:
    lines = []
    for key, value in properties.items():
        place = places.get(f"workloads.{name}.{key}")
        lines.append(tomli_w.dumps({key: value}).strip() + (f"  # {place}" if place else ""))
    return lines


def _reads_as(text: str, data: Mapping[str, Any]) -> bool:
    try:
        return toml_text.loads(text) == data
    except tomllib.TOMLDecodeError:  # the line is one of an inline table or of a text of several lines
        return False
