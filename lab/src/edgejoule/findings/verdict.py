"""The verdict in plain English: the best, by what factor, how sure, and what cannot be distinguished."""

from __future__ import annotations

from collections.abc import Sequence

from edgejoule.dictionary.responses import Better
from edgejoule.findings.compare import MODELLED
from edgejoule.findings.design import Layout, label
from edgejoule.findings.effects import condition_sentence
from edgejoule.findings.model import Cell, Contrast, Effect, Progress, Ranking, ResponseFinding, Statement
from edgejoule.findings.other_programs import CLOCKED
from edgejoule.findings.rates import is_asked_for, rate_sentences
from edgejoule.findings.text import count, listed, ratio, unit_for
from edgejoule.stats.verdict import margin_text

_ABOVE_IDLE_MIN = 0.05
_CONDITIONS_MAX = 6  # named one by one; more are counted


def headline(
    first: ResponseFinding | None, design: Layout, effects: Sequence[Effect] = (), progress: Progress | None = None
) -> str:
    """One sentence: who is best at the response that decides, and where that is undecided.

    Databases are reported condition by condition, another subject by its effect over all conditions.
    """
    yet = "" if progress and not progress.planned else " yet"
    if first is None and progress and progress.failed == progress.total:
        return f"All {count(progress.total, 'run')} failed, so there is no verdict."
    if first is None:
        return f"No run has a value for the response that decides, so there is no verdict{yet}."
    if is_asked_for(first.name, design.subject):
        return f"The factor {design.subject} sets the throughput, so it is not compared; see the tables."
    ranked = [k for k in first.rankings if k.cells]
    if not ranked:
        return f"No run has a value for {first.title}, so there is no verdict{yet}."
    if not any(k.contrasts for k in ranked):
        return f"Only one {design.subject} has values, so there is nothing to compare it with."
    if all(c.differs is None for k in ranked for c in k.contrasts):
        return f"No comparison is possible: {_why_none(first)}."
    own = next((e for e in effects if e.factors == (design.subject,)), None)
    if own is not None and design.subject != "database":
        return _of_effect(own, ranked, design)
    claim = f"{_does_best(first)}{_method_suffix(first)}"
    groups: dict[tuple[str, ...], list[Ranking]] = {}
    for k in ranked:
        groups.setdefault(_leaders(k, design), []).append(k)
    undecided = groups.pop((), [])
    equal = [k for k in undecided if k.equal]
    if len(equal) == len(ranked):
        who = listed([_name(c, design) for c in equal[0].cells])
        claim = f"{first.label}{_method_suffix(first)} {_where(equal, ranked, design)}".rstrip()
        return f"{who} are equal {_within(first)} in {claim}."
    if not groups:
        return f"{_not_shown(first).capitalize()} which {design.subject} {claim}."
    clauses = [
        f"{listed(names, 'or')} {'' if i else f'{claim} '}{_where(own, ranked, design)}".rstrip()
        for i, (names, own) in enumerate(sorted(groups.items(), key=lambda item: len(item[0])))
    ]
    text = listed(clauses)
    if any(len(names) > 1 for names in groups):
        text += f", and {_who(first)} cannot rank {'them' if len(groups) == 1 else 'those named together'}"
    if undecided:
        text += f"; {_where(undecided, ranked, design)} {_not_shown(first)} which {design.subject} does"
    return f"{text}."


def _of_effect(effect: Effect, ranked: Sequence[Ranking], design: Layout) -> str:
    """Returns the effect's sentence, with a remark if the best level depends on the condition."""
    part = f"{label(effect.where)}: " if effect.where else ""
    leaders = [set(_leaders(k, design)) for k in ranked if k.behind]
    same = not leaders or set.intersection(*leaders)
    return f"{part}{effect.text}" + ("" if same else " Which level is best depends on the other factors.")


def _within(r: ResponseFinding) -> str:
    margin = next(p.analysis.margin for p in r.parts if p.analysis)
    assert margin is not None, "groups are equal within a declared margin only"
    return margin_text(margin, log=r.scale == "log")


def statements(responses: Sequence[ResponseFinding], design: Layout) -> tuple[Statement, ...]:
    """Returns one statement per condition on the first two responses; above _CONDITIONS_MAX one per response."""
    candidates = [r for r in responses if r.better is not Better.NEITHER and not is_asked_for(r.name, design.subject)]
    chosen = [r for r in candidates if any(k.cells for k in r.rankings)][:2]
    if not chosen:
        return ()
    if len(design.conditions) > _CONDITIONS_MAX:
        return tuple(_counted(r, design) for r in chosen)
    statements = []
    for i, condition in enumerate(design.conditions):
        one = _sentence if design.subject == "database" else _plain_sentence
        parts = [one(r.rankings[i], r, design) for r in chosen if r.rankings[i].cells]
        parts += rate_sentences([r.rankings[i] for r in chosen], design)
        statements.append(Statement(label(condition) or "result", " ".join(parts) or "no run has a value."))
    return tuple(statements)


