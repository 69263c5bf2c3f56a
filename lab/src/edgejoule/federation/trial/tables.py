"""What came out of a trial's rounds: medians, and in brackets the least and the most."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgejoule.federation.trial.predictions import prediction_table
from edgejoule.federation.trial.stalls import stall_shares

Record = dict[str, Any]
ALL = "all"


def read_rounds(files: Iterable[Path]) -> list[Record]:
    """Of the files that `edgejoule eco trial run` writes."""
    return [json.loads(line) for file in files for line in file.read_text().splitlines() if line]


def tables(rounds: Sequence[Record]) -> str:
    """A table for each link and size of values; then what was predicted."""
    measured = [each for each in rounds if each["turn"] >= 0]
    parts = []
    for key in dict.fromkeys((each["link"], each["value_bytes"]) for each in measured):
        of_part = [each for each in measured if (each["link"], each["value_bytes"]) == key]
        parts.append(f"{key[0]}, values of {key[1]} B\n\n" + comparison(of_part))
    return "\n\n".join(
        [*parts, "Errors of what was predicted, each before it was learnt\n\n" + prediction_table(rounds)]
    )


@dataclass(frozen=True)
class _Servers:
    """One server, or all; what is told of them in a round."""

    name: str
    loaded: Sequence[str]

    def writing(self, each: Record) -> list[Record]:
        """Those with a database."""
        return [each["servers"][name] for name in (self.loaded if self.name == ALL else [self.name])]

    def drawing(self, each: Record) -> list[Record]:
        """Whose energy counts."""
        return list(each["servers"].values()) if self.name == ALL else self.writing(each)

    def throughput(self, each: Record) -> float:
        """Operations a second."""
        return float(sum(server["operations"] / server["writing_s"] for server in self.writing(each)))

    def stalled(self, each: Record) -> float:
        """Seconds."""
        return float(sum(server["stall_s"] for server in self.writing(each)))

    def marginal(self, each: Record) -> float:
        """Microjoules of an operation, above idle."""
        drawn = float(sum(server["marginal_j"] for server in self.drawing(each)))
        return drawn * 1e6 / self._operations(each)

    def total(self, each: Record) -> float:
        """With idle."""
        drawn = float(sum(server["marginal_j"] + server["idle_j"] for server in self.drawing(each)))
        return drawn * 1e6 / self._operations(each)

    def _operations(self, each: Record) -> float:
        return float(sum(server["operations"] for server in self.writing(each)))


_HEAD = ["server", "policy", "ops/s", "change", "stalled s", "µJ/op above idle", "change", "with idle", "change"]
_COUNTS = ["away", "here", "in vain", "of near stalls"]


def comparison(rounds: Sequence[Record]) -> str:
    """Of one link and size. Changes are to local, or else the first policy, in the same turn.

    away: jobs that were installed; here: kept at once; in vain: that fell back; of near stalls: how many of those that
    would have stalled here by Equation 2, as predicted, were installed.
    """
    policies = list(dict.fromkeys(each["policy"] for each in sorted(rounds, key=lambda each: float(each["begun_s"]))))
    base = "local" if "local" in policies else policies[0]
    policies.sort(key=lambda policy: policy != base)
    names = dict.fromkeys(name for each in rounds for name, server in each["servers"].items() if "operations" in server)
    rows = [[*_HEAD, *_COUNTS]]
    for name in [*names, ALL]:
        servers = _Servers(name, list(names))
        beside = {each["turn"]: each for each in rounds if each["policy"] == base}
        for policy in policies:
            own = sorted((each for each in rounds if each["policy"] == policy), key=lambda each: int(each["turn"]))
            rows.append([name, policy, *_row(servers, own, {} if policy == base else beside)])
    return aligned(rows)


def _row(servers: _Servers, own: Sequence[Record], beside: Mapping[int, Record]) -> list[str]:
    def change(value: Callable[[Record], float]) -> str:
        ratios = [value(each) / value(beside[each["turn"]]) for each in own if each["turn"] in beside]
        return _change(ratios) if ratios else ""

    writing = [server for each in own for server in servers.writing(each)]
    shares = stall_shares(own, None if servers.name == ALL else servers.name)
    return [
        _cell([servers.throughput(each) for each in own], 0),
        change(servers.throughput),
        _cell([servers.stalled(each) for each in own], 1),
        _cell([servers.marginal(each) for each in own], 0),
        change(servers.marginal),
        _cell([servers.total(each) for each in own], 0),
        change(servers.total),
        str(sum(sum(server["offloaded"].values()) for server in writing)),
        str(sum(server["kept"] for server in writing)),
        str(sum(server["fell_back"] for server in writing)),
        f"{shares.offloaded} of {shares.near}",
    ]


def _cell(values: Sequence[float], digits: int) -> str:
    middle = f"{statistics.median(values):,.{digits}f}"
    return middle if len(values) < 2 else f"{middle} ({min(values):,.{digits}f}-{max(values):,.{digits}f})"


def _change(ratios: Sequence[float]) -> str:
    percent = [(ratio - 1) * 100 for ratio in ratios]
    middle = f"{statistics.median(percent):+.1f} %"
    return middle if len(percent) < 2 else f"{middle} ({min(percent):+.1f} to {max(percent):+.1f})"


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Columns of text."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join(word.ljust(width) for word, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])
