"""Costs of RocksDB's operations, fitted to what eco-calibrate measured, as a calibration that eco-sim reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w
from numpy.typing import NDArray
from scipy.optimize import nnls

from edgejoule import json_text
from edgejoule.errors import InputError

_US, _NS = 1e6, 1e9
_EXPECTED = "the JSON that eco-calibrate --out writes"


@dataclass(frozen=True)
class Fit:
    """coefficients: one for each term. errors: of the observations, relative, ascending."""

    coefficients: tuple[float, ...]
    errors: tuple[float, ...]


def read_measured(path: Path) -> dict[str, Any]:
    """What `eco-calibrate --out` wrote. Raises InputError."""
    measured = json_text.read(path, _EXPECTED)
    if not isinstance(measured, dict) or measured.get("schema_version") != 1 or "reference_codec" not in measured:
        raise InputError(f"{path}: expected {_EXPECTED}, of schema_version 1")
    return measured


def fit(observations: Sequence[Mapping[str, Any]], terms: int) -> Fit:
    """Least squares of the relative errors, no coefficient below 0. What was observed as 0 is left out."""
    kept = [one for one in observations if one["observed"] > 0]
    if not kept:
        return Fit((0.0,) * terms, ())
    design = np.array([one["terms"] for one in kept], dtype=float)
    design /= np.array([[one["observed"]] for one in kept], dtype=float)
    scale = np.abs(design).max(axis=0)
    scale[scale == 0] = 1  # a term that never occurred gets 0
    scaled, _ = nnls(design / scale, np.ones(len(kept)))
    coefficients: NDArray[np.float64] = scaled / scale
    errors = sorted(abs(design @ coefficients - 1))
    return Fit(tuple(map(float, coefficients)), tuple(map(float, errors)))


def calibration_toml(measured: Mapping[str, Any]) -> str:
    """The calibration; `method` has the command and how far the rounds and the observations scatter."""
    reference = measured["reference_codec"]
    fits = _Fits(measured)
    costs = _reference_costs(measured, fits) | fits.of_codec(reference) | fits.of_offloaded(reference)
    others = {codec: fits.of_codec(codec) for codec in measured["codecs"] if codec != reference}
    method = "\n".join([measured["command"], *scatter(measured), ""])
    if not fits.home.errors:
        method += "transfer and verify: assumed, nothing was offloaded\n"
    content: dict[str, Any] = {"schema_version": 1, "machine": measured["machine"], "method": method}
    content["costs"] = {"reference": costs}
    if others:
        content["codecs"] = others
    head = f"# CPU time on one core, measured by eco-calibrate. costs.reference: outputs with {reference}.\n"
    return head + tomli_w.dumps(content, multiline_strings=True)


def scatter(measured: Mapping[str, Any]) -> list[str]:
    """Lines: how far the rounds differ, and how far the observations are from the fitted costs."""
    fits = _Fits(measured)
    lines = [
        f"{figure:<27} rounds differ by {100 * max(map(_range, cases.values())):.0f} % of their median, in the case "
        "where they differ most"
        for figure, cases in measured["rounds"].items()
    ]
    lines += _distance("put", fits.put)
    for codec, each in fits.codecs.items():
        for what, one in each.items():
            lines += _distance(f"{what}, {codec}", one)
    lines += _distance("offloaded, at home", fits.home)
    return lines + [f"stored, {name:<19} {_median(values):.3f}" for name, values in measured["stored"].items()]


class _Fits:
    def __init__(self, measured: Mapping[str, Any]) -> None:
        self.put = fit(measured["puts"], 2)
        self.memtable = fit(measured["memtables"], 2)
        self.codecs = {
            codec: {
                "flush": fit(of["flushes"], 2),
                "compaction": fit(of["compactions"], 4),
                "worker": fit(of["worker"], 2),
            }
            for codec, of in measured["codecs"].items()
        }
        # Of all codecs: the bytes are moved and checked as they are stored.
        self.home = fit([one for of in measured["codecs"].values() for one in of["home"]], 2)

    def of_codec(self, codec: str) -> dict[str, float]:
        flush, compaction = (self.codecs[codec][what].coefficients for what in ("flush", "compaction"))
        return _rounded(
            flush_us_per_entry=flush[0] * _US,
            flush_ns_per_byte=flush[1] * _NS,
            compaction_us=compaction[0] * _US,
            compaction_us_per_entry=compaction[1] * _US,
            compaction_ns_per_byte=compaction[2] * _NS,
            compaction_ns_per_output_byte=compaction[3] * _NS,
        )

    def of_offloaded(self, codec: str) -> dict[str, float]:
        if not self.home.errors:
            return {"transfer_ns_per_byte": 0.7, "verify_ns_per_byte": 0.3}
        sent, received = self.home.coefficients
        worker = self.codecs[codec]["worker"].coefficients
        return _rounded(
            transfer_ns_per_byte=sent * _NS,
            verify_ns_per_byte=max(0.0, received - sent) * _NS,
            worker_us=worker[0] * _US,
            worker_ns_per_byte=worker[1] * _NS,
        )


def _reference_costs(measured: Mapping[str, Any], fits: _Fits) -> dict[str, float]:
    return _rounded(
        put_us=fits.put.coefficients[0] * _US,
        put_ns_per_byte=fits.put.coefficients[1] * _NS,
        get_us=_median(measured["get_s"]) * _US,
        get_us_per_level0_file=_median(measured["get_s_per_file"]) * _US,
        seek_us=_median(measured["seek_s"]) * _US,
        seek_us_per_level0_file=_median(measured["seek_s_per_file"]) * _US,
        memtable_bytes_per_entry=fits.memtable.coefficients[0],
        memtable_unused=fits.memtable.coefficients[1],
    )


def _rounded(**figures: float) -> dict[str, float]:
    return {key: float(f"{value:.4g}") for key, value in figures.items()}


def _distance(what: str, one: Fit) -> list[str]:
    if not one.errors:
        return []
    count = len(one.errors)
    median, p90 = one.errors[count // 2], one.errors[count * 9 // 10]
    return [
        f"{what:<27} {count:>5} observations, {100 * median:.0f} % from the costs in the median, {100 * p90:.0f} % at "
        "the 90th percentile"
    ]


def _median(values: Iterable[float]) -> float:
    ordered = sorted(values)
    return ordered[len(ordered) // 2] if ordered else 0.0


def _range(values: Sequence[float]) -> float:
    middle = _median(values)
    return (max(values) - min(values)) / middle if middle > 0 else 0.0
