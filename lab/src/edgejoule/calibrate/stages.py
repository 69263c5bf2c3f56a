"""The stages of a calibration: what the machine does, how long, in which order."""

from __future__ import annotations

import random
from dataclasses import dataclass
from enum import StrEnum

SHARES_ALL = (0.1, 0.25, 0.5, 0.75, 1.0)  # on all CPUs
SHARES_SOME = (0.5, 1.0)  # on fewer


class StageKind(StrEnum):
    """What a stage does."""

    IDLE = "idle"
    CPU = "cpu"
    WRITE = "write"  # blocks written to storage and synced
    READ = "read"  # blocks read past the page cache
    LOOPBACK = "loopback"  # a connection to itself: the kernel's network code, no interface


@dataclass(frozen=True)
class Stage:
    """One stage. workers CPUs are busy for a share of the time. round: of the repetitions, from 0."""

    kind: StageKind
    workers: int = 0
    share: float = 0.0
    round: int = 0

    @property
    def label(self) -> str:
        """The same for all its repetitions."""
        return f"{self.workers} x {self.share:.0%} CPU" if self.kind is StageKind.CPU else str(self.kind)

    @property
    def moves_blocks(self) -> bool:
        """Whether it is there for the energy per byte of storage."""
        return self.kind in (StageKind.WRITE, StageKind.READ)


def make_stages(cpus: int, rounds: int, seed: int, *, storage: bool, network: bool) -> list[Stage]:
    """All stages in order: each round has every kind once, shuffled, so that what drifts (a warming board) is in the
    scatter instead of in the table.
    """
    assert cpus >= 1, "a machine has a CPU"
    assert rounds >= 1, "a calibration has a round"
    kinds = [Stage(StageKind.IDLE)]
    for workers in _counts(cpus):
        kinds += [Stage(StageKind.CPU, workers, share) for share in (SHARES_ALL if workers == cpus else SHARES_SOME)]
    kinds += [Stage(StageKind.WRITE), Stage(StageKind.READ)] if storage else []
    kinds += [Stage(StageKind.LOOPBACK)] if network else []
    order = random.Random(seed)
    stages = []
    for number in range(rounds):
        order.shuffle(kinds)
        if storage:  # a file is written before it is read
            write, read = kinds.index(Stage(StageKind.WRITE)), kinds.index(Stage(StageKind.READ))
            if number == 0 and read < write:
                kinds[write], kinds[read] = kinds[read], kinds[write]
        stages += [Stage(x.kind, x.workers, x.share, number) for x in kinds]
    return stages


def _counts(cpus: int) -> list[int]:
    """1, 2, 4, ... and all."""
    counts = [1]
    while counts[-1] * 2 < cpus:
        counts.append(counts[-1] * 2)
    return counts if counts[-1] == cpus else [*counts, cpus]
