"""The settings of a cell: what its workload, [fixed], its levels and [[when]] state, the later before the earlier."""

from __future__ import annotations

from collections.abc import Mapping

from edgejoule.dictionary.properties import WORKLOAD_SETTINGS, Level
from edgejoule.experiment.conditional import settings_of
from edgejoule.experiment.model import Spec


def settings_in_force(spec: Spec, levels: Mapping[str, Level]) -> dict[str, Level]:
    """Returns settings and properties that hold in a cell, without the properties of its workload."""
    stated = {**spec.fixed, **levels, **settings_of(spec.when, levels)}
    workload = spec.known_workloads().get(str(stated.get("workload")), {})
    return {**{name: workload[name] for name in WORKLOAD_SETTINGS if name in workload}, **stated}
