"""From observed stages to a board profile's figures: a rising table of power over utilisation, joules per byte, and
the interval within which it predicts.

The table is the isotonic regression (Barlow, Bartholomew, Bremner, Brunk, "Statistical Inference under Order
Restrictions", 1972, chapter 1) of the stages' power over their utilisation, linear in between. The joules per byte are
the non-negative least squares of what the table leaves of the storage stages.

The prediction interval comes from leaving stages out. Scatter: every stage is predicted by a model without it; the root
mean square of these residuals, times Student's t for 95.45 % (k=2 of a normal distribution) with a degree of freedom
less than there are kinds of stages, for repetitions are no independent evidence. Interpolation: every place within the
table is predicted without any stage there, which doubles the distance between its neighbours; a linear interpolation's
error grows with the square of that distance, so a quarter of the largest such residual is what the table itself may be
off; beyond the utilisations that were reached, all that the continuation adds. These and the meter's own k=2 add
in squares.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from edgejoule.calibrate.observe import Observation
from edgejoule.calibrate.stages import StageKind
from edgejoule.errors import DataError

MERGE = 0.04  # stages as close in utilisation are one place of the table
IDLE_MAX, FULL_MIN = 0.15, 0.85  # a table must reach from one to the other
PLACES_MIN = 3
INTERVAL_MIN = 0.005  # no calibration is better than what a board does from one hour to the next
BYTES_S_MIN = 64 << 10  # fewer are the system's own
_K2 = float(special.ndtr(2) - special.ndtr(-2))

_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Fitted:
    """A table from 0 to 1, joules per byte of storage (None: not moved, or not driven), and what is known of it.

    low, high: the utilisations that were reached; beyond them the table goes on as its last piece does.
    interval_rel: half width at k=2, relative; scatter_rel, interpolation_rel and meter_rel: its parts, k=2.
    storage_u: standard uncertainties of the joules per byte, read and written. residuals: of each stage as predicted
    without it, relative.
    """

    utilisation: tuple[float, ...]
    power_w: tuple[float, ...]
    low: float
    high: float
    read_j_per_byte: float | None
    write_j_per_byte: float | None
    storage_u: tuple[float, float]
    interval_rel: float
    scatter_rel: float
    interpolation_rel: float
    meter_rel: float
    residuals: tuple[float, ...]

    def predicted_w(self, observation: Observation) -> float:
        """What the profile says of a stage."""
        bytes_w = (self.read_j_per_byte or 0) * observation.read_bytes_s
        bytes_w += (self.write_j_per_byte or 0) * observation.write_bytes_s
        return float(np.interp(observation.utilisation, self.utilisation, self.power_w)) + bytes_w


@dataclass(frozen=True)
class _Model:
    use: _Floats
    power_w: _Floats
    read_j: float
    write_j: float
    places: tuple[tuple[float, float], ...]  # lowest and highest utilisation of each place of the table

    def predict(self, observation: Observation) -> float:
        table_w = float(np.interp(observation.utilisation, self.use, self.power_w))
        return table_w + self.read_j * observation.read_bytes_s + self.write_j * observation.write_bytes_s


def fit(observations: Sequence[Observation]) -> Fitted:
    """The profile's figures. Raises DataError where the stages cannot carry them."""
    _check_reach(observations)
    model = _model(observations)
    low, high = model.places[0][0], model.places[-1][1]
    residuals = tuple(_residual(observations, i) for i in range(len(observations)))
    kinds = len({x.stage.label for x in observations})
    rms = math.sqrt(sum(x * x for x in residuals) / len(residuals))
    scatter_rel = float(special.stdtrit(kinds - 1, (1 + _K2) / 2)) * rms
    between = max((abs(_off_place(observations, place)) / 4 for place in model.places[1:-1]), default=0.0)
    interpolation_rel = math.hypot(between, _beyond(model))
    meter_rel = 2 * max(x.meter_rel for x in observations)
    moved = [x for x in observations if x.stage.moves_blocks]
    return Fitted(
        utilisation=tuple(model.use.tolist()),
        power_w=tuple(model.power_w.tolist()),
        low=low,
        high=high,
        read_j_per_byte=model.read_j if _moves(moved, StageKind.READ) else None,
        write_j_per_byte=model.write_j if _moves(moved, StageKind.WRITE) else None,
        storage_u=_storage_u(moved, rms),
        interval_rel=max(INTERVAL_MIN, math.hypot(scatter_rel, interpolation_rel, meter_rel)),
        scatter_rel=scatter_rel,
        interpolation_rel=interpolation_rel,
        meter_rel=meter_rel,
        residuals=residuals,
    )


