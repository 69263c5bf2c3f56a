"""The first screen: the headline, one row per condition and a footnote, of the response that decides."""

from __future__ import annotations

from collections.abc import Sequence

from edgejoule.findings.compare import CONSTANT, MIXED
from edgejoule.findings.conditions import best_levels, row_verdict
from edgejoule.findings.design import Layout, label
from edgejoule.findings.model import Answer, AnswerRow, Progress, ResponseFinding
from edgejoule.findings.text import count, ratio
from edgejoule.store import Run


def answer_of(
    headline: str, response: ResponseFinding | None, design: Layout, progress: Progress, runs: Sequence[Run]
) -> Answer:
    """Builds the first screen. response: the one that the rows rank; None if nothing can be compared."""
    rows: tuple[AnswerRow, ...] = ()
    if response is not None:
        alone = len(design.conditions) == 1
        rows = tuple(
            AnswerRow("" if alone else label(k.condition), k, best_levels(k, design), row_verdict(k, response, design))
            for k in response.rankings
        )
    return Answer(headline, response, rows, footnote(response, progress, runs))


def footnote(r: ResponseFinding | None, progress: Progress, runs: Sequence[Run]) -> str:
    """Returns method and resolution of the response, the numbers of runs, and how long they were measured."""
    counts = [count(progress.total, "run")]
    counts += [f"{n} {what}" for n, what in (
        (progress.failed, "failed"), (progress.not_here, "not here"), (progress.planned, "not done yet"),
        (progress.flagged, "flagged"),
    ) if n]  # fmt: skip
    return f"{_method(r)}{', '.join([*counts, *_duration(runs)])}"


def _method(r: ResponseFinding | None) -> str:
    if r is None:
        return ""
    parts = []
    if r.is_energy:
        parts.append(f"energy is {r.method}" if r.method != MIXED else "energies have different methods")
    if r.min_ratio is not None:
        parts.append(f"ratios below {ratio(r.min_ratio)}× are not resolved")
    elif r.exact:
        parts.append(CONSTANT)
    elif any(c.differs is not None for k in r.rankings for c in k.contrasts):
        parts.append(f"tested at α = {r.alpha:.4g}")
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}. " if text else ""


def _duration(runs: Sequence[Run]) -> list[str]:
    """Returns the sum of the settled intervals, and the time from the start of the first run to the end of the last.
    The latter contains loads, and the pauses between sessions (`run --resume`, `--more`). Empty if no run began.
    """
    started = [(run.started_realtime_ns, run.intervals) for run in runs if run.started_realtime_ns is not None]
    if not started:
        return []
    measured_ns = [i.settled_end_ns - i.active_start_ns if i else 0 for _, i in started]
    ends = [begin + ns for (begin, _), ns in zip(started, measured_ns, strict=True)]
    measured = duration_text(sum(measured_ns) / 1e9)
    whole = duration_text((max(ends) - min(begin for begin, _ in started)) / 1e9)
    return [f"measured for {measured}" if measured == whole else f"measured for {measured} within {whole}"]


def duration_text(seconds: float) -> str:
    """Formats a duration: 12 s, 4 min 3 s, 22 min, 1 h 20 min."""
    whole = max(1, round(seconds))
    minutes, hours = whole // 60, whole // 3600
    if hours:
        return f"{hours:,} h {minutes % 60} min" if minutes % 60 else f"{hours:,} h"
    return " ".join(f"{n} {unit}" for n, unit in ((minutes, "min"), (whole % 60, "s")) if n)
