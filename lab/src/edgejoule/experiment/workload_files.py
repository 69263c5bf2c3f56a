"""YCSB property files as workloads of an experiment: `[workloads.NAME] file = "..."`.

A file is searched beside the experiment, then among those that come with the driver (driver/workloads). Its
properties become part of the experiment, so that a stored experiment needs no file.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from edgejoule.dictionary.properties import CORE, KINDS, Kind, Level, is_option
from edgejoule.dictionary.responses import nearest
from edgejoule.errors import UsageError


def find_workload_file(name: str, beside: Path) -> Path:
    """Returns the property file of that name or path. Raises UsageError when it does not exist."""
    own = beside / name
    if own.is_file():
        return own
    for folder in _folders() if "/" not in name else ():
        if (folder / name).is_file():
            return folder / name
    known = [f.name for folder in _folders() for f in folder.iterdir() if f.suffix != ".md"]
    raise UsageError(f"no file {own}, and no workload {name!r} comes with the driver; {nearest(name, known)}")


def _folders() -> list[Path]:
    places = [parent / "driver/workloads" for parent in Path(__file__).resolve().parents]
    if program := shutil.which("edgejoule-driver"):
        places.append(Path(program).resolve().parent / "../share/edgejoule/workloads")
    return [p for p in places if p.is_dir()]


def read_workload_file(path: Path) -> dict[str, Level]:
    """Reads properties with their types, and `kind` unless it is YCSB's core. Raises UsageError with the line."""
    entries: dict[str, tuple[int, str]] = {}
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read: {error}") from error
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and line.strip()[0] not in "#!":
            name, sep, value = line.partition("=")
            if not sep:
                raise UsageError(f"{path}:{number}: expected name=value, got {line.strip()!r}")
            entries[name.strip()] = (number, value.strip())
    kind = entries.pop("workload", (0, CORE))[1]
    kind = CORE if kind.endswith("CoreWorkload") else kind
    if kind not in KINDS:
        raise UsageError(f"{path}: workload={kind}: unknown kind of workload; {nearest(kind, KINDS)}")
    properties: dict[str, Level] = {} if kind == CORE else {"kind": kind}
    for name, (number, value) in entries.items():
        if is_option(name):
            properties[name] = _option(value)
            continue
        if name not in KINDS[kind]:
            raise UsageError(f"{path}:{number}: {name}: unknown property; {nearest(name, KINDS[kind])}")
        try:
            properties[name] = _typed(value, KINDS[kind][name])
        except ValueError as error:
            raise UsageError(f"{path}:{number}: {name}: {error}") from error
    return properties


def _option(value: str) -> Level:
    """Converts a database's option: the driver knows its type, so only equal spellings need a distinction."""
    if value in ("true", "false"):
        return value == "true"
    return int(value) if value.lstrip("-").isdigit() else value


def _typed(value: str, kind: Kind) -> Level:
    if kind == "flag":
        if value not in ("true", "false"):
            raise ValueError(f"expected true or false, got {value!r}")
        return value == "true"
    if kind == "count":
        return int(value)
    return value if kind == "text" else float(value)
