"""The meters of a study during a run: the first one gives the run's joules, the others check it.

Readings go into the store as they arrive. Two meters disagree if their joules of the same domain differ by more than
both uncertainties allow, or if an inner domain (package) takes more than an outer one (board, wall).
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from edgejoule.energy import Energy, Readings, domain_energy
from edgejoule.findings.attached_meter import DISAGREE
from edgejoule.meters.base import Clock, Domain, Meter
from edgejoule.meters.clocks import ClockRelation
from edgejoule.meters.sampler import LivePower, Sampler, SamplerCost
from edgejoule.store import Intervals, Store, StoredTrace
from edgejoule.study.run_clocks import ClockFindings, ClockPlan, RunClocks

COST_MAX = 0.02  # share of a core; sampling that costs more is reported
_AROUND = [Domain.CORE, Domain.PACKAGE, Domain.BOARD, Domain.WALL]  # each domain is inside the next one


@dataclass
class Metered:
    """The readings of a metered period, by meter in the study's order. Filled when the block ends."""

    readings: list[list[Readings]] = field(default_factory=list)
    costs: list[SamplerCost] = field(default_factory=list)
    recording_cpu_s: float = 0.0
    clocks: ClockFindings = field(default_factory=lambda: ClockFindings({}))

    @property
    def primary(self) -> Sequence[Readings]:
        """Returns the readings of the meter that gives the run's joules."""
        return self.readings[0]


@dataclass(frozen=True)
class Metering:
    """The open meters and the store of their readings. clocks: how the meters' times are checked."""

    store: Store
    experiment_id: int
    meters: Sequence[Meter]
    on_power: Callable[[LivePower], None]
    clocks: ClockPlan = field(default_factory=ClockPlan)

    @contextlib.contextmanager
    def during(self, run_index: int) -> Iterator[Metered]:
        """Samples from the beginning to the end of the block, including the markers around it. Discards readings of an
        earlier attempt of the run.

        Raises MeterError if a meter stopped, StoreError if the readings could not be stored.
        """
        run_id = self.store.begin(self.experiment_id, run_index)
        samplers = [Sampler(meter, listener=None if i else self.on_power) for i, meter in enumerate(self.meters)]
        metered, recorder, clocks = Metered(), self.store.recorder(run_id, samplers), RunClocks(self.clocks)
        clocks.begin()
        with recorder, contextlib.ExitStack() as running:
            for sampler in samplers:
                running.enter_context(sampler)
            clocks.mark()
            clocks.rest()
            yield metered
            clocks.mark()
            for sampler in samplers:
                sampler.stop()
        clocks.end()
        metered.costs = [sampler.cost() for sampler in samplers]
        metered.recording_cpu_s = recorder.cpu_s
        readings, related = self._readings(run_id), False

        def keep(meter: str, clock: Clock, known: ClockRelation) -> None:
            nonlocal related
            related = True
            self.store.relate(run_id, meter, clock, known)

        metered.clocks = clocks.findings(readings, keep)
        metered.readings = [list(own) for own in (self._readings(run_id) if related else readings)]

    def _readings(self, run_id: int) -> list[list[StoredTrace]]:
        """Returns the readings by meter, in the study's order."""
        stored = self.store.readings(run_id)
        return [[each for each in stored if each.channel.meter == meter.name] for meter in self.meters]


def checked(metered: Metered, intervals: Intervals, settled: Energy | None = None) -> tuple[dict[str, Any], list[str]]:
    """Returns the metering facts of the run (schemas/run-record.schema.json) and its flags.

    settled: the primary meter's energy of the settled interval, if already computed.
    """
    begin_ns, end_ns = intervals.active_start_ns, intervals.settled_end_ns
    assert settled is None or (settled.start_ns, settled.end_ns) == (begin_ns, end_ns), "of the run's interval"
    energies = [
        settled if settled is not None and place == 0 else domain_energy(each, begin_ns, end_ns)
        for place, each in enumerate(metered.readings)
    ]
    names = [r[0].channel.meter for r in metered.readings]
    facts = {
        "meters": [
            {"meter": name, "energy": energy_facts(energy), "sampling": _cost_facts(cost)}
            for name, energy, cost in zip(names, energies, metered.costs, strict=True)
        ],
        "recording_cpu_s": round(metered.recording_cpu_s, 4),
        "clocks": metered.clocks.facts,
    }
    flags = list(metered.clocks.flags)
    flags += [
        f"sampling {name} took {cost.core_share:.1%} of a core"
        for name, cost in zip(names, metered.costs, strict=True)
        if cost.core_share > COST_MAX
    ]
    for i, one in enumerate(energies):
        for j in range(i):
            if message := disagreement(names[j], energies[j], names[i], one):
                flags.append(message)
    return facts, flags


def disagreement(name: str, one: Energy, other_name: str, other: Energy) -> str | None:
    """Returns a message if the two meters cannot both be right; None if they can, or if either has no energy."""
    if one.energy_j is None or other.energy_j is None:
        return None
    allowed_j = math.hypot(one.uncertainty_k2_j or 0.0, other.uncertainty_k2_j or 0.0)
    readings = f"{name} says {one.energy_j:.4g} J ({one.domain}), {other_name} {other.energy_j:.4g} J ({other.domain})"
    if one.domain is other.domain:
        apart = abs(one.energy_j - other.energy_j) > allowed_j
        return f"{DISAGREE}: {readings}, together uncertain by {allowed_j:.2g} J" if apart else None
    if one.domain not in _AROUND or other.domain not in _AROUND:
        return None
    inner, outer = sorted((one, other), key=lambda energy: _AROUND.index(energy.domain))
    assert inner.energy_j is not None
    assert outer.energy_j is not None
    if inner.energy_j - outer.energy_j <= allowed_j:
        return None
    return f"{DISAGREE}: {readings}, and the {inner.domain} is inside the {outer.domain}"


def energy_facts(energy: Energy) -> dict[str, Any]:
    """Returns a meter's energy of the settled interval in the form of the run record."""
    return {
        "domain": str(energy.domain),
        "method": str(energy.method),
        "settled_j": energy.energy_j,
        "uncertainty_k2_j": energy.uncertainty_k2_j,
        "coverage": energy.coverage,
        "budget_j": {line.name: line.value_j for line in energy.budget},
        "missing_reason": energy.missing_reason,
        "renewal": None if energy.renewal is None else asdict(energy.renewal),
    }


def _cost_facts(cost: SamplerCost) -> dict[str, Any]:
    return {"polls": cost.polls, "polls_late": cost.polls_late, "core_share": round(cost.core_share, 5)}
