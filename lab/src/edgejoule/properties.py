"""What a run can be told: YCSB's own property names with their types. A name in no table is refused, not ignored."""

from __future__ import annotations

import math
from typing import Literal

Kind = Literal["count", "number", "share", "flag", "word"]

#: YCSB core properties (YCSB 0.17.0) and the driver's own (batchsize, keytype, zipfian.*) that a run takes; share
#: is a number from 0 to 1.
PROPERTIES: dict[str, Kind] = {
    "batchsize": "count",
    "dataintegrity": "flag",
    "exponential.frac": "number",
    "exponential.percentile": "number",
    "fieldcount": "count",
    "fieldlength": "count",
    "fieldlengthdistribution": "word",
    "fieldlengthhistogram": "word",
    "fieldnameprefix": "word",
    "hotspotdatafraction": "share",
    "hotspotopnfraction": "share",
    "insertcount": "count",
    "insertorder": "word",
    "insertproportion": "share",
    "insertstart": "count",
    "keytype": "word",
    "maxexecutiontime": "count",
    "maxscanlength": "count",
    "minscanlength": "count",
    "minfieldlength": "count",
    "operationcount": "count",
    "readallfields": "flag",
    "readmodifywriteproportion": "share",
    "readproportion": "share",
    "recordcount": "count",
    "requestdistribution": "word",
    "scanlengthdistribution": "word",
    "scanproportion": "share",
    "updateproportion": "share",
    "writeallfields": "flag",
    "zeropadding": "count",
    "zipfian.ranks": "word",
    "zipfian.theta": "number",
}

#: Settings of a run that are not YCSB properties.
SETTINGS: dict[str, Kind] = {
    "database": "word",
    "workload": "word",
    "durability": "word",
    "threads": "count",
    "target": "count",
    "rate": "word",
    "warmup_s": "number",
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

COUNT_MAX = 2**53  # larger counts lose digits in JSON readers
THREADS_MAX = 4096

_WORDS: dict[str, tuple[str, ...]] = {
    "durability": ("none", "process", "power"),
    "insertorder": ("hashed", "ordered"),
    "keytype": ("text", "integer"),
    "requestdistribution": ("uniform", "zipfian", "latest", "hotspot", "exponential", "sequential"),
    "fieldlengthdistribution": ("constant", "uniform", "zipfian", "histogram"),
    "scanlengthdistribution": ("uniform", "zipfian"),
    "zipfian.ranks": ("ycsb", "records"),
}


def complaint(name: str, value: object) -> str | None:
    """What is wrong with this value of a known property or setting, or None. Units are in the names."""
    kind = (PROPERTIES | SETTINGS).get(name)
    number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if kind == "count" and not (number and isinstance(value, int) and 0 <= value <= COUNT_MAX):
        return f"expected a whole number from 0 to {COUNT_MAX}, got {value!r}"
    if kind == "number" and not (number and float(value) >= 0):  # type: ignore[arg-type]
        return f"expected a number of at least 0, got {value!r}"
    if kind == "share" and not (number and 0 <= float(value) <= 1):  # type: ignore[arg-type]
        return f"expected a number from 0 to 1, got {value!r}"
    if kind == "flag" and not isinstance(value, bool):
        return f"expected true or false, got {value!r}"
    if kind == "word" and not isinstance(value, str):
        return f"expected a word in quotes, got {value!r}"
    if name in _WORDS and value not in _WORDS[name]:
        return f"expected one of {', '.join(_WORDS[name])}, got {value!r}"
    if name == "threads" and value > THREADS_MAX:  # type: ignore[operator]
        return f"expected at most {THREADS_MAX}, got {value!r}"
    if isinstance(value, float) and not math.isfinite(value):
        return f"expected a finite number, got {value!r}"
    if name in ("threads", "recordcount", "fieldcount", "fieldlength") and value == 0:
        return "expected at least 1, got 0"
    return None
