"""Where the data of runs lay: the file system with its options, and what lies below it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from edgejoule.findings.level_names import names
from edgejoule.findings.text import listed
from edgejoule.store import Run

_LOOP_DEVICE = re.compile(r"/dev/loop\d+")  # the number differs from run to run


def storage_text(storage: Mapping[str, Any]) -> str:
    """Describes the storage of a run's record in one line."""
    options = ", ".join((storage["mount_options"] or "options unknown").split(","))
    text = f"{storage['file_system']} ({options}) on {storage['device']}"
    below = storage.get("below")  # absent in records of 2026-11-25 and before
    return f"{text}; below it: {', '.join(below)}" if below else text


def storage_lines(runs: Sequence[Run]) -> list[tuple[str, str]]:
    """Returns each kind of storage that runs had, after the levels that all its runs share and other runs do not have;
    one kind has no levels.
    """
    kinds: dict[str, list[Run]] = {}
    for run in runs:
        if storage := run.facts.get("storage"):
            kinds.setdefault(_LOOP_DEVICE.sub("a loop device", storage_text(storage)), []).append(run)
    every = [run for own in kinds.values() for run in own]
    return [(_own_levels(own, every), text) for text, own in kinds.items()]


def _own_levels(runs: Sequence[Run], every: Sequence[Run]) -> str:
    texts = []
    for factor, level in runs[0].levels.items():
        here = all(run.levels.get(factor) == level for run in runs)
        if here and not all(run.levels.get(factor) == level for run in every):
            texts.append(names(factor, [level]))
    return listed(texts) if texts else ""
