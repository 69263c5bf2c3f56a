"""What an experiment may say and is seldom meant: it is measured all the same, after a warning."""

from __future__ import annotations

from collections.abc import Iterator

from edgejoule.dictionary.properties import CORE, PROPORTIONS
from edgejoule.experiment.conditional import Complaint, cells_of
from edgejoule.experiment.model import Spec
from edgejoule.experiment.settings import settings_in_force

_TOLERANCE = 1e-6  # of a sum of shares


def warnings(spec: Spec) -> Iterator[Complaint]:
    """Yields (dotted key, message) pairs."""
    if spec.design.replications == 1:
        yield (
            "design.replications",
            "one run of each cell shows no spread: the report has no interval and no verdict; 3 or more give both",
        )
    warned: set[str] = set()
    for cell in cells_of(spec.factors):
        settings = settings_in_force(spec, cell)
        workload = str(settings["workload"])
        if workload in warned or spec.kind_of(workload) != CORE:
            continue
        given = {**spec.known_workloads()[workload], **settings}
        shares = {name: float(given.get(name, default)) for name, default in PROPORTIONS.items()}
        if abs((total := sum(shares.values())) - 1) > _TOLERANCE:
            warned.add(workload)
            parts = [f"{n} {v:g}{'' if n in given else ' (default)'}" for n, v in shares.items() if v]
            place = "workloads" if workload in spec.workloads else "factors"
            yield (
                f"{place}.{workload}",
                f"the proportions sum to {total:g}: {' + '.join(parts)}; each is divided by the sum",
            )
