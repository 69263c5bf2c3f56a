"""Policies compared on one federation: an unmodified db_bench on its weakest server, in interleaved, paired rounds."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from scipy import stats

from edgejoule.environment import cpu_ticks
from edgejoule.federation.db_bench import Fill, Filled, fill
from edgejoule.federation.energy import METHOD, Energy, Meter
from edgejoule.federation.federation import Federation
from edgejoule.federation.server import Server

BASE = "local"
POLICIES = (BASE, "edgepilot", "eco", "eco-plus")
LEVEL = 0.95  # of intervals

# Weak, middling, strong. Examples: a stronger server takes a third more for the same work than the next weaker one, as
# the ECO-KVS paper found for its High and Medium servers; idle_w as in eco/sim/tiers/paper.toml.
SERVERS = (
    Server("low", share=0.125, busy_w=1.5, idle_w=8),
    Server("medium", share=0.25, busy_w=4.0, idle_w=18),
    Server("high", share=0.4, busy_w=8.5, idle_w=30),
)
# Small, so that minutes hold many compactions. Writes are stopped at 8 files of level 0, and not slowed down before.
FILL = Fill(
    operations=120_000, value_bytes=100, compression="zstd", level0_slowdown=8, level0_stop=8, level1_bytes=1 << 24
)


@dataclass(frozen=True)
class Round:
    """A policy's turn. number: of the rounds that each policy has one in, from 1; 0: the models learn."""

    policy: str
    number: int
    operations: int
    filled: Filled
    energies: dict[str, Energy]

    @property
    def throughput_ops_s(self) -> float:
        """While it filled."""
        return self.filled.throughput_ops_s

    @property
    def stall_percent(self) -> float:
        """Of the time it filled for."""
        return 100 * self.filled.stall_s / self.filled.fill_s

    @property
    def marginal_uj_per_op(self) -> float:
        """Above idle, of all servers, until all compactions have ended."""
        return 1e6 * sum(energy.marginal_j for energy in self.energies.values()) / self.operations

    @property
    def total_uj_per_op(self) -> float:
        """With what all servers draw when idle, while it filled."""
        return 1e6 * sum(energy.total_j for energy in self.energies.values()) / self.operations

    def to_json(self) -> dict[str, Any]:
        """All figures; decisions are left out."""
        filled = {**asdict(replace(self.filled, decisions=()))}
        del filled["decisions"]
        return {
            "policy": self.policy,
            "round": self.number,
            "operations": self.operations,
            **filled,
            "stall_percent": self.stall_percent,
            "energy_method": METHOD,
            "energy_marginal_uj_per_op": self.marginal_uj_per_op,
            "energy_total_uj_per_op": self.total_uj_per_op,
            "servers": {name: asdict(energy) for name, energy in self.energies.items()},
        }


@dataclass(frozen=True)
class Quantity:
    """What is compared: an attribute of Round. difference: by it, not by ratio, as it may be 0."""

    name: str
    title: str
    unit: str
    higher_is_better: bool = False
    difference: bool = False

    def of(self, one: Round) -> float:
        """Its value in a round."""
        return float(getattr(one, self.name))


QUANTITIES = (
    Quantity("throughput_ops_s", "throughput", "ops/s", higher_is_better=True),
    Quantity("stall_percent", "writes stalled", "% of the time", difference=True),
    Quantity("marginal_uj_per_op", "energy above idle", f"µJ/op {METHOD}"),
    Quantity("total_uj_per_op", "energy with idle", f"µJ/op {METHOD}"),
)


@dataclass(frozen=True)
class Effect:
    """Of a policy, against local: a mean of paired rounds, with its interval. In percent, or in points of them."""

    quantity: Quantity
    mean: float
    low: float
    high: float

    @property
    def told(self) -> bool:
        """The interval leaves out no difference."""
        return self.low > 0 or self.high < 0

    @property
    def better(self) -> bool:
        """Where it is told."""
        return (self.mean > 0) == self.quantity.higher_is_better

    def words(self) -> str:
        """+12 % (+3 to +22)."""
        unit = "points" if self.quantity.difference else "%"
        return f"{_signed(self.mean)} {unit} ({_signed(self.low)} to {_signed(self.high)})"


