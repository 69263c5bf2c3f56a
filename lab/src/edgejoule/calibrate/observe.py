"""What the meter said of each stage: mean power, and how much of its uncertainty is the same in all stages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from edgejoule.calibrate.drive import StageRun
from edgejoule.calibrate.stages import Stage
from edgejoule.energy import Readings, domain_energy
from edgejoule.errors import DataError


@dataclass(frozen=True)
class Observation:
    """One stage: what was used, and the mean power.

    meter_rel: standard uncertainty (k=1) of the power that all stages share (gain, offset), relative. What they do not
    share shows in how they scatter.
    """

    stage: Stage
    utilisation: float
    read_bytes_s: float
    write_bytes_s: float
    power_w: float
    meter_rel: float


def observe(runs: Sequence[StageRun], readings: Sequence[Readings]) -> tuple[list[Observation], list[str]]:
    """The stages with their power, and the reasons why others have none."""
    observations, missing = [], []
    for run in runs:
        energy = domain_energy(readings, run.start_ns, run.end_ns)
        if energy.energy_j is None or energy.power_mean_w is None:
            missing.append(f"{run.stage.label}, round {run.stage.round + 1}: {energy.missing_reason}")
            continue
        if energy.energy_j <= 0:
            raise DataError(f"{run.stage.label}: {energy.power_mean_w:.3g} W: a board does not draw that")
        common_j = math.hypot(*(line.value_j for line in energy.budget if line.common))
        observations.append(
            Observation(
                run.stage, run.utilisation, run.read_bytes_s, run.write_bytes_s,
                energy.power_mean_w, common_j / energy.energy_j,
            )
        )  # fmt: skip
    return observations, missing
