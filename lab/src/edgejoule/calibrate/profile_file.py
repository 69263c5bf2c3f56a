"""A fit as a board profile in TOML, as `meters/profile/boards/*.toml` are; written whole or not at all."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli_w

from edgejoule.calibrate.fit import Fitted
from edgejoule.errors import DataError, StoreError
from edgejoule.meters.plugins.profile.data import load_profile

INTERVAL_MAX = 2.0  # what a profile may state
_SOURCE = "calibration"


@dataclass(frozen=True)
class Circumstances:
    """What a profile says of where it comes from.

    machine: as `edgejoule.machine.environment` reports it. meter: its name with method and describe(). domain: what it
    covered. stages: how many were used, of how many.
    """

    name: str
    date: str
    machine: Mapping[str, Any]
    meter: str
    domain: str
    stages: str


def profile_name(text: str) -> str:
    """A name as profiles have them: small letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "calibrated"


def profile_toml(fitted: Fitted, about: Circumstances) -> str:
    """The profile's text. Raises DataError when the stages scatter too widely for any profile."""
    if fitted.interval_rel > INTERVAL_MAX:
        raise DataError(
            f"the stages lie ±{fitted.interval_rel:.0%} (k=2) off their own fit; a profile states at most "
            f"±{INTERVAL_MAX:.0%}: let the machine be quiet, or let stages last longer"
        )
    profile = _head(fitted, about) | {"cpu": _cpu(fitted)} | _storage(fitted) | _sources(about)
    return f"# Fitted by `edgejoule calibrate` on {about.date}.\n{tomli_w.dumps(profile)}"


def write_profile(text: str, target: Path) -> None:
    """Write the file whole, or leave what was there. Raises StoreError; UsageError where a profile would be refused."""
    scratch = target.with_name(f".{target.name}.part.toml")
    try:
        scratch.write_text(text, encoding="utf-8")
        load_profile(scratch)
        scratch.replace(target)
    except OSError as error:
        raise StoreError(f"{target}: the profile cannot be written: {error.strerror}") from error
    finally:
        with contextlib.suppress(OSError):
            scratch.unlink()


def _head(fitted: Fitted, about: Circumstances) -> dict[str, Any]:
    machine = about.machine
    board = machine.get("board") or machine.get("processor") or about.name
    beyond = "" if fitted.low < 0.02 and fitted.high > 0.98 else "; beyond it the table continues its last piece"
    reason = (
        f"k=2 from this calibration: ±{fitted.scatter_rel:.1%} by how far stages lie off a model without them, "
        f"±{fitted.interpolation_rel:.1%} between and beyond the table's points, ±{fitted.meter_rel:.1%} of the meter"
    )
    return {
        "name": about.name,
        "board": f"{board} (calibrated)",
        "domain": about.domain,
        "valid": f"this machine as it was on {about.date}; power of the {about.domain} as the meter saw it; "
        f"utilisation {fitted.low:.2f} to {fitted.high:.2f}{beyond}",
        "prediction_interval_rel": _rounded_up(fitted.interval_rel),
        "prediction_interval_reason": reason,
        "not_modelled": "network interfaces, frequency and temperature by themselves, and loads of another kind: "
        "the calibration compresses small blocks, other instructions draw more or less at the same utilisation",
    }


def _cpu(fitted: Fitted) -> list[dict[str, Any]]:
    rows = []
    for utilisation, power_w in zip(fitted.utilisation, fitted.power_w, strict=True):
        inside = fitted.low <= utilisation <= fitted.high
        how = "mean of the stages there, isotonic" if inside else "continued along the last piece"
        figures = {"utilisation": round(utilisation, 4), "power_w": _figures(power_w)}
        rows.append(figures | {"source": _SOURCE, "derivation": how})
    return rows


def _storage(fitted: Fitted) -> dict[str, Any]:
    if fitted.read_j_per_byte is None and fitted.write_j_per_byte is None:
        return {}
    figures = (fitted.read_j_per_byte, fitted.write_j_per_byte)
    parts = [
        f"{kind} {'not measured, taken as 0' if value is None else f'±{2 * u:.1e} J per byte (k=2)'}"
        for kind, value, u in zip(("reads", "writes"), figures, fitted.storage_u, strict=True)
    ]
    return {
        "storage": {
            "read_j_per_byte": _figures(figures[0] or 0.0),
            "write_j_per_byte": _figures(figures[1] or 0.0),
            "source": _SOURCE,
            "derivation": f"power of sequential 1 MiB blocks above the CPU table, per byte; {', '.join(parts)}",
        }
    }


def _sources(about: Circumstances) -> dict[str, Any]:
    machine = about.machine
    place = ", ".join(str(machine[key]) for key in ("board", "processor", "architecture") if machine.get(key))
    source = {
        "title": f"edgejoule calibrate, {about.date}",
        "where": f"this machine: {place or 'unknown board'}, {machine.get('cores')} CPUs",
        "measured": f"{about.meter}; {about.stages}",
    }
    return {"sources": {_SOURCE: source}}


def _figures(value: float) -> float:
    """Five figures: more than any meter has."""
    return float(f"{value:.5g}")


def _rounded_up(interval_rel: float) -> float:
    """To a tenth of a percent, never down."""
    return -(-interval_rel * 1000 // 1) / 1000


def fitted_json(fitted: Fitted, labels: Sequence[str]) -> dict[str, Any]:
    """The fit for `--json`; labels: of the stages, in the order of the residuals."""
    return {
        "prediction_interval_rel": fitted.interval_rel,
        "scatter_rel": fitted.scatter_rel,
        "interpolation_rel": fitted.interpolation_rel,
        "meter_rel": fitted.meter_rel,
        "utilisation_reached": [fitted.low, fitted.high],
        "cpu": [{"utilisation": u, "power_w": p} for u, p in zip(fitted.utilisation, fitted.power_w, strict=True)],
        "storage": {
            "read_j_per_byte": fitted.read_j_per_byte,
            "write_j_per_byte": fitted.write_j_per_byte,
            "uncertainty_k1": list(fitted.storage_u),
        },
        "residuals_rel": [{"stage": x, "residual": r} for x, r in zip(labels, fitted.residuals, strict=True)],
    }
