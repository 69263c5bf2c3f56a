"""The statements behind the headline, a sentence for each response and condition, and the verdict's limitations."""

from __future__ import annotations

from collections.abc import Sequence

from edgejoule.dictionary.responses import Better
from edgejoule.findings.conditions import count_forms
from edgejoule.findings.design import Layout, label
from edgejoule.findings.effects import level_forms
from edgejoule.findings.model import Progress, ResponseFinding, Statement
from edgejoule.findings.rates import is_asked_for, rate_sentences
from edgejoule.findings.templates import fitting
from edgejoule.findings.text import count

_ABOVE_IDLE_MIN = 0.05
_CONDITIONS_MAX = 6  # named one by one; more are counted


def statements(responses: Sequence[ResponseFinding], design: Layout) -> tuple[Statement, ...]:
    """Returns one statement per condition on the first two responses; above _CONDITIONS_MAX one per response."""
    candidates = [r for r in responses if r.better is not Better.NEITHER and not is_asked_for(r.name, design.subject)]
    chosen = [r for r in candidates if any(k.cells for k in r.rankings)][:2]
    if not chosen:
        return ()
    if len(design.conditions) > _CONDITIONS_MAX:
        return tuple(Statement(r.title, fitting(count_forms(r, design))) for r in chosen)
    statements = []
    for i, condition in enumerate(design.conditions):
        parts = [fitting(level_forms(r.rankings[i], r, design.subject)) for r in chosen if r.rankings[i].cells]
        parts += rate_sentences([r.rankings[i] for r in chosen], design)
        statements.append(Statement(label(condition) or "result", " ".join(parts) or "No run has a value."))
    return tuple(statements)


def caveats(
    progress: Progress, responses: Sequence[ResponseFinding], others: Sequence[ResponseFinding], replications: int
) -> tuple[str, ...]:
    """Returns the verdict's limitations, one sentence each."""
    sentences = []
    if progress.planned:
        sentences.append(f"Preliminary: {progress.planned} of {count(progress.total, 'run')} are not done yet.")
    if progress.failed and not progress.finished and not progress.planned:
        sentences.append(f"All {count(progress.failed, 'run')} failed; the table of runs says why.")
    elif progress.failed:
        rest = ", and the means rest on the others" if progress.finished else ""
        sentences.append(f"{progress.failed} of {count(progress.total, 'run')} failed; they are shown as failed{rest}.")
    if progress.flagged:
        sentences.append(f"{count(progress.flagged, 'run')} flagged as doubtful; the table of runs says why.")
    for r in responses:
        missing = sum(len(c.missing) for c in r.cells)
        if missing:
            sentences.append(
                f"{r.title[0].upper()}{r.title[1:]}: {count(missing, 'value')} missing; the table of runs says why."
            )
        outside = [c for c in r.cells if c.mean is not None and c.minimum is not None and c.mean < min(0.0, c.minimum)]
        if outside:
            sentences += [
                f"{r.title[0].upper()}{r.title[1:]}: the model's mean is below zero in {count(len(outside), 'cell')} "
                "whose runs are not: runs are missing from blocks that differ.",
                'Use the medians of those cells, or set analysis.scale = "log".',
            ]
    if (share := _above_idle(others)) is not None and share < _ABOVE_IDLE_MIN:
        amount = "Less than 1 %" if share < 0.01 else f"Only {100 * share:.0f} %"
        sentences.append(
            f"{amount} of the energy lies above idle, so energy follows time: the machine was busy with other work, or "
            "its idle power is high."
        )
    if replications == 1:
        sentences.append("One run per cell gives no error term, so there is no interval and no comparison.")
    return tuple(sentences)


def _above_idle(others: Sequence[ResponseFinding]) -> float | None:
    """Returns the share of energy above the idle baseline, over the cells with both figures; None if there are none."""
    means = {r.name: [c.mean for c in r.cells] for r in others}
    pairs = zip(means.get("energy_j", []), means.get("energy_net_j", []), strict=False)
    known = [(gross, net) for gross, net in pairs if gross is not None and net is not None]
    all_gross = sum(gross for gross, _ in known)
    return sum(net for _, net in known) / all_gross if all_gross > 0 else None
