"""YCSB property files as workloads of an experiment: `[workloads.NAME] file = "..."`.

A file is searched beside the experiment, then among those that come with the driver (driver/workloads). Its
properties become part of the experiment, so that a stored experiment needs no file.
"""

from __future__ import annotations

import math
import re
import shutil
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from edgejoule.dictionary.properties import (
    CORE,
    DATABASES,
    EVERY_RUN,
    FILE_SETTINGS,
    KINDS,
    MEASUREMENT_TYPES,
    NOT_IN_EXPERIMENTS,
    Kind,
    Level,
    complaint,
    why_without_effect,
)
from edgejoule.dictionary.responses import nearest
from edgejoule.errors import UsageError
from edgejoule.experiment.property_text import read_properties

_SLIP_MAX = 2  # letters that differ in a typing error
_NUMBER = re.compile(r"-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
#: Options of YCSB's own bindings -> the option here that means the same.
_SAME = {"redis.timeout": "redis.timeout_ms"}  # both in ms
#: Options of YCSB's own bindings that change nothing here -> why.
_BINDINGS = {
    "mongodb.maxconnections": "each thread has its own connection",
    "mongodb.readPreference": "mongodb.read_preference sets it",
    "mongodb.threadsAllowedToBlockForConnectionMultiplier": "each thread has its own connection",
    "mongodb.url": "mongodb.host and mongodb.port name a server that you run, mongodb.database its database",
    "mongodb.writeConcern": "durability and mongodb.w set it",
    "redis.cluster": "the driver speaks to one server, not to a cluster",
    "rocksdb.dir": "each run has its own folder",
    "rocksdb.optionsfile": "rocksdb.options takes options as text",
}
_EXPORTERS = ("TextMeasurementsExporter", "JSONMeasurementsExporter", "JSONArrayMeasurementsExporter")


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


@dataclass(frozen=True)
class WorkloadFile:
    """properties: with their types, `kind` unless it is YCSB's core, settings by their name here, options of databases.
    lines: name of a property -> its line in the file (1-based). notes: what the file has that changes nothing.
    """

    properties: dict[str, Level]
    lines: dict[str, int]
    notes: tuple[str, ...]


def read_workload_file(path: Path, databases: Collection[str] = ()) -> WorkloadFile:
    """Reads a property file; the driver takes the same files. databases: further ones whose options are kept.

    Raises UsageError with the line.
    """
    entries = read_properties(path)
    kind_entry = entries.pop("workload", None)
    kind = CORE if kind_entry is None or kind_entry.value.endswith("CoreWorkload") else kind_entry.value
    if kind_entry is not None and kind not in KINDS:
        where = f"{path}:{kind_entry.line}"
        raise UsageError(f"{where}: workload={kind}: unknown kind of workload; {nearest(kind, KINDS)}")
    properties: dict[str, Level] = {} if kind == CORE else {"kind": kind}
    lines = {"kind": kind_entry.line} if kind_entry is not None else {}
    foreign, idle = [], []
    for name, (value, line) in entries.items():
        before = set(properties)
        try:
            if name in KINDS[kind]:
                properties[name] = _sensible(name, _typed(value, KINDS[kind][name]))
            elif name in FILE_SETTINGS:
                properties |= {own: _sensible(own, level) for own, level in _setting(name, value).items()}
            elif (why := _why_idle(name, value, kind)) is not None:
                idle.append(f"{name} ({why})")
            elif name in _SAME:
                properties.setdefault(_SAME[name], _typed(value, "count"))
            elif "." in name and name.split(".", 1)[0] in {*DATABASES, *databases}:
                properties[name] = _option(value)
            elif "." not in name or (near := _slip(name, kind)):
                known = [*KINDS[kind], *EVERY_RUN]
                raise ValueError(f"unknown property; {near if '.' in name else nearest(name, known)}")
            else:
                foreign.append(name)
        except ValueError as error:
            raise UsageError(f"{path}:{line}: {name}: {error}") from error
        lines |= dict.fromkeys(set(properties) - before, line)
    notes = [f"{path}: of other databases, ignored: {', '.join(foreign)}"] if foreign else []
    notes += [f"{path}: without effect here: {', '.join(idle)}"] if idle else []
    return WorkloadFile(properties, lines, tuple(notes))


def _slip(name: str, kind: str) -> str:
    """Returns the question whether a dotted name is a misspelt one; "" if it is none: an option of another database."""
    for known in (*KINDS[kind], *EVERY_RUN):
        if _distance(name, known) <= _SLIP_MAX:
            return f"did you mean {known!r}?"
    prefix, _, option = name.partition(".")
    meant = next((database for database in DATABASES if _distance(prefix, database) == 1), None)
    return f"did you mean '{meant}.{option}'?" if meant else ""


def _distance(a: str, b: str) -> int:
    """Returns Levenshtein's distance."""
    row = list(range(len(b) + 1))
    for i, letter in enumerate(a, 1):
        before, row[0] = row[0], i
        for k, other in enumerate(b, 1):
            before, row[k] = row[k], min(row[k] + 1, row[k - 1] + 1, before + (letter != other))
    return row[-1]


def _setting(name: str, value: str) -> dict[str, Level]:
    """Returns a property as the setting that it is in an experiment."""
    kind: Kind = EVERY_RUN[name]["type"]
    typed = _typed(value, kind)
    if name == "target" and isinstance(typed, float):  # a target is a whole number, a rate is any
        if not typed.is_integer():
            return {"rate": value.strip()}
        typed = int(typed)
    return {FILE_SETTINGS[name]: typed}


def _sensible(name: str, value: Level) -> Level:
    """Raises ValueError for a value that an experiment does not take."""
    if wrong := complaint(name, value):
        raise ValueError(wrong)
    return value


def _why_idle(name: str, value: str, kind: str) -> str | None:
    """Returns why a property that the driver takes changes nothing in an experiment; None for another name.

    Raises ValueError for a value that the driver refuses.
    """
    if name == "measurementtype" and value not in MEASUREMENT_TYPES:
        raise ValueError(f"expected one of {', '.join(MEASUREMENT_TYPES)}, got {value!r}")
    if name == "measurementtype":
        return "the report is always that of hdrhistogram"
    if name == "table":
        return "an experiment has one table"
    if kind == CORE and name in NOT_IN_EXPERIMENTS:
        _typed(value, NOT_IN_EXPERIMENTS[name])
        return "a load with a failed insert is refused"
    if (known := EVERY_RUN.get(name)) is None:
        return why_without_effect(name) or _BINDINGS.get(name)
    if name == "db":
        return "the experiment names its databases"
    typed = _typed(value, known["type"])
    choices = known.get("choices") or _EXPORTERS if name == "exporter" else known.get("choices", ())
    if choices and str(typed).rpartition(".")[2] not in choices:
        raise ValueError(f"expected one of {', '.join(choices)}, got {value!r}")
    if name == "hdrhistogram.percentiles" and not all(map(_is_percentage, _items(value))):
        raise ValueError(f"expected numbers from 0 to 100, separated by commas, got {value!r}")
    return "an experiment runs and reports by itself"


def _items(text: str) -> list[str]:
    return text.removesuffix(",").split(",") if text else []


def _is_percentage(text: str) -> bool:
    text = text.lstrip(" ")
    return _NUMBER.fullmatch(text) is not None and 0 <= float(text) <= 100


def _option(value: str) -> Level:
    """Converts a database's option: the driver knows its type, so only equal spellings need a distinction."""
    if value in ("true", "false"):
        return value == "true"
    return int(value) if re.fullmatch(r"-?[0-9]+", value) else value


def _typed(value: str, kind: Kind) -> Level:
    """Raises ValueError for a value that the driver does not read as one of that kind."""
    bare = value.strip(" \t\f")
    if kind == "flag":
        if bare.lower() not in ("true", "false"):
            raise ValueError(f"expected true or false, got {value!r}")
        return bare.lower() == "true"
    if kind == "text":
        return value
    if kind == "count":
        if not re.fullmatch("[0-9]+", bare):
            raise ValueError(f"expected a whole number of at least 0, got {value!r}")
        return int(bare)
    if not _NUMBER.fullmatch(bare) or not math.isfinite(float(bare)):
        raise ValueError(f"expected a number, got {value!r}")
    return float(bare)
