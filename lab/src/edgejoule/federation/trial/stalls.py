"""Which jobs of level 0 would have ended in a stall at home (Equation 2 of the paper), and what became of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

Record = dict[str, Any]


@dataclass(frozen=True)
class StallShares:
    """near: jobs that would have stalled here by the prediction; offloaded: of them, those that were installed."""

    near: int
    offloaded: int


def home_option(decision: Record) -> Record | None:
    """What was expected of a compaction at home; None: nothing was known."""
    home = decision["request"].get("server")
    for option in decision.get("options", []):
        if option["server"] == home and option.get("time_s", 0) > 0:
            return dict(option)
    return None


def stall_shares(rounds: Iterable[Record], server: str | None) -> StallShares:
    """Of one server's jobs, or of all."""
    near = offloaded = 0
    for each in rounds:
        for decision in each["decisions"]:
            if server is not None and decision["request"].get("server") != server:
                continue
            option = home_option(decision)
            if option and option.get("stalls"):
                near += 1
                offloaded += decision.get("outcome") == "installed"
    return StallShares(near, offloaded)
