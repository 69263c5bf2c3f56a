"""The settings of a cell: what its workload, [fixed], its levels and [[when]] state, the later before the earlier; the
keys that state them, and errors of them.
"""

from __future__ import annotations

from collections.abc import Mapping

from edgejoule.dictionary.properties import WORKLOAD_SETTINGS, Level
from edgejoule.errors import UsageError
from edgejoule.experiment.conditional import settings_of
from edgejoule.experiment.exclusions import Exclusion
from edgejoule.experiment.model import Spec


def settings_in_force(spec: Spec, levels: Mapping[str, Level]) -> dict[str, Level]:
    """Returns settings and properties that hold in a cell, without the properties of its workload."""
    stated = {**spec.fixed, **levels, **settings_of(spec.when, levels)}
    workload = spec.known_workloads().get(str(stated.get("workload")), {})
    return {**{name: workload[name] for name in WORKLOAD_SETTINGS if name in workload}, **stated}


class SettingsError(UsageError):
    """A setting of a run that is impossible, alone or together with another one.

    levels: of the run. name, other: as in an experiment; of a database's option with its prefix.
    """

    def __init__(self, levels: Mapping[str, Level], name: str, why: str, other: str | None = None) -> None:
        label = " · ".join(str(level) for level in levels.values())
        where = f"{label}: {name}" if label else name
        super().__init__(f"{where} excludes {other}: {why}" if other else f"{where}: {why}")
        self.levels, self.name, self.other, self.why = levels, name, other, why

    def complaint(self, spec: Spec) -> tuple[str, str]:
        """Returns the dotted key and the message, as a check of the spec alone does."""
        key = key_of(spec, self.name, self.levels)
        return key, Exclusion(key_of(spec, self.other, self.levels), self.why) if self.other else self.why


def key_of(spec: Spec, name: str, levels: Mapping[str, Level]) -> str:
    """Returns the dotted key that states a setting in a cell: of [[when]], [fixed], [factors], the database or the
    workload; for a property that no key states, the key that names the workload.
    """
    if name.partition(".")[0] in Spec.model_fields:  # design.load
        return name
    for i, rule in enumerate(spec.when):
        if name in rule.set and rule.holds(levels):
            return f"when.{i}.set.{name}"
    tables: dict[str, Mapping[str, object]] = {"fixed": spec.fixed, "factors": spec.factors}
    for table, own in tables.items():
        if name in own:
            return f"{table}.{name}"
    in_force = {**spec.fixed, **levels}
    database, workload = str(in_force.get("database")), str(in_force.get("workload"))
    adapter, options = spec.database_options(database)
    if name.startswith(f"{adapter}.") and name.removeprefix(f"{adapter}.") in options:
        return f"databases.{database}.{name.removeprefix(f'{adapter}.')}"
    named = "fixed" if "workload" in spec.fixed else "factors"
    return f"workloads.{workload}.{name}" if workload in spec.workloads else f"{named}.workload"
