"""Differences in syncs per write between databases of one durability class. A sync can cost more than the write."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from edgejoule.findings.facts import database_level, durability_class
from edgejoule.findings.text import listed, number
from edgejoule.store import Run

SYNCS = "syncs_per_write"
_RATIO_MIN = 1.5
_DIFFERENCE_MIN = 0.1


def sync_caveats(runs: Sequence[Run]) -> list[str]:
    """Returns one sentence for each durability class in which the databases' syncs per write differ."""
    by_durability: dict[str, dict[str, list[float]]] = {}
    for run in runs:
        if (syncs := run.value(SYNCS)) is not None:
            by_durability.setdefault(durability_class(run), {}).setdefault(database_level(run), []).append(syncs)
    sentences = []
    for durability, databases in sorted(by_durability.items()):
        means = {name: statistics.fmean(syncs) for name, syncs in databases.items()}
        least, most = min(means.values()), max(means.values())
        if most - least < _DIFFERENCE_MIN or most < _RATIO_MIN * least:
            continue
        ordered = sorted(means.items(), key=lambda item: -item[1])
        means_text = listed([f"{name} {_text(mean)}" for name, mean in ordered])
        sentences.append(
            f"Syncs per write differ under durability {durability} and explain a part of the differences: {means_text}."
        )
    return sentences


def _text(mean: float) -> str:
    return number(mean, 2) if mean >= 0.01 else "below 0.01"
