"""Replications that were added to a finished experiment (`run --more`): what they enter, and what the report says."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Sequence

from edgejoule.experiment.model import Analysis, Level, Spec
from edgejoule.experiment.plan import Addition, PlannedRun, cells
from edgejoule.findings.design import Layout, design_of, label
from edgejoule.findings.model import Levels
from edgejoule.findings.text import count, listed
from edgejoule.stats import DeclaredTest
from edgejoule.store import Experiment, Run

_LISTED_MAX = 3  # cells of an addition that are named; more are counted


def alone_in_block(runs: Sequence[Run], valued: Collection[int], design: Layout, declared: Analysis) -> set[int]:
    """Returns the added runs that are compared with nothing: the block has a value of one cell only, and its difference
    from other blocks cannot be separated from the cell's. valued: indexes of the runs that have a value.
    """
    if not _has_blocks(design, declared):
        return set()
    cells_of_part: dict[object, set[tuple[object, ...]]] = {}
    of_block: dict[tuple[object, int], list[Run]] = {}
    for run in runs:
        if run.run_index in valued:
            part = _part(run.levels, design, declared)
            cells_of_part.setdefault(part, set()).add(tuple(run.levels.values()))
            of_block.setdefault((part, run.block), []).append(run)
    return {
        own[0].run_index
        for (part, block), own in of_block.items()
        if block >= design.declared_blocks and len(own) == 1 and len(cells_of_part[part]) > 1
    }


def alone_warning(spec: Spec, added: Sequence[PlannedRun]) -> str | None:
    """Returns a sentence if some of the runs to be added will be alone in their block."""
    design = design_of(spec, added_blocks=1)
    if not _has_blocks(design, spec.analysis):
        return None
    in_part = Counter(_part(levels, design, spec.analysis) for levels in cells(spec))
    in_block = Counter((_part(run.levels, design, spec.analysis), run.block) for run in added)
    if not any(number == 1 and in_part[part] > 1 for (part, _), number in in_block.items()):
        return None
    return (
        "An added block has one cell alone: its run will stand in the table of runs, and in no mean and no comparison. "
        "Choose at least two cells to compare."
    )


def _has_blocks(design: Layout, declared: Analysis) -> bool:
    return design.blocked and DeclaredTest(declared.test) is DeclaredTest.TUKEY


def _part(levels: Levels, design: Layout, declared: Analysis) -> Level | None:
    """Returns the level of analysis.by, whose runs are analysed together."""
    return levels[declared.by] if declared.by in design.factors and len(design.factors) > 1 else None


def addition_caveats(experiment: Experiment, alone: int) -> list[str]:
    """Returns a sentence per addition, and one about runs that enter no comparison. alone: their number."""
    sentences = []
    for added in experiment.added:
        what = f"{count(added.replications, 'replication')} of {_cells(experiment, added)} {_were(added.replications)}"
        date = time.strftime("%Y-%m-%d", time.localtime(added.realtime_ns / 1e9))
        sentences.append(
            f"{what} added on {date}, after results could be seen: if these decided it, more differences by chance are "
            "called real than α says."
        )
    if alone:
        sentences.append(
            f"{count(alone, 'added run')} {_were(alone)} alone in a block: in the table of runs, and in no mean and no "
            "comparison, because the block's difference from the others is not known."
        )
    return sentences


def replications_text(experiment: Experiment) -> str:
    """Returns the numbers of replications, declared and added."""
    more = [f", then {added.replications} of {_cells(experiment, added)}" for added in experiment.added]
    return count(experiment.spec.design.replications, "replication") + "".join(more)


def _were(number: int) -> str:
    return "was" if number == 1 else "were"


def _cells(experiment: Experiment, added: Addition) -> str:
    in_all = len(cells(experiment.spec))
    if len(added.cells) == in_all:
        return "every cell"
    if len(added.cells) > _LISTED_MAX:
        return f"{len(added.cells)} of {in_all} cells"
    return listed([label(levels) for levels in added.cells], "and")
