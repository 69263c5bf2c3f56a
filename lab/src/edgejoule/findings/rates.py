"""Cells that did not sustain the requested rate. They get no verdict on latency or energy.

Such a database is measured at a lower load than the others, and its latency, counted from the due time, grows with
the run's duration.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from edgejoule.dictionary.responses import OTHER_PROGRAMS, is_energy, is_latency, is_of_load
from edgejoule.findings.design import Layout, label, runs_of
from edgejoule.findings.model import Levels, Ranking, ResponseFinding
from edgejoule.findings.other_programs import exceeded
from edgejoule.findings.text import number
from edgejoule.store import Run

SHARE_MIN = 0.99
CURVE_SHARE_MIN = 0.95  # for levels of a load curve: their rates are shares of a measured rate
BESIDE_OTHERS = " with other programs running"  # ends the text on a rate that only disturbed runs missed
RATE_FACTORS = ("target", "rate", "load_percent")  # factors that set a rate


def share_min(*, load_curve: bool) -> float:
    """Returns the smallest share of the requested rate that counts as sustained."""
    return CURVE_SHARE_MIN if load_curve else SHARE_MIN


def not_sustained(target_ops_s: float, share: float) -> str:
    """Describes a rate that was not sustained. share: reached / asked for."""
    asked = f"{target_ops_s:,.0f}" if target_ops_s >= 100 else f"{target_ops_s:g}"
    return f"does not sustain {asked}/s, reached {number(target_ops_s * share)}"


def without_reached(text: str) -> str:
    """Shortens the text of a missed rate to the requested rate, and whether other programs ran."""
    return f"{text.partition(', reached')[0]}{BESIDE_OTHERS if text.endswith(BESIDE_OTHERS) else ''}"


def needs_its_rate(name: str) -> bool:
    """Returns whether the response is comparable only at the requested rate."""
    return is_latency(name) or (is_energy(name) and not is_of_load(name))


def is_asked_for(name: str, factor: str) -> bool:
    """Returns whether the factor sets the response, so that the response is no finding."""
    return name == "throughput_ops_s" and factor in RATE_FACTORS


def missed_rates(runs: Sequence[Run], design: Layout) -> dict[int, str]:
    """Returns run index -> requested and reached rate as text, for all runs of cells that missed their rate. The text
    ends with BESIDE_OTHERS if other programs exceeded a limit in every run that missed it: alone it may be sustained.
    """
    missed: dict[int, str] = {}
    for levels in design.cells():
        own = [run for run in runs_of(runs, levels) if run.status == "finished"]
        shares, targets = (_values(own, name) for name in ("target_share", "target_ops_s"))
        if not shares or not targets:
            continue
        share, least = statistics.fmean(shares), share_min(load_curve=any("load_percent" in run.facts for run in own))
        if share < least:
            missing = [run for run in own if (reached := run.value("target_share")) is not None and reached < least]
            beside = BESIDE_OTHERS if all(_is_disturbed(run) for run in missing) else ""
            missed |= {run.run_index: not_sustained(statistics.fmean(targets), share) + beside for run in own}
    return missed


def _is_disturbed(run: Run) -> bool:
    return any(exceeded(run, kind) for kind in OTHER_PROGRAMS)


def _values(runs: Sequence[Run], name: str) -> list[float]:
    return [r.value for run in runs for r in run.responses if r.name == name and r.value is not None]


def rate_lines(responses: Sequence[ResponseFinding]) -> list[str]:
    """Returns one line for each cell that did not sustain its rate."""
    cells = next((r.cells for r in responses if needs_its_rate(r.name)), ())
    return [f"{_who(c.levels)} {c.not_sustained}" for c in cells if c.not_sustained]


def _who(levels: Levels) -> str:
    """Returns the cell without its rate, which the sentence names anyway."""
    return label({name: level for name, level in levels.items() if name not in RATE_FACTORS}) or "the database"


def rate_sentences(rankings: Sequence[Ranking], design: Layout) -> list[str]:
    """Returns one sentence for each subject that did not sustain its rate. rankings: of one condition."""
    missed = [c for k in rankings for c in k.without_value if c.not_sustained]
    sentences = [f"{_who({design.subject: c.levels[design.subject]})} {c.not_sustained}." for c in missed]
    return list(dict.fromkeys(capitalised(text) for text in sentences))


def capitalised(text: str) -> str:
    """Capitalises "the database" at the start of a sentence; leaves names unchanged."""
    return f"The{text[3:]}" if text.startswith("the database ") else text


def rate_caveats(lines: Sequence[str]) -> list[str]:
    """Returns caveats on the cells that did not sustain their rate."""
    return [f"{capitalised(line)}: no verdict on its latency and energy." for line in lines]