@dataclass(frozen=True)
class Comparison:
    """All rounds. busy_by_others: share of all CPUs that was used by neither the servers nor this program."""

    servers: Sequence[Server]
    workload: Fill
    policies: Sequence[str]
    rounds: Sequence[Round]
    seed: int
    cores: int
    shares: str
    network: str
    busy_by_others: float | None

    def of(self, policy: str) -> list[Round]:
        """In their order, without those in which the models learn."""
        return sorted((one for one in self.rounds if one.policy == policy and one.number), key=lambda one: one.number)

    def values(self, policy: str, quantity: Quantity) -> list[float]:
        """A policy's, by round."""
        return [quantity.of(one) for one in self.of(policy)]

    def effect(self, policy: str, quantity: Quantity) -> Effect | None:
        """Against local; None with fewer than two rounds."""
        base = np.array(self.values(BASE, quantity))
        own = np.array(self.values(policy, quantity))
        if len(base) < 2:
            return None
        paired = own - base if quantity.difference else np.log(own / base)
        half = stats.t.ppf((1 + LEVEL) / 2, len(paired) - 1) * paired.std(ddof=1) / np.sqrt(len(paired))
        ends = np.array([paired.mean(), paired.mean() - half, paired.mean() + half])
        mean, low, high = ends if quantity.difference else 100 * (np.exp(ends) - 1)
        return Effect(quantity, float(mean), float(low), float(high))

    def to_json(self) -> dict[str, Any]:
        """For a program."""
        return {
            "servers": [asdict(server) for server in self.servers],
            "workload": asdict(self.workload),
            "policies": list(self.policies),
            "seed": self.seed,
            "cores": self.cores,
            "shares": self.shares,
            "network": self.network,
            "busy_by_others": self.busy_by_others,
            "rounds": [one.to_json() for one in self.rounds],
        }


def plan(policies: Sequence[str], servers: Sequence[Server], rounds: int, seed: int) -> Iterator[tuple[int, str]]:
    """Round and policy, in their order: first the models learn of each server, then each round has its own order."""
    for server in servers:
        yield 0, BASE if server is servers[0] else f"static:{server.name}"
    chooser = random.Random(seed)
    for number in range(1, rounds + 1):
        for policy in chooser.sample(list(policies), len(policies)):
            yield number, policy


def compare(
    federation: Federation,
    *,
    policies: Sequence[str] = POLICIES,
    workload: Fill = FILL,
    rounds: int = 4,
    seed: int = 1,
    begins: Callable[[int, str], None] = lambda number, policy: None,
    ended: Callable[[Round], None] = lambda one: None,
) -> Comparison:
    """On the federation's first server. The keys of a round are the same under each policy."""
    done: list[Round] = []
    for policy in policies:
        federation.set_policy(policy)  # one that ecod does not know is refused before minutes have gone
    others = _Others(federation)
    for number, policy in plan(policies, federation.servers, rounds, seed):
        begins(number, policy)
        operations = workload.operations if number else workload.operations // 2
        one = one_round(federation, policy, number, replace(workload, operations=operations, seed=seed + number))
        done.append(one)
        ended(one)
    return Comparison(
        servers=federation.servers,
        workload=workload,
        policies=policies,
        rounds=done,
        seed=seed,
        cores=len(os.sched_getaffinity(0)),
        shares=federation.shares.about,
        network=federation.network.about,
        busy_by_others=others.share(),
    )


def one_round(federation: Federation, policy: str, number: int, workload: Fill) -> Round:
    """An empty database is filled under the policy, on the first server."""
    home = federation.servers[0].name
    federation.set_policy(policy)
    federation.wait(federation.idle, "a job does not end")
    meter = Meter(federation)
    filled = fill(federation, home, workload)
    federation.wait(federation.idle, "a job does not end")
    return Round(policy, number, workload.operations, filled, meter.read(filled.moved_bytes, filled.fill_s))


class _Others:
    """CPU that neither the federation's servers nor this program use."""

    def __init__(self, federation: Federation) -> None:
        self._federation = federation
        self._ticks = cpu_ticks()
        self._own_s = self._used_s()

    def share(self) -> float | None:
        """Of all CPUs, since it was made; None where the kernel does not say."""
        now = cpu_ticks()
        if self._ticks is None or now is None or now[1] <= self._ticks[1]:
            return None
        own_ticks = (self._used_s() - self._own_s) * os.sysconf("SC_CLK_TCK")
        return float(max(0.0, now[0] - self._ticks[0] - own_ticks) / (now[1] - self._ticks[1]))

    def _used_s(self) -> float:
        times = os.times()
        servers = sum(self._federation.cpu_s(server.name) for server in self._federation.servers)
        return times.user + times.system + servers


def _signed(value: float) -> str:
    return f"{value:+.0f}".replace("-", "−") if abs(value) >= 0.5 else "0"
