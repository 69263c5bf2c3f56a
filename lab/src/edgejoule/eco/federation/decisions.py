"""ecod's decisions as events of a run: which compaction, what was predicted, what came of it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from edgejoule.eco.federation.server import FederationServer

Logged = Mapping[str, Any]  # LoggedDecision of eco.proto
Event = dict[str, Any]

DECISION = "decision"  # of a run, in the store
INSTALLED, AT_HOME = "installed", "local"  # outcomes; any other one is a remote compaction that was of no use


def joined(logs: Iterable[Sequence[Logged]]) -> list[dict[str, Any]]:
    """One decision for each job, in order: the server that decided logs the prediction, the one that asked the outcome.

    logs: of each server that could be asked, a decision that both have is in both.
    """
    jobs: dict[str, dict[str, Any]] = {}
    for logged in (each for log in logs for each in log):
        job = jobs.setdefault(logged["request"]["job"], {})
        for key, value in logged.items():
            if value:
                job[key] = value
    return sorted(jobs.values(), key=lambda job: float(job["at_s"]))


def decision_events(decisions: Iterable[Logged], policy: str, homes: Mapping[str, FederationServer]) -> list[Event]:
    """policy: in force. homes: servers whose declared watts are known; without them a job's share of its home is not.

    Call it soon after the run: the wall clock is related to the monotonic one now.
    """
    offset_ns = time.time_ns() - time.monotonic_ns()
    return [_event(each, policy, homes, offset_ns) for each in decisions]


def _event(logged: Logged, policy: str, homes: Mapping[str, FederationServer], offset_ns: int) -> Event:
    request, placement = logged["request"], logged["placement"]
    home = str(request["server"])
    place = str(placement["server"]) if placement.get("offload") else home
    options = {option["server"]: option for option in logged.get("options", [])}
    chosen, at_home = options.get(place, {}), options.get(home, {})
    outcome = str(logged.get("outcome", "")) or None
    return {
        "event": DECISION,
        "monotonic_ns": round(logged["at_s"] * 1e9) - offset_ns,
        "policy": policy,
        "job": str(request["job"]),
        "home": home,
        "input_bytes": int(request.get("features", {}).get("input_bytes", 0)),
        "level0_files": request.get("level_zero", {}).get("files"),
        "level0_files_s": request.get("level_zero", {}).get("files_s"),
        "place": place,
        "shadow": bool(placement.get("shadow", False)),
        "reason": str(placement.get("reason", "")),
        "decided_by": str(placement.get("decided_by", "")),
        "predicted_s": _above_0(chosen.get("time_s")),
        "predicted_j": _above_0(chosen.get("energy_j")),
        "predicted_home_s": _above_0(at_home.get("time_s")),
        "stall_predicted": bool(at_home["stalls"]) if "stalls" in at_home else None if not at_home else False,
        "outcome": outcome,
        "actual_s": _above_0(logged.get("wall_s")) if outcome in (INSTALLED, AT_HOME) else None,
        "actual_j": _actual_j(logged, outcome, homes.get(home)),
        "moved_bytes": int(logged.get("bytes_moved", 0)),
    }


def _above_0(value: float | None) -> float | None:
    """protobuf leaves out what is 0, and no job takes 0 s or 0 J, so 0 means unknown."""
    return float(value) if value else None


def _actual_j(logged: Logged, outcome: str | None, home: FederationServer | None) -> float | None:
    """Above idle, where the job ran and at its home; None where a part of it is not known."""
    if outcome == AT_HOME:
        return _above_0(logged.get("energy_j"))
    if outcome != INSTALLED or home is None:
        return None
    at_home_j = float(logged.get("home_cpu_s", 0.0)) * home.busy_core_w
    moved_j = int(logged.get("bytes_moved", 0)) * home.transfer_j_per_byte
    return float(logged.get("energy_j", 0.0)) + at_home_j + moved_j