def caveats(
    progress: Progress, responses: Sequence[ResponseFinding], others: Sequence[ResponseFinding], replications: int
) -> tuple[str, ...]:
    """Returns the verdict's limitations, one sentence each."""
    sentences = []
    if progress.planned:
        sentences.append(f"Preliminary: {progress.planned} of {count(progress.total, 'run')} are not done yet.")
    if progress.failed == progress.total:
        sentences.append(f"All {count(progress.total, 'run')} failed; the table of runs says why.")
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
            sentences.append(
                f"{r.title[0].upper()}{r.title[1:]}: the model's mean is below zero in {count(len(outside), 'cell')} "
                "whose runs are not, because runs are missing from blocks that differ: use the medians, or set "
                'analysis.scale = "log".'
            )
    if (share := _above_idle(others)) is not None and share < _ABOVE_IDLE_MIN:
        amount = "Less than 1 %" if share < 0.01 else f"Only {100 * share:.0f} %"
        sentences.append(
            f"{amount} of the energy lies above idle: the runs drew hardly more power than the idle windows. "
            "The machine was busy with other work, or its idle power is high. Energy then follows time alone."
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


def _counted(r: ResponseFinding, design: Layout) -> Statement:
    ranked = [k for k in r.rankings if k.cells]
    wins: dict[str, int] = {}
    for k in ranked:
        if k.decided:
            wins[_name(k.cells[0], design)] = wins.get(_name(k.cells[0], design), 0) + 1
    counts = [f"{name} in {n}" for name, n in sorted(wins.items(), key=lambda item: -item[1])]
    best = f"the best is {listed(counts)} of {len(ranked)} conditions" if counts else "no condition has a clear best"
    open_ones = len(ranked) - sum(wins.values())
    return Statement(r.title, f"{best}{f'; {open_ones} are undecided' if counts and open_ones else ''}.")


def _leaders(k: Ranking, design: Layout) -> tuple[str, ...]:
    """Returns the candidates for the best, in the experiment's order; empty if no subject is significantly worse."""
    if not k.behind:
        return ()
    names = [_name(k.cells[0], design), *(str(c.other) for c in k.contrasts if not c.differs)]
    return tuple(str(s) for s in design.subjects if str(s) in names)


def _who(r: ResponseFinding) -> str:
    return "the model" if any(c.model_bound for k in r.rankings for c in k.contrasts) else "these runs"


def _not_shown(r: ResponseFinding) -> str:
    return f"{_who(r)} do{'es' if _who(r) == 'the model' else ''} not show"


def _plain_sentence(k: Ranking, r: ResponseFinding, design: Layout) -> str:
    return condition_sentence(k, r, design.subject)


def _sentence(k: Ranking, r: ResponseFinding, design: Layout) -> str:
    """The best of one condition, those that cannot be distinguished from it, and those behind with their factor."""
    unit = unit_for(r.unit, (c.mean for c in r.cells))
    best = k.cells[0]
    assert best.mean is not None
    figure = f"{unit.text(best.mean)}{_method_suffix(r)}"
    name, does_best = _name(best, design), _does_best(r)
    by = "By the clock, " if r.unit in CLOCKED else ""
    if not k.contrasts:
        return f"Only {name} has a value of {r.label}, {figure}, so there is nothing to compare."
    if all(c.differs is None for c in k.contrasts):
        return f"{by}{name} {does_best}, {figure}, next {listed([_bare(c) for c in k.contrasts])}; without a test."
    if k.decided:
        return f"{by}{name} {does_best}, {figure}: {_behind_text(k, r)}{_resolution(r)}."
    if k.equal:
        figures = listed([_against(c, r) for c in k.contrasts])
        who = listed([name, *(str(c.other) for c in k.contrasts)])
        return f"{by}{who} are equal {_within(r)} in {r.label}: {name} {figure}, {figures}."
    near = f"{name} {figure}, {_tied_text(k, r)}"
    if not k.behind:
        return f"{by}{'which' if by else 'Which'} {design.subject} {does_best} is open: {near}."
    within = any(_within_model(c, r) for c in k.tied)
    names = listed([name, *(str(c.other) for c in k.tied)], "or")
    return f"{by}{names} {does_best}: {near}; {_behind_text(k, r)}{'' if within else _resolution(r)}."


def _behind_text(k: Ranking, r: ResponseFinding) -> str:
    tails = _tails(k.behind, r)
    if any(c.ratio is None for c in k.behind):
        return listed([f"{c.other} is worse{f' (p = {c.p:.2g})' if c.p is not None else ''}" for c in k.behind])
    times = [ratio(c.ratio) for c in k.behind if c.ratio is not None]
    if r.better is Better.HIGHER:
        return listed([f"{x}× {c.other}{tail}" for x, c, tail in zip(times, k.behind, tails, strict=True)])
    verbs = [" needs", *[""] * (len(times) - 1)]
    much = [" as much", *[""] * (len(times) - 1)]
    columns = zip(k.behind, verbs, times, much, tails, strict=True)
    return listed([f"{c.other}{verb} {x}×{as_much}{tail}" for c, verb, x, as_much, tail in columns])


def _tied_text(k: Ranking, r: ResponseFinding) -> str:
    within = [c for c in k.tied if _within_model(c, r)]
    equal = [c for c in k.tied if c.equivalent and c not in within]
    same = [c for c in k.tied if c not in within and c not in equal]
    texts = []
    if equal:
        figures = listed([f"{_against(c, r)}" for c in equal])
        texts.append(f"{figures}, shown to be the same within the declared margin")
    if within:
        figures = listed([f"{c.other} {ratio(c.ratio)}×" for c in within if c.ratio is not None])
        texts.append(f"{figures} as much, within the {ratio(r.min_ratio or 1)}× that the model resolves")
    if same:
        figures = listed([f"{_against(c, r)}{tail}" for c, tail in zip(same, _tails(same, r), strict=True)])
        texts.append(f"{figures}, no significant difference")
    return "; ".join(texts)


def _against(c: Contrast, r: ResponseFinding) -> str:
    if c.ratio is None:
        return str(c.other)
    return f"{ratio(c.ratio)}× {c.other}" if r.better is Better.HIGHER else f"{c.other} {ratio(c.ratio)}× as much"


def _tails(contrasts: Sequence[Contrast], r: ResponseFinding) -> list[str]:
    """Returns each interval in brackets; the first names the kind of interval."""
    what = "replications alone:" if r.method == MODELLED else f"{100 * (1 - r.alpha):g} % CI"
    tails: list[str] = []
    for c in contrasts:
        first = "" if any(tails) else f"{what} "
        tails.append(f" ({first}{ratio(c.ci[0])} to {ratio(c.ci[1])})" if c.ci else "")
    return tails


def _within_model(c: Contrast, r: ResponseFinding) -> bool:
    return c.model_bound or (r.min_ratio is not None and c.ratio is not None and c.ratio <= r.min_ratio)


def _resolution(r: ResponseFinding) -> str:
    return f"; the model resolves {ratio(r.min_ratio)}×" if r.min_ratio is not None else ""


def _bare(c: Contrast) -> str:
    return f"{c.other} ({ratio(c.ratio)}×)" if c.ratio else str(c.other)


def _name(cell: Cell, design: Layout) -> str:
    return str(cell.levels[design.subject])


def _method_suffix(r: ResponseFinding) -> str:
    return f" ({r.method})" if r.is_energy else ""


def _does_best(r: ResponseFinding) -> str:
    """Returns the predicate of the best one: "costs the least energy per operation"."""
    if r.name == "energy_per_op_uj":
        return "costs the least energy per operation"
    if r.name == "throughput_ops_s":
        return "is the fastest"
    return f"has the {'highest' if r.better is Better.HIGHER else 'lowest'} {r.label}"


def _where(own: Sequence[Ranking], ranked: Sequence[Ranking], design: Layout) -> str:
    plain = "workloads" if design.others == ("workload",) else "conditions"
    if len(ranked) == 1:
        return f"for {label(ranked[0].condition)}" if design.others else ""
    if len(own) == len(ranked):
        return f"in {'both' if len(ranked) == 2 else f'all {len(ranked)}'} {plain}"
    if (levels := _levels_of_one_factor(own, ranked, design)) is not None:
        return f"for {listed(levels)}"
    if len(ranked) > _CONDITIONS_MAX:
        return f"in {len(own)} of {len(ranked)} {plain}"
    return f"for {listed([label(k.condition) for k in own])}"


def _levels_of_one_factor(own: Sequence[Ranking], ranked: Sequence[Ranking], design: Layout) -> list[str] | None:
    """Returns the levels of one factor that select exactly these conditions; None if no factor does."""
    for factor in design.others if len(design.others) > 1 else ():
        levels = [v for v in design.levels[factor] if any(k.condition[factor] == v for k in own)]
        if sum(k.condition[factor] in levels for k in ranked) == len(own):
            return [label({factor: v}) for v in levels]
    return None


def _why_none(r: ResponseFinding) -> str:
    reasons = [p.reason for p in r.parts if p.reason] or [n for n in r.notes if "judged" in n]
    return reasons[0] if reasons else "the cells cannot be compared"
