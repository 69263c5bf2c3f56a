"""How far predictions were from what came out. Each was made before its job began: predict, then learn."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from edgejoule.federation.trial.stalls import home_option

Record = dict[str, Any]

KEY_BYTES = 16
LEARNT_AFTER = 20  # jobs; the errors of the first so many are not counted
AHEAD_S = 3  # the input rate is compared with what came in so many seconds


@dataclass(frozen=True)
class Prediction:
    """Of one job. number: of the jobs of its server that ran at its place, from 1."""

    kind: str  # "local" or "remote"
    server: str
    number: int
    bytes: float
    expected_s: float
    took_s: float
    expected_j: float
    took_j: float


def predictions(rounds: Iterable[Record]) -> Iterator[Prediction]:
    """In the order of time; counted anew for each link, whose servers begin with nothing learnt."""
    counts: dict[tuple[str, str, str], int] = defaultdict(int)
    for each in sorted(rounds, key=lambda each: float(each["begun_s"])):
        for decision in each["decisions"]:
            found = _remote(each, decision) or _local(each, decision)
            if found is None:
                continue
            kind, expected, took = found
            home = decision["request"]["server"]
            counts[each["link"], home, kind] += 1
            yield Prediction(
                kind=kind,
                server=home,
                number=counts[each["link"], home, kind],
                bytes=float(decision["request"]["features"].get("input_bytes", 0)),
                expected_s=expected[0],
                took_s=took[0],
                expected_j=expected[1],
                took_j=took[1],
            )


_Found = tuple[str, tuple[float, float], tuple[float, float]]


def _remote(each: Record, decision: Record) -> _Found | None:
    if decision.get("outcome") != "installed":
        return None
    target = decision["placement"].get("server")
    option = next((o for o in decision.get("options", []) if o["server"] == target), None)
    if option is None or option.get("time_s", 0) <= 0:
        return None
    busy_core_w, _, j_per_byte = each["watts"][decision["request"]["server"]]
    home_j = decision.get("home_cpu_s", 0) * busy_core_w + float(decision.get("bytes_moved", 0)) * j_per_byte
    return (
        "remote",
        (option["time_s"], option.get("energy_j", 0.0)),
        (decision["wall_s"], decision.get("energy_j", 0) + home_j),
    )


def _local(each: Record, decision: Record) -> _Found | None:
    option = home_option(decision)
    home = decision["request"].get("server")
    if option is None or decision.get("outcome", "local") != "local" or decision["placement"].get("offload"):
        return None
    number = decision["request"]["job"].rsplit("-", 2)[1]
    took = each["servers"].get(home, {}).get("compactions", {}).get(number)
    if took is None or min(took) <= 0:
        return None
    return "local", (option["time_s"], option.get("energy_j", 0.0)), (took[0], took[1] * each["watts"][home][0])


@dataclass(frozen=True)
class InputRate:
    """At a decision: bytes a second of what the Monitor saw, and of what was written in the seconds around it."""

    server: str
    at_s: float
    predicted: float
    actual: float


def input_rates(rounds: Iterable[Record]) -> Iterator[InputRate]:
    """predicted: the Monitor's files a second, in bytes by what a file of this round held; actual: what came next."""
    for each in rounds:
        for name, server in each["servers"].items():
            if "operations" not in server:
                continue
            of_server = [d for d in each["decisions"] if d["request"].get("server") == name]
            yield from _rates(each, name, server, of_server)


def _rates(each: Record, name: str, server: Record, decisions: Sequence[Record]) -> Iterator[InputRate]:
    seconds, entry = server["seconds"], each["value_bytes"] + KEY_BYTES
    file_bytes = server["operations"] * entry / max(1, server["flushes"])
    for decision in decisions:
        at_s = float(decision["at_s"]) - float(each["begun_s"])
        files_s = decision["request"].get("level_zero", {}).get("files_s", 0)
        ahead = seconds[int(at_s) : int(at_s) + AHEAD_S]
        if files_s > 0 and len(ahead) == AHEAD_S and at_s > AHEAD_S:
            actual = statistics.mean(ahead) * entry
            if actual > 0:
                yield InputRate(name, at_s, files_s * file_bytes, actual)


def relative_errors(pairs: Iterable[tuple[float, float]]) -> list[float]:
    """Of (expected, came out)."""
    return [abs(expected / took - 1) for expected, took in pairs if took > 0]


def prediction_table(rounds: Sequence[Record]) -> str:
    """Mean of the relative errors, in percent, after the first jobs."""
    lines = []
    groups: dict[tuple[str, str], list[Prediction]] = defaultdict(list)
    for each in predictions(rounds):
        if each.number > LEARNT_AFTER:
            groups["all", each.kind].append(each)
            groups[each.server, each.kind].append(each)
    for (server, kind), found in sorted(groups.items()):
        time = relative_errors((p.expected_s, p.took_s) for p in found)
        energy = relative_errors((p.expected_j, p.took_j) for p in found)
        lines.append(f"{server}, {kind}, {len(found)} jobs: time {_percent(time)}, energy {_percent(energy)}")
    rates = relative_errors((rate.predicted, rate.actual) for rate in input_rates(rounds))
    lines.append(f"input rate, {len(rates)} decisions: {_percent(rates)}")
    return "\n".join(lines)


def _percent(errors: Sequence[float]) -> str:
    if not errors:
        return "-"
    return f"{statistics.mean(errors) * 100:.1f} % (median {statistics.median(errors) * 100:.1f})"
