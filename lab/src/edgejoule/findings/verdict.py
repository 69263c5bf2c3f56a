"""The verdict in plain English: what is best where, by what factor, how sure that is, what is not told apart."""

from __future__ import annotations

from collections.abc import Sequence

from edgejoule.findings.design import Design, label
from edgejoule.findings.model import Cell, Contrast, Progress, Ranking, ResponseFinding, Statement
from edgejoule.findings.words import count, interval, listed, ratio, unit_for
from edgejoule.responses import Better

_ABOVE_IDLE_MIN = 0.05
_CONDITIONS_MAX = 6  # told one by one; more are counted


def headline(first: ResponseFinding | None, design: Design) -> str:
    """One sentence: who is best at the response that decides."""
    if first is None:
        return "No run has a value for the response that decides, so there is no verdict yet."
    what = _superlative(first)
    told = [k for k in first.rankings if k.cells]
    if not told:
        return f"No run has a value for {first.title}, so there is no verdict yet."
    if not any(k.contrasts for k in told):
        return f"Only one {design.subject} has values, so there is nothing to compare it with."
    if all(c.differs is None for k in told for c in k.contrasts):
        return f"No comparison is possible: {_why_none(first)}."
    winners = {str(k.cells[0].levels[design.subject]) for k in told if k.decided}
    decided = [k for k in told if k.decided]
    if not decided:
        return _no_winner(first, told, design)
    if len(winners) == 1 and len(decided) == len(told):
        where = "" if len(told) == 1 and not design.others else f" {_everywhere(told, design)}"
        return f"{winners.pop()} {what}{where}."
    clauses = [f"{_name(k.cells[0], design)} for {label(k.condition)}" for k in decided]
    undecided = [label(k.condition) for k in told if not k.decided]
    if len(clauses) > _CONDITIONS_MAX:
        return f"It depends: {listed(sorted(winners))} each {what} somewhere (see the table)."
    text = f"Which {design.subject} {what} depends: {listed(clauses)}"
    if len(winners) == 1:
        text = f"{winners.pop()} {what} for {listed([label(k.condition) for k in decided])}"
    return text + (f"; undecided for {listed(undecided)}." if undecided else ".")


def statements(responses: Sequence[ResponseFinding], design: Design) -> tuple[Statement, ...]:
    """One statement per condition: the deciding response, then the next one; counted where there are too many."""
    told = [r for r in responses if r.better is not Better.NEITHER and any(k.cells for k in r.rankings)][:2]
    if not told:
        return ()
    if len(design.conditions) > _CONDITIONS_MAX:
        return tuple(_counted(r, design) for r in told)
    found = []
    for i, condition in enumerate(design.conditions):
        parts = [_sentence(r.rankings[i], r, design) for r in told if r.rankings[i].cells]
        found.append(Statement(label(condition) or "result", " ".join(parts) or "no run has a value."))
    return tuple(found)


def caveats(
    progress: Progress, responses: Sequence[ResponseFinding], others: Sequence[ResponseFinding], replications: int
) -> tuple[str, ...]:
    """What a reader must know before trusting the verdict."""
    found = []
    if progress.planned:
        found.append(f"Preliminary: {progress.planned} of {count(progress.total, 'run')} are not done yet.")
    if progress.failed:
        found.append(
            f"{progress.failed} of {count(progress.total, 'run')} failed; they are shown as failed, and the means rest "
            "on the others."
        )
    if progress.flagged:
        found.append(f"{count(progress.flagged, 'run')} flagged as doubtful; the table of runs says why.")
    for r in responses:
        missing = sum(len(c.missing) for c in r.cells)
        if missing:
            found.append(
                f"{r.title[0].upper()}{r.title[1:]}: {count(missing, 'value')} missing; the table of runs says why."
            )
    if (share := _above_idle(others)) is not None and share < _ABOVE_IDLE_MIN:
        amount = "Less than 1 %" if share < 0.01 else f"Only {100 * share:.0f} %"
        found.append(
            f"{amount} of the energy lies above idle: the runs hardly drew more than the quiet windows around them, "
            "because the machine was busy with other work or idles at high power. Energy then follows time alone."
        )
    if replications == 1:
        found.append("One run per cell: there is no error term, so no uncertainty and no comparison.")
    return tuple(found)


def _above_idle(others: Sequence[ResponseFinding]) -> float | None:
    """The share of all cells' energy that lies above the idle baseline; None where one of the two is not known."""
    means = {r.name: [c.mean for c in r.cells if c.mean is not None] for r in others}
    gross, net = sum(means.get("energy_j", [])), sum(means.get("energy_net_j", []))
    return net / gross if gross > 0 and "energy_net_j" in means else None


