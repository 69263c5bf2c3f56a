"""Walks through the stages and notes what the machine used in each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from edgejoule.calibrate.stages import Stage, StageKind
from edgejoule.errors import InputError
from edgejoule.meters.plugins.profile.usage import MachineUsage


class LoadedMachine(Protocol):
    """One stage of load. Times in ns on CLOCK_MONOTONIC."""

    def begin(self, stage: Stage, end_ns: int) -> None:
        """Start the stage's load; it lasts until end_ns at the latest."""
        ...

    def end(self) -> None:
        """Wait until the load is over."""
        ...

    def usage(self) -> MachineUsage:
        """Running totals now."""
        ...

    def now_ns(self) -> int:
        """The time now."""
        ...

    def sleep_until(self, t_ns: int) -> None:
        """Come back then."""
        ...


@dataclass(frozen=True)
class StageRun:
    """What a stage used between start_ns and end_ns. utilisation: busy share of all CPUs; bytes per s of storage."""

    stage: Stage
    start_ns: int
    end_ns: int
    utilisation: float
    read_bytes_s: float
    write_bytes_s: float


@dataclass(frozen=True)
class StageTiming:
    """Each stage runs settle_s unobserved, then observe_s observed."""

    settle_s: float
    observe_s: float

    @property
    def stage_s(self) -> float:
        """Length of a stage."""
        return self.settle_s + self.observe_s


def drive(
    stages: Sequence[Stage],
    machine: LoadedMachine,
    pace: StageTiming,
    on_stage: Callable[[Stage], None] = lambda _: None,
) -> list[StageRun]:
    """Runs all stages in order; calls `on_stage` when each begins."""
    results = []
    for stage in stages:
        on_stage(stage)
        results.append(_driven(stage, machine, pace))
    return results


def _driven(stage: Stage, machine: LoadedMachine, pace: StageTiming) -> StageRun:
    begin_ns = machine.now_ns()
    machine.begin(stage, begin_ns + round(pace.stage_s * 1e9))
    machine.sleep_until(begin_ns + round(pace.settle_s * 1e9))
    start_ns, before = machine.now_ns(), machine.usage()
    machine.sleep_until(begin_ns + round(pace.stage_s * 1e9))
    end_ns, after = machine.now_ns(), machine.usage()
    machine.end()
    seconds = (end_ns - start_ns) / 1e9
    idle_share = (after.idle_s - before.idle_s) / (seconds * after.cpus)
    return StageRun(
        stage,
        start_ns,
        end_ns,
        utilisation=min(1.0, max(0.0, 1 - idle_share)),
        read_bytes_s=(after.storage_read_bytes - before.storage_read_bytes) / seconds,
        write_bytes_s=(after.storage_write_bytes - before.storage_write_bytes) / seconds,
    )


def to_json(runs: Sequence[StageRun]) -> list[dict[str, Any]]:
    """The runs as a JSON document has them."""
    return [
        {"kind": str(x.stage.kind), "workers": x.stage.workers, "share": x.stage.share, "round": x.stage.round}
        | {name: getattr(x, name) for name in _FIELDS}
        for x in runs
    ]


def from_json(rows: Sequence[dict[str, Any]]) -> list[StageRun]:
    """The inverse of to_json. Raises InputError."""
    try:
        return [
            StageRun(
                Stage(StageKind(row["kind"]), int(row["workers"]), float(row["share"]), int(row["round"])),
                int(row["start_ns"]),
                int(row["end_ns"]),
                *(float(row[name]) for name in _FIELDS[2:]),
            )
            for row in rows
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"not the stages of a calibration: {error!r}") from error


_FIELDS = ("start_ns", "end_ns", "utilisation", "read_bytes_s", "write_bytes_s")
