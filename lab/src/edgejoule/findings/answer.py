"""The first screen: the headline, one row per condition and a footnote, of the response that decides."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from edgejoule.dictionary.responses import Better
from edgejoule.experiment.model import Level
from edgejoule.findings.compare import MIXED
from edgejoule.findings.design import Layout, label
from edgejoule.findings.model import Answer, AnswerRow, Cell, Contrast, Progress, Ranking, ResponseFinding
from edgejoule.findings.rates import without_reached
from edgejoule.findings.sentences import names
from edgejoule.findings.text import count, listed, ratio, times_text
from edgejoule.stats.verdict import margin_text
from edgejoule.store import Run

VERDICT_WORDS_MAX = 12


def answer_of(
    headline: str, response: ResponseFinding | None, design: Layout, progress: Progress, runs: Sequence[Run]
) -> Answer:
    """Builds the first screen. response: the one that decides; None if nothing can be compared."""
    rows: tuple[AnswerRow, ...] = ()
    if response is not None:
        rows = tuple(_row(k, response, design) for k in response.rankings)
    return Answer(headline, response, rows, footnote(response, progress, runs))


def _row(k: Ranking, r: ResponseFinding, design: Layout) -> AnswerRow:
    return AnswerRow(label(k.condition), k, best_levels(k, design), row_verdict(k, r, design))


def best_levels(k: Ranking, design: Layout) -> tuple[Level, ...]:
    """Returns the levels that may be the best, the best first; empty if no level is significantly worse."""
    if not k.cells or not (k.behind or k.equal):
        return ()
    return (k.cells[0].levels[design.subject], *(c.other for c in k.contrasts if not c.differs))


def row_verdict(k: Ranking, r: ResponseFinding, design: Layout) -> str:
    """Returns the verdict on one condition in at most VERDICT_WORDS_MAX words."""
    missed = _missed(k, design)
    return first_that_fits(
        (f"{verdict}{remark}" for verdict in _verdicts(k, r, design) for remark in missed), VERDICT_WORDS_MAX
    )


def first_that_fits(texts: Iterable[str], words_max: int) -> str:
    """Returns the first text of at most `words_max` words, or the last one."""
    text = ""
    for text in texts:
        if len(text.split()) <= words_max:
            break
    return text


def _verdicts(k: Ranking, r: ResponseFinding, design: Layout) -> list[str]:
    """Returns the verdict in several lengths, the longest first."""
    factor = design.subject
    if not k.cells:
        return [_why_empty(k.without_value)]
    best = k.cells[0].levels[factor]
    if r.unusable:
        return ["not compared"]
    if not k.contrasts:
        return [f"only {names(factor, [best])} has a value", "one level only"]
    if all(c.differs is None for c in k.contrasts):
        return [
            f"{names(factor, [best])} {'highest' if r.better is Better.HIGHER else 'lowest'}, not tested",
            "not tested",
        ]
    if k.equal:
        return [f"equal {within_margin(r)}"]
    if not k.behind:
        return ["undecided"]
    leaders = best_levels(k, design)
    heads = [f"{names(factor, leaders, last='or')}{' (tie)' if len(leaders) > 1 else ''}", f"{len(leaders)} tie"]
    tails = _behind(k, r, factor)
    return [f"{head}; {tail}" for head in heads for tail in tails]


def _behind(k: Ranking, r: ResponseFinding, factor: str) -> list[str]:
    """Returns the levels behind the best with their ratios, then only the range of the ratios."""
    lower = " lower" if r.better is Better.HIGHER else ""
    if any(c.ratio is None for c in k.behind):
        return [f"{names(factor, [c.other for c in k.behind])} worse", f"{count(len(k.behind), 'other')} worse"]
    each = [f"{names(factor, [c.other])} {times_text(c.ratio or 1)}" for c in k.behind]
    ends = sorted({times_text(min(_ratios(k.behind))), times_text(max(_ratios(k.behind)))}, key=len)
    return [f"{', '.join(each)}{lower}", f"{len(k.behind)} others {' to '.join(ends)}{lower}"]


def _ratios(contrasts: Sequence[Contrast]) -> list[float]:
    return [c.ratio for c in contrasts if c.ratio is not None]


def _missed(k: Ranking, design: Layout) -> list[str]:
    """Returns the remark on levels that did not sustain their rate, in several lengths."""
    missed = [c for c in k.without_value if c.not_sustained] if k.cells else []
    if not missed:
        return [""]
    each = [
        f"{names(design.subject, [c.levels[design.subject]])} {without_reached(c.not_sustained or '')}" for c in missed
    ]
    return [f"; {listed(each)}", f"; {len(missed)} do not sustain their rate"]


def _why_empty(cells: Sequence[Cell]) -> str:
    if any(c.not_sustained for c in cells):
        return "rate not sustained"
    if any(c.failed for c in cells):
        return "all runs failed"
    return "not run yet" if any(c.open for c in cells) else "no value"


def within_margin(r: ResponseFinding) -> str:
    """Returns the declared margin of equivalence: within 5 %."""
    margin = next(p.analysis.margin for p in r.parts if p.analysis)
    assert margin is not None, "groups are equal within a declared margin only"
    return margin_text(margin, log=r.scale == "log")


def footnote(r: ResponseFinding | None, progress: Progress, runs: Sequence[Run]) -> str:
    """Returns method and resolution of the response, the numbers of runs, and the duration of the study."""
    counts = [count(progress.total, "run")]
    counts += [f"{n} {what}" for n, what in (
        (progress.failed, "failed"), (progress.planned, "not done yet"), (progress.flagged, "flagged")
    ) if n]  # fmt: skip
    if duration_s := _duration_s(runs):
        counts.append(f"in {duration_text(duration_s)}")
    return f"{_method(r)}{', '.join(counts)}"


def _method(r: ResponseFinding | None) -> str:
    if r is None:
        return ""
    parts = []
    if r.is_energy:
        parts.append(f"energy is {r.method}" if r.method != MIXED else "energies have different methods")
    if r.min_ratio is not None:
        parts.append(f"ratios below {ratio(r.min_ratio)}× are not resolved")
    elif any(c.differs is not None for k in r.rankings for c in k.contrasts):
        parts.append(f"tested at α = {r.alpha:.4g}")
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}. " if text else ""


def _duration_s(runs: Sequence[Run]) -> float:
    """Returns the time from the start of the first run to the end of the last one."""
    started = [(run.started_realtime_ns, run.intervals) for run in runs if run.started_realtime_ns is not None]
    if not started:
        return 0
    ends = [begin + (i.settled_end_ns - i.active_start_ns if i else 0) for begin, i in started]
    return (max(ends) - min(begin for begin, _ in started)) / 1e9


def duration_text(seconds: float) -> str:
    """Formats a duration: 12 s, 4 min 3 s, 1 h 20 min."""
    whole = max(1, round(seconds))
    minutes, hours = whole // 60, whole // 3600
    if hours:
        return f"{hours:,} h {minutes % 60} min"
    return f"{minutes} min {whole % 60} s" if minutes else f"{whole} s"
