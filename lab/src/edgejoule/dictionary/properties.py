"""The properties of a run: YCSB's own names with their types. A name in no table is refused, not ignored."""

from __future__ import annotations

import json
import math
import re
from importlib import resources
from typing import Any, Literal

Kind = Literal["count", "number", "real", "share", "flag", "text"]
Level = str | int | float | bool


def _shipped(name: str) -> Any:
    return json.loads(resources.files("edgejoule").joinpath(name).read_text(encoding="utf-8"))


_DRIVER = _shipped("properties.json")  # written by the driver (make schemas)
CORE = "core"
COMMAND = "command"  # the kind of a workload that is any program; it is described by `command`, not by `kind`

#: What every kind of workload takes. An experiment sets the rest of what the driver takes for every run by settings.
_COMMON = ("maxexecutiontime", "operationcount", "recordcount")
#: What the driver takes and an experiment does not.
NOT_IN_EXPERIMENTS: dict[str, Kind] = {
    "core_workload_insertion_retry_interval": "number",
    "core_workload_insertion_retry_limit": "count",
}


def _of_kind(properties: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The properties of one kind that an experiment may name, with type, default, meaning and choices, by name."""
    common = [one for one in _DRIVER["every_run"] if one["name"] in _COMMON]
    return {one["name"]: one for one in (*common, *properties) if one["name"] not in NOT_IN_EXPERIMENTS}


_LISTED = {
    CORE if kind.endswith("CoreWorkload") else kind: _of_kind(listed) for kind, listed in _DRIVER["kinds"].items()
}

#: Names that the driver takes in a property file of any kind, with type, default, meaning and choices.
EVERY_RUN: dict[str, dict[str, Any]] = {one["name"]: one for one in _DRIVER["every_run"]}

#: Of them, those that an experiment has as settings -> the setting. A file's value is that of the workload's runs.
FILE_SETTINGS = {
    "durability": "durability",
    "failure_share_max": "failure_share_max",
    "longest_gap_s_max": "longest_gap_s_max",
    "rate": "rate",
    "target": "target",
    "threadcount": "threads",
}

#: Settings that a workload may state for its runs; the experiment's own ones win.
WORKLOAD_SETTINGS = tuple(FILE_SETTINGS.values())

DATABASES: tuple[str, ...] = tuple(_DRIVER["databases"])  # that the driver has, whether in this build or not
MEASUREMENT_TYPES: tuple[str, ...] = tuple(_DRIVER["measurement_types"])
_WITHOUT_EFFECT: dict[str, str] = {one["name"]: one["why"] for one in _DRIVER["without_effect"]}


def why_without_effect(name: str) -> str | None:
    """Returns why a property of YCSB's that the driver takes changes nothing here; None if it is no such property."""
    prefix = f"{name.partition('.')[0]}."
    return _WITHOUT_EFFECT.get(name) or _WITHOUT_EFFECT.get(prefix)


#: Kind of workload -> the properties it knows, with their types. A run of a kind takes no others.
KINDS: dict[str, dict[str, Kind]] = {
    kind: {name: one["type"] for name, one in listed.items()} for kind, listed in _LISTED.items()
}

#: Settings of a run that are not YCSB properties.
SETTINGS: dict[str, Kind] = {
    "database": "text",
    "workload": "text",
    "durability": "text",
    "replication_factor": "count",
    "threads": "count",
    "target": "count",
    "rate": "text",
    "warmup_s": "number",
    "cache": "text",
    "memory_limit_mb": "count",
    "load_percent": "number",
    "data_path": "text",
    "filesystem": "text",
    "filesystem_mb": "count",
    "filesystem_device": "text",
    "mkfs_options": "text",
    "mount_options": "text",
    "failure_share_max": "share",
    "longest_gap_s_max": "number",
    "eco.policy": "text",
    "network.rate_mbit_s": "number",
    "network.delay_ms": "number",
    "network.encrypted": "flag",
}

_PREFIXES = {name.split(".", 1)[0] for known in KINDS.values() for name in known if "." in name}


def is_option(name: str) -> bool:
    """Is this the name of a database's option (sqlite.cache_bytes), not of a property that has a dot itself?"""
    return "." in name and name not in SETTINGS and name.split(".", 1)[0] not in _PREFIXES


#: Every property of every kind; a name means the same in all of them.
ALL_PROPERTIES: dict[str, Kind] = {name: kind for known in KINDS.values() for name, kind in known.items()}

#: Of the core workload: shares of its operations. The driver divides each by their sum.
PROPORTIONS: dict[str, float] = {
    name: float(one["default"]) for name, one in _LISTED[CORE].items() if name.endswith("proportion")
}

#: Properties that decide what a loaded database holds: runs that agree in them share a snapshot.
LOAD_PROPERTIES = (
    "batchsize",
    "dataintegrity",
    "fieldcount",
    "fieldlength",
    "fieldlengthdistribution",
    "fieldlengthhistogram",
    "fieldnameprefix",
    "insertcount",
    "insertorder",
    "insertstart",
    "keytype",
    "minfieldlength",
    "recordcount",
    "zeropadding",
)

#: Workloads that every experiment may name without describing them (YCSB core, Cooper et al. 2010, Table 2).
CORE_WORKLOADS: dict[str, dict[str, Level]] = {
    "workloada": {"readproportion": 0.5, "updateproportion": 0.5, "requestdistribution": "zipfian"},
    "workloadb": {"readproportion": 0.95, "updateproportion": 0.05, "requestdistribution": "zipfian"},
    "workloadc": {"readproportion": 1.0, "updateproportion": 0.0, "requestdistribution": "zipfian"},
    "workloadd": {
        "readproportion": 0.95, "updateproportion": 0.0, "insertproportion": 0.05, "requestdistribution": "latest",
    },
    "workloade": {
        "readproportion": 0.0, "updateproportion": 0.0, "scanproportion": 0.95, "insertproportion": 0.05,
        "requestdistribution": "zipfian", "maxscanlength": 100, "scanlengthdistribution": "uniform",
    },
    "workloadf": {
        "readproportion": 0.5, "updateproportion": 0.0, "readmodifywriteproportion": 0.5,
        "requestdistribution": "zipfian",
    },
}  # fmt: skip

#: Properties of the other kinds that a load ignores.
RUN_PROPERTIES = ("maxexecutiontime", "operationcount", "reads", "writes", "benchmark_write_rate_limit", "replay.speed")

#: By which a federation offloads compactions; the setting needs [servers]. eco writes the names (make schemas).
POLICY = "eco.policy"
POLICIES = tuple(name for name in _shipped("policies.json")["policies"] if name != "static:SERVER")
_POLICY = re.compile(rf"{'|'.join(POLICIES)}|static:(?P<server>.+)")

#: The network between the servers of a federation on this machine; the settings need [servers].
NETWORK = ("network.rate_mbit_s", "network.delay_ms", "network.encrypted")
DELAY_MS_MAX = 1000
RATE_MBIT_S = (0.01, 400_000)  # Linux's tbf counts a burst and what waits in 32 bits of bytes

COUNT_MAX = 2**53  # larger counts lose digits in JSON readers
THREADS_MAX = 4096
MEMORY_LIMIT_MB_MIN = 32
FILESYSTEM_MB_MIN = 300

#: Settings and properties with a list of values -> the values. A property has the choices of all kinds that know it.
_CHOICES: dict[str, tuple[str, ...]] = {
    "durability": ("none", "process", "power"),
    "cache": ("warm", "cold"),
    "filesystem": ("ext4", "xfs"),
}
for _name, _one in ((name, one) for listed in _LISTED.values() for name, one in listed.items() if "choices" in one):
    _CHOICES[_name] = tuple(dict.fromkeys((*_CHOICES.get(_name, ()), *_one["choices"])))


def static_server(policy: object) -> str | None:
    """Returns the server that a policy static:SERVER names, or None for another policy."""
    match = _POLICY.fullmatch(str(policy))
    return match and match["server"]


def complaint(name: str, value: object) -> str | None:
    """Returns the complaint about a value of a known property or setting, or None. Units are in the names."""
    kind = (ALL_PROPERTIES | SETTINGS).get(name)
    number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if kind == "count" and not (number and isinstance(value, int) and 0 <= value <= COUNT_MAX):
        return f"expected a whole number from 0 to {COUNT_MAX}, got {value!r}"
    if kind == "number" and not (number and float(value) >= 0):  # type: ignore[arg-type]
        return f"expected a number of at least 0, got {value!r}"
    if kind == "real" and not number:
        return f"expected a number, got {value!r}"
    if name in PROPORTIONS and not (number and float(value) >= 0):  # type: ignore[arg-type]
        return f"expected a share of at least 0 of all operations, got {value!r}"
    if kind == "share" and name not in PROPORTIONS and not (number and 0 <= float(value) <= 1):  # type: ignore[arg-type]
        return f"expected a number from 0 to 1, got {value!r}"
    if kind == "flag" and not isinstance(value, bool):
        return f"expected true or false, got {value!r}"
    if kind == "text" and not isinstance(value, str):
        return f"expected a word in quotes, got {value!r}"
    if name == POLICY and not _POLICY.fullmatch(str(value)):
        return f"expected {', '.join(POLICIES)} or static:SERVER, got {value!r}"
    if name in _CHOICES and value not in _CHOICES[name]:
        return f"expected one of {', '.join(_CHOICES[name])}, got {value!r}"
    if name == "threads" and value > THREADS_MAX:  # type: ignore[operator]
        return f"expected at most {THREADS_MAX}, got {value!r}"
    if isinstance(value, float) and not math.isfinite(value):
        return f"expected a finite number, got {value!r}"
    if name in ("threads", "recordcount", "fieldcount", "fieldlength", "replication_factor") and value == 0:
        return "expected at least 1, got 0"
    if name == "network.rate_mbit_s" and value and not RATE_MBIT_S[0] <= value <= RATE_MBIT_S[1]:  # type: ignore[operator]
        least, most = RATE_MBIT_S
        return f"expected {least:g} to {most:,} Mbit/s, what tbf shapes, or 0 for no limit; got {value!r}"
    if name == "network.delay_ms" and value > DELAY_MS_MAX:  # type: ignore[operator]
        return f"expected at most {DELAY_MS_MAX}, got {value!r}"
    if name == "load_percent" and value > 100:  # type: ignore[operator]
        return f"expected a percentage from 0 to 100, got {value!r}"
    if name == "filesystem_mb" and value < FILESYSTEM_MB_MIN:  # type: ignore[operator]
        return f"expected at least {FILESYSTEM_MB_MIN} (the least that xfs takes), got {value!r}"
    if name == "data_path" and not str(value).startswith("/"):
        return f"expected a folder's whole path, from / on, got {value!r}"
    if name == "filesystem_device" and not str(value).startswith("/dev/"):
        return f"expected a disk, such as /dev/disk/by-id/mmc-SC64G_0x12345678, got {value!r}"
    if name == "memory_limit_mb" and value < MEMORY_LIMIT_MB_MIN:  # type: ignore[operator]
        return f"expected at least {MEMORY_LIMIT_MB_MIN} (the driver alone takes 15), got {value!r}"
    return None