def _counted(r: ResponseFinding, design: Design) -> Statement:
    told = [k for k in r.rankings if k.cells]
    wins: dict[str, int] = {}
    for k in told:
        if k.decided:
            wins[_name(k.cells[0], design)] = wins.get(_name(k.cells[0], design), 0) + 1
    words = [f"{name} in {n}" for name, n in sorted(wins.items(), key=lambda item: -item[1])]
    best = f"the best is {listed(words)} of {len(told)} conditions" if words else "nowhere is one clearly the best"
    open_ones = len(told) - sum(wins.values())
    return Statement(r.title, f"{best}{f'; {open_ones} are undecided' if words and open_ones else ''}.")


def _no_winner(first: ResponseFinding, told: Sequence[Ranking], design: Design) -> str:
    """The headline where no condition has a single best: why not, and who is behind all the same."""
    text = f"No {design.subject} can be said to have the {_side(first)} {first.label}{_method_word(first)}"
    if _model_bound(first):
        text = f"The model cannot tell which {design.subject} has the {_side(first)} {first.label}{_method_word(first)}"
    behind: dict[str, list[str]] = {}
    for k in told:
        for c in k.behind:
            behind.setdefault(str(c.other), []).append(label(k.condition))
    clauses = [
        f"{name} is behind for {listed(where)}" if where[0] else f"{name} is behind" for name, where in behind.items()
    ]
    return f"{text}{'; ' if clauses else ''}{listed(clauses) if clauses else ''}."


def _sentence(k: Ranking, r: ResponseFinding, design: Design) -> str:
    """The best of one condition, those behind with their factor, and those that cannot be told from it."""
    unit = unit_for(r.unit, (c.mean for c in r.cells))
    best = k.cells[0]
    assert best.mean is not None
    figure = f"{unit.text(best.mean)}{_method_word(r)}"
    name = _name(best, design)
    if not k.contrasts:
        return f"{_lead(r)} {name}, {figure}, with nothing to compare it with."
    if all(c.differs is None for c in k.contrasts):
        return f"{_lead(r)} {name}, {figure}, next {listed([_bare(c) for c in k.contrasts])}; without a test."
    behind = listed([_times(c, r) for c in k.behind]) if k.behind else ""
    if k.decided:
        return f"{_lead(r)} {name}, {figure}: {behind}."
    tied = _tied_words(k, r)
    return f"{_lead(r)} {name}, {figure}, but {tied}{f'; {behind}' if behind else ''}."


def _lead(r: ResponseFinding) -> str:
    if r.name == "energy_per_op_uj":
        return "Least energy per operation:"
    if r.name == "throughput_ops_s":
        return "Fastest:"
    return f"{_side(r).capitalize()} {r.label}:"


def _times(c: Contrast, r: ResponseFinding) -> str:
    if c.ratio is None:
        return f"{c.other} is worse (p = {c.p:.2g})" if c.p is not None else f"{c.other} is worse"
    tail = f" ({interval(c.ci, r.alpha)})" if c.ci else ""
    if r.better is Better.HIGHER:
        return f"{ratio(c.ratio)}× {c.other}{tail}"
    return f"{c.other} needs {ratio(c.ratio)}× as much{tail}"


def _tied_words(k: Ranking, r: ResponseFinding) -> str:
    bound = [c for c in k.tied if c.model_bound]
    same = [c for c in k.tied if not c.model_bound]
    texts = []
    if bound:
        texts.append(f"the model cannot tell it from {listed([_bare(c) for c in bound], 'or')}")
    if same:
        texts.append(f"it does not differ significantly from {listed([_with_ci(c, r) for c in same], 'or')}")
    return " and ".join(texts)


def _with_ci(c: Contrast, r: ResponseFinding) -> str:
    return f"{_bare(c)[:-1]}, {interval(c.ci, r.alpha)})" if c.ratio and c.ci else str(c.other)


def _bare(c: Contrast) -> str:
    return f"{c.other} ({ratio(c.ratio)}×)" if c.ratio else str(c.other)


def _name(cell: Cell, design: Design) -> str:
    return str(cell.levels[design.subject])


def _method_word(r: ResponseFinding) -> str:
    return f" ({r.method})" if r.is_energy else ""


def _superlative(r: ResponseFinding) -> str:
    return f"has the {_side(r)} {r.label}{_method_word(r)}"


def _side(r: ResponseFinding) -> str:
    return "highest" if r.better is Better.HIGHER else "lowest"


def _everywhere(told: Sequence[Ranking], design: Design) -> str:
    if len(told) == 1:
        return f"for {label(told[0].condition)}"
    plain = f"{design.others[0]}s" if len(design.others) == 1 else "conditions"
    return f"in all {len(told)} {plain}"


def _model_bound(r: ResponseFinding) -> bool:
    return any(c.model_bound for k in r.rankings for c in k.contrasts)


def _why_none(r: ResponseFinding) -> str:
    reasons = [p.reason for p in r.parts if p.reason] or [n for n in r.notes if "judged" in n]
    return reasons[0] if reasons else "the cells cannot be compared"
