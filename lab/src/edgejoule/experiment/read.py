"""experiment.toml -> a validated model. Every error names the file, the line and the key."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args, get_origin

import tomli_w
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from edgejoule import toml_text
from edgejoule.dictionary.properties import Level
from edgejoule.dictionary.responses import nearest
from edgejoule.errors import SpecError, UsageError
from edgejoule.experiment.advice import warnings
from edgejoule.experiment.command import (
    HAVING_PATHS,
    CommandWorkload,
    is_command,
    with_contents,
)
from edgejoule.experiment.complaints import complaints
from edgejoule.experiment.inlined import with_properties
from edgejoule.experiment.model import COMMAND_TAG, PROPERTIES_TAG, Spec, tables_of
from edgejoule.experiment.removed import TRIAL
from edgejoule.experiment.settings import SettingsError
from edgejoule.experiment.spec_files import MergedSpec, SpecFile, spec_file, spec_files, split_setting
from edgejoule.experiment.workload_files import find_workload_file, read_workload_file
from edgejoule.validation_text import expectation


@dataclass(frozen=True)
class SpecReading:
    """A spec that was read. merged: its keys with the file that states each."""

    spec: Spec
    merged: MergedSpec

    @contextmanager
    def located(self) -> Iterator[None]:
        """Gives errors of a run's settings their file, line and key."""
        try:
            yield
        except SettingsError as error:
            raise self.merged.error(*error.complaint(self.spec)) from error

    def warnings(self) -> list[str]:
        """Returns what is read and changes nothing, and what is seldom meant, with file, line and key."""
        return [*self.merged.notes, *(str(self.merged.error(*warning)) for warning in warnings(self.spec))]

    def text(self) -> str:
        """Returns the spec as one TOML text that needs no other file: as written, or merged with its bases and without
        `--set`. The properties of a workload's file are in it."""
        files = self.merged.files
        written = MergedSpec(files)
        whole = {
            name: _with_file(workload, written, name)
            for name, workload in tables_of(written.data.get("workloads"))
            if not is_command(workload)
        }
        if len(files) == 1:
            places = {key: os.path.relpath(written.place(key), files[0].path.parent) for key in written.included}
            return with_properties(files[0].text, whole, places)
        written.data.get("workloads", {}).update(whole)
        chain = " on ".join(file.path.name for file in files)
        return f"# {chain}: merged, as it was measured.\n{tomli_w.dumps(written.data)}"


def load_spec(path: Path, overrides: Sequence[str] = ()) -> Spec:
    """Read and validate an experiment. overrides: arguments of `--set`, KEY=VALUE with TOML's dotted key and value.

    Raises SpecError (file, line, key) or UsageError (a malformed override).
    """
    return read_spec(path, overrides).spec


def read_spec(path: Path, overrides: Sequence[str] = ()) -> SpecReading:
    """Reads a spec and records the source of each key."""
    return _reading(spec_files(path), overrides)


def spec_of_text(text: str, path: Path) -> Spec:
    """Validates the text of an experiment. path: named in messages; relative paths are below its folder."""
    file = spec_file(text, path)
    assert "base" not in file.data, "a text stands alone"
    return _reading([file], ()).spec


def _reading(files: Sequence[SpecFile], overrides: Sequence[str]) -> SpecReading:
    merged = MergedSpec(files)
    for word in overrides:
        parts, value = split_setting(word)
        merged.set(parts, _parsed(value))
    data = dict(merged.data)
    if isinstance(workloads := data.get("workloads"), dict):
        data["workloads"] = {name: _complete(name, workload, merged) for name, workload in workloads.items()}
    try:
        spec = Spec.model_validate(data)
    except ValidationError as error:
        if {"links", "policies", "tiers"} <= data.keys():
            raise SpecError(files[0].path, None, None, f"is a spec of `edgejoule eco trial`: {TRIAL}") from None
        errors = error.errors(include_url=False)
        first = min(errors, key=_rank)
        raise merged.error(_dotted(first["loc"]), _message(first, errors)) from None
    for key, message in complaints(spec, merged.left_out):
        raise merged.error(key, message)
    return SpecReading(spec, merged)


def _parsed(value: str) -> Any:
    try:
        return toml_text.loads(f"v = {value}")["v"]
    except tomllib.TOMLDecodeError:
        return value


def _complete(name: str, workload: object, merged: MergedSpec) -> object:
    """Returns a workload with the contents of its files."""
    if not isinstance(workload, dict):
        return workload
    if is_command(workload) and workload.get("servers") == []:
        raise merged.error(f"workloads.{name}.servers", "no server is named; without the key it runs on the first one")
    try:
        if is_command(workload):
            return with_contents(workload, _command_folder(name, workload, merged), _settings(merged.data))
        return _with_file(workload, merged, name)
    except UsageError as error:
        if isinstance(error, SpecError):
            raise
        raise merged.error(f"workloads.{name}.{'files' if is_command(workload) else 'file'}", str(error)) from None


