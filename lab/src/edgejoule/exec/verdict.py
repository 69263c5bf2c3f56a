"""The verdict of `edgejoule exec`: one sentence of at most 20 words, from a table of templates.

A second sentence follows if only the wall time of the commands differs.
"""

from __future__ import annotations

from collections.abc import Sequence

from edgejoule.exec.results import NAMES, Result, Row, result_of
from edgejoule.findings.text import number, ratio, unit_for

WORDS_MAX = 20
_TIES = ("two, tie", "two, tie, in turn", "tie", "tie, in turn", "tie, no ratio")
_DECIDED = ("two, decided", "two, in turn", "decided", "tie for the best")
_NAME_WORDS, _NAME_LENGTH = 3, 32

TEMPLATES = {
    "no value": "No run has a value of {what}, so there is no verdict.",
    "unusable": "Other programs disturbed these runs, so {what} is not compared.",
    "control": "The control differs from its own command in {what}: these runs decide nothing.",
    "one": "{first} takes {value} of {what}, ± {precision} % (95 %), from {n} runs.",
    "one, unresolved": "The 95 % interval of {what} holds 0 after {n} runs; make more runs of {first}.",
    "one, short": "{first} is shorter than its shell's start resolves; use -N or repeat more.",
    "unresolved": "No ratio of {what}: the 95 % interval of {vague} holds 0; make more runs.",
    "short": "No ratio of {what}: {vague} is shorter than its shell's start resolves; use -N or repeat more.",
    "conflict": "No verdict on {what}: runs scatter so widely that arithmetic and geometric means disagree.",
    "one, one run": "{first} took {value} of {what} in one run, so there is no interval.",
    "one, no interval": "{first} takes {value} of {what}, from {n} runs without an interval.",
    "untested": "{first} took the least {what}; nothing is tested.",
    "two, decided": "{first} takes the least {what}; {second} takes {times}× as much.",
    "two, in turn": "{first} takes the least {what}; {second} takes {times}× as much; they ran one after another.",
    "two, tie": "No difference in {what} between {first} and {second} shows; the runs resolve {resolved}.",
    "two, tie, in turn": "No difference in {what} between {first} and {second} shows; they ran one after another.",
    "decided": "{first} takes the least {what}; the next, {second}, takes {times}× as much.",
    "decided, in turn": "{first} takes the least {what}; the next takes {times}× as much; they ran one after another.",
    "tie for the best": "{tied} of {all} commands tie for the least {what}; the others take {times}× or more.",
    "tie for the best, in turn": "{tied} of {all} commands tie for the least {what}; they ran one after another.",
    "tie, no ratio": "No difference in {what} between {all} commands shows, in figures that have no ratio.",
    "tie": "No difference in {what} between {all} commands shows; the runs resolve {resolved}.",
    "tie, in turn": "No difference in {what} between {all} commands shows; they ran one after another.",
}


def verdict(result: Result) -> str:
    """Returns the sentence."""
    case, values = _case(result)
    return TEMPLATES[case].format_map(values)


def wall_verdict(result: Result) -> str | None:
    """Returns the sentence about wall time if it differs and the deciding response does not."""
    if result.decides is None or result.decides.name == "active_s" or _case(result)[0] not in _TIES:
        return None
    case, values = _case(result_of(result.experiment, result.findings, result.runs, "active_s"))
    return TEMPLATES[case].format_map(values) if case.startswith(_DECIDED) else None


def _case(result: Result) -> tuple[str, dict[str, object]]:
    """Chooses the template and its values."""
    values: dict[str, object] = {"what": what(result)}
    rows = result.compared
    if not rows or result.decides is None:
        return "no value", values
    names = short_names([row.label for row in result.rows if not row.control])
    labels = dict(zip([row.label for row in result.rows if not row.control], names, strict=True))
    values |= {"first": labels[rows[0].label], "all": len(rows)}
    if result.decides.unusable:
        return "unusable", values
    if result.floor and result.floor.differs:
        return "control", values
    if len(rows) == 1:
        return _one(result, rows[0], values)
    values["second"] = labels[rows[1].label]
    if vague := next((row for row in rows if not row.resolved), None):
        values["vague"] = labels[vague.label]
        return "short" if vague.short else "unresolved", values
    if any(row.tied is None for row in rows):
        return "untested", values
    if any(row.tied is False and _mean(result, row) < _mean(result, rows[0]) for row in rows):
        return "conflict", values
    return _several(rows, values, ", in turn" if result.in_turn else "")


def _mean(result: Result, row: Row) -> float:
    mean = row.mean(result.decides.name) if result.decides else None
    assert mean is not None
    return mean


def _one(result: Result, row: Row, values: dict[str, object]) -> tuple[str, dict[str, object]]:
    assert result.decides is not None
    cell = row.cells[result.decides.name]
    assert cell.mean is not None
    values |= {"value": unit_for(result.decides.unit, [cell.mean]).text(cell.mean), "n": cell.n}
    if not row.resolved:
        return "one, short" if row.short else "one, unresolved", values
    if cell.n == 1:
        return "one, one run", values
    if cell.ci is None:
        return "one, no interval", values
    return "one", {**values, "precision": number(100 * half_width(cell.mean, cell.ci) / cell.mean, 2)}


def _several(rows: Sequence[Row], values: dict[str, object], turn: str) -> tuple[str, dict[str, object]]:
    behind = [row for row in rows if row.tied is False]
    two = len(rows) == 2
    if not behind:
        ends = [end for row in rows[1:] for end in row.ratio_ci or ()]
        if not ends:  # zeros, or values below zero
            return "tie, no ratio", values
        values["resolved"] = share_words(max(max(end, 1 / end) for end in ends) - 1)
        return ("two, tie" if two else "tie") + turn, values
    assert behind[0].ratio is not None  # every row is resolved
    values["times"] = ratio(behind[0].ratio)
    if len(behind) == len(rows) - 1:
        return ("two, in turn" if turn else "two, decided") if two else f"decided{turn}", values
    return f"tie for the best{turn}", {**values, "tied": len(rows) - len(behind)}


def what(result: Result) -> str:
    """Returns the name of the deciding response, with its method for energy."""
    declared = result.experiment.spec.analysis.responses[0]
    if result.decides is None:
        return NAMES.get(declared, declared)
    name = NAMES.get(result.decides.name, result.decides.label)
    return f"{name} ({result.decides.method})" if result.decides.is_energy else name


def share_words(share: float) -> str:
    """Formats a relative difference: 2.5 %, and from 100 % on a factor: 2.0×."""
    return f"{number(100 * share, 2)} %" if share < 1 else f"{number(1 + share, 2)}×"


def half_width(mean: float, ci: tuple[float, float]) -> float:
    """Returns the half width of an interval; for an asymmetric one the wider side."""
    return max(ci[1] - mean, mean - ci[0])


def short_names(labels: Sequence[str]) -> list[str]:
    """Returns names for a sentence: at most three words each; numbers where those would be equal."""
    names = [_shortened(label) for label in labels]
    return names if len(set(names)) == len(names) else [f"command {i}" for i in range(1, len(names) + 1)]


def _shortened(label: str) -> str:
    parts = label.split()
    name = " ".join(parts[:_NAME_WORDS])
    return f"{name[:_NAME_LENGTH]}…" if len(parts) > _NAME_WORDS or len(name) > _NAME_LENGTH else name