def _check_reach(observations: Sequence[Observation]) -> None:
    places = _places([x for x in observations if not x.stage.moves_blocks])
    if not places:
        raise DataError("no stage of CPU load has a power")
    low, high = places[0][0].utilisation, places[-1][-1].utilisation
    if places[0][-1].utilisation > IDLE_MAX or places[-1][0].utilisation < FULL_MIN or len(places) < PLACES_MIN:
        raise DataError(
            f"utilisation only went from {low:.0%} to {high:.0%}, a table needs {IDLE_MAX:.0%} and less to "
            f"{FULL_MIN:.0%} and more, with something in between: end other programs and repeat"
        )


def _residual(observations: Sequence[Observation], left_out: int) -> float:
    """Relative error of predicting a stage by a model without it."""
    rest = [x for i, x in enumerate(observations) if i != left_out]
    return observations[left_out].power_w / _model(rest).predict(observations[left_out]) - 1


def _off_place(observations: Sequence[Observation], place: tuple[float, float]) -> float:
    """Mean relative error of predicting the stages at a place by a model without any of them."""
    there = [x for x in observations if not x.stage.moves_blocks and place[0] <= x.utilisation <= place[1]]
    model = _model([x for x in observations if x not in there])
    return float(np.mean([x.power_w / model.predict(x) - 1 for x in there]))


def _beyond(model: _Model) -> float:
    """What the table adds where it goes on beyond the utilisations that were reached, relative."""
    low, high = (float(np.interp(edge, model.use, model.power_w)) for edge in (model.places[0][0], model.places[-1][1]))
    first_w, last_w = float(model.power_w[0]), float(model.power_w[-1])
    return max((low - first_w) / first_w, (last_w - high) / last_w)


def _model(observations: Sequence[Observation]) -> _Model:
    table = [x for x in observations if not x.stage.moves_blocks]
    places = _places(table)
    if len(places) < PLACES_MIN - 1:  # one less than checked: a place may be left out
        raise DataError(f"power at {len(places)} utilisation only: let stages last longer, or add rounds")
    use = np.array([np.mean([x.utilisation for x in place]) for place in places])
    mean_w = np.array([np.mean([x.power_w for x in place]) for place in places])
    weights = np.array([len(place) for place in places], dtype=np.float64)
    power_w = np.asarray(optimize.isotonic_regression(mean_w, weights=weights).x, np.float64)
    use, power_w = _extended(use, power_w)
    read_j, write_j = _per_byte([x for x in observations if x.stage.moves_blocks], use, power_w)
    ends = tuple((min(x.utilisation for x in place), max(x.utilisation for x in place)) for place in places)
    return _Model(use, power_w, read_j, write_j, ends)


def _places(table: Sequence[Observation]) -> list[list[Observation]]:
    """Stages by utilisation; repetitions, and stages as close, in one place."""
    merged: list[list[Observation]] = []
    for one in sorted(table, key=lambda x: x.utilisation):
        if merged and one.utilisation - merged[-1][0].utilisation < MERGE:
            merged[-1].append(one)
        else:
            merged.append([one])
    return merged


def _extended(use: _Floats, power_w: _Floats) -> tuple[_Floats, _Floats]:
    """To 0 and 1, along the first and the last piece; the power at 0 stays above half of the lowest seen."""
    slope = np.diff(power_w) / np.diff(use)
    at_0 = max(power_w[0] - slope[0] * use[0], power_w[0] / 2)
    at_1 = power_w[-1] + slope[-1] * (1 - use[-1])
    if use[0] > 0:
        use, power_w = np.append(0.0, use), np.append(at_0, power_w)
    if use[-1] < 1:
        use, power_w = np.append(use, 1.0), np.append(power_w, at_1)
    return use, power_w


def _per_byte(moved: Sequence[Observation], use: _Floats, power_w: _Floats) -> tuple[float, float]:
    """Joules per byte read and written: what the table leaves, never below 0."""
    if not moved:
        return 0.0, 0.0
    left_w = np.array([x.power_w - float(np.interp(x.utilisation, use, power_w)) for x in moved])
    rates = _rates(moved)
    scale = np.maximum(rates.max(axis=0), BYTES_S_MIN)
    scaled, _ = optimize.nnls(rates / scale, left_w)
    read_j, write_j = (scaled / scale).tolist()
    return read_j, write_j


def _storage_u(moved: Sequence[Observation], rms_rel: float) -> tuple[float, float]:
    """Standard uncertainty of the two, from how far stages lie off the model."""
    if not moved:
        return 0.0, 0.0
    square = np.sum(np.square(_rates(moved)), axis=0)
    scatter_w = rms_rel * float(np.mean([x.power_w for x in moved]))
    read_u, write_u = (scatter_w / np.sqrt(np.maximum(square, 1.0))).tolist()
    return read_u, write_u


def _rates(moved: Sequence[Observation]) -> _Floats:
    return np.array([[x.read_bytes_s, x.write_bytes_s] for x in moved])


def _moves(moved: Sequence[Observation], kind: StageKind) -> bool:
    rates = [x.read_bytes_s if kind is StageKind.READ else x.write_bytes_s for x in moved if x.stage.kind is kind]
    return bool(rates) and min(rates) >= BYTES_S_MIN