def _command_folder(name: str, workload: Mapping[str, Any], merged: MergedSpec) -> Path:
    """Returns the folder of the file that states the command. All paths of a command are relative to one folder."""
    folder = merged.folder(f"workloads.{name}.command")
    for key in HAVING_PATHS:
        place = f"workloads.{name}.{key}"
        if key in workload and merged.folder(place).resolve() != folder.resolve():
            raise merged.error(
                place,
                f"its paths are relative to this file, and those of `command` to {folder}; state both in one folder",
            )
    return folder


def _settings(data: Mapping[str, Any]) -> dict[str, list[Level]]:
    """Returns factors and fixed settings with their levels, before validation."""
    fixed = data.get("fixed")
    one = {name: [level] for name, level in fixed.items()} if isinstance(fixed, dict) else {}
    return {**one, **dict(_lists(data.get("factors")))}


def _lists(value: object) -> list[tuple[str, list[Any]]]:
    """Returns the lists of a table that has not been validated."""
    return [(k, v) for k, v in value.items() if isinstance(v, list)] if isinstance(value, dict) else []


def _with_file(workload: dict[str, Any], merged: MergedSpec, name: str) -> dict[str, Any]:
    """Returns the workload with the properties of its file, if it names one; keys beside `file` override them."""
    own = dict(workload)
    beside = merged.folder(f"workloads.{name}.file")
    if isinstance(file := own.pop("file", None), str):
        path = find_workload_file(file, beside)
        read = read_workload_file(path, merged.adapters())
        stated = {key: value for key, value in read.properties.items() if key not in own}
        merged.include(name, path, stated, read.lines)
        merged.notes.extend(note for note in read.notes if note not in merged.notes)
        own = read.properties | own
    elif file is not None:
        raise UsageError(f"expected the name or path of a property file, got {file!r}")
    if own.get("kind") == "replay" and isinstance(trace := own.get("trace"), str):
        beside = merged.folder(f"workloads.{name}.trace") if "trace" in workload else beside
        own["trace"] = str((beside / trace).absolute())
    return own


def _dotted(loc: Sequence[str | int]) -> str:
    unions = {  # pydantic's names of the branches of a union
        "str", "int", "float", "bool", "list[union[str,int,float,bool]]", "list[str]", COMMAND_TAG, PROPERTIES_TAG,
    }  # fmt: skip
    in_array = loc[:1] == ("when",)
    return ".".join(str(part) for part in loc if part not in unions and (in_array or not isinstance(part, int)))


def _rank(error: Any) -> tuple[bool, bool]:
    """Chooses which complaint to report: a misspelt key explains a missing one, infinity all branches of a union."""
    return error["type"] == "missing", error["type"] != "finite_number"


def _message(error: ErrorDetails, errors: Sequence[ErrorDetails]) -> str:
    """Translates a pydantic error: the expected value, and the nearest known key."""
    kind, loc = error["type"], error["loc"]
    if kind == "extra_forbidden":
        model: Any = Spec
        for part in loc[:-1]:
            if part == COMMAND_TAG:
                model = CommandWorkload
            else:
                model = get_args(model)[1] if get_origin(model) is dict else _model(model).model_fields[part].annotation
        return f"unknown key; {nearest(str(loc[-1]), _model(model).model_fields)}"
    if kind == "missing":
        return "is missing"
    if isinstance(error["input"], dict) and (written := _in_one_name(loc, error["input"])):
        return f"expected a value, got a table; write the whole name of an option in quotes: {written}"
    return expectation(error, errors)


def _in_one_name(loc: Sequence[str | int], table: Mapping[str, Any]) -> str:
    """Returns the entries of [fixed.redis] as [fixed] takes them; "" for a table of another place."""
    place = _dotted(loc).split(".")
    before = {"fixed": 1, "factors": 1, "workloads": 2}.get(place[0], len(place))
    if len(place) <= before:
        return ""
    entries = {f"{place[before]}.{name}": v for name, v in table.items() if not isinstance(v, dict)}
    lines = (" ".join(tomli_w.dumps({name: v}).split()) for name, v in entries.items())
    return ", ".join(line.replace("[ ", "[").replace(", ]", "]") for line in lines)


def _model(annotation: Any) -> Any:
    """The model of an annotation that may also be None."""
    return next(one for one in (*get_args(annotation), annotation) if isinstance(one, type) and one is not type(None))
