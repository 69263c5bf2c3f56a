"""The verdict of `edgejoule exec`: one sentence of at most 20 words, from a table of templates."""

from __future__ import annotations

from collections.abc import Sequence

from edgejoule.commands.exec_results import NAMES, Result, Row
from edgejoule.findings.words import number, ratio, unit_for

WORDS_MAX = 20
_NAME_WORDS, _NAME_LENGTH = 3, 32

TEMPLATES = {
    "no value": "No run has a value of {what}, so there is no verdict.",
    "unusable": "Other programs disturbed these runs, so {what} is not compared.",
    "control": "The control differs from its own command in {what}: these runs decide nothing.",
    "one": "{first} takes {value} of {what}, ± {precision} % (95 %), from {n} runs.",
    "one, wide": "{first} takes {value} of {what}, within a factor of {factor} (95 %), from {n} runs.",
    "one, one run": "{first} took {value} of {what} in one run, so there is no interval.",
    "one, no interval": "{first} takes {value} of {what}, from {n} runs without an interval.",
    "untested": "{first} took the least {what}; nothing is tested.",
    "two, decided": "{first} takes the least {what}; {second} takes {times}× as much.",
    "two, in turn": "{first} takes the least {what}; {second} takes {times}× as much; they ran one after another.",
    "two, tie": "No difference in {what} between {first} and {second} shows; the runs resolve {resolved} %.",
    "two, tie, in turn": "No difference in {what} between {first} and {second} shows; they ran one after another.",
    "decided": "{first} takes the least {what}; the next, {second}, takes {times}× as much.",
    "decided, in turn": "{first} takes the least {what}; the next takes {times}× as much; they ran one after another.",
    "tie for the best": "{tied} of {all} commands tie for the least {what}; the others take {times}× or more.",
    "tie for the best, in turn": "{tied} of {all} commands tie for the least {what}; they ran one after another.",
    "decided, no ratio": "{first} takes the least {what}; the others take more, in figures that have no ratio.",
    "tie, no ratio": "No difference in {what} between {all} commands shows, in figures that have no ratio.",
    "tie": "No difference in {what} between {all} commands shows; the runs resolve {resolved} %.",
    "tie, in turn": "No difference in {what} between {all} commands shows; they ran one after another.",
}


def verdict(result: Result) -> str:
    """The sentence."""
    case, values = _case(result)
    return TEMPLATES[case].format_map(values)


def _case(result: Result) -> tuple[str, dict[str, object]]:
    """The template with its values."""
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
    if any(row.tied is None for row in rows):
        return "untested", values
    return _several(rows, values, ", in turn" if result.in_turn else "")


def _one(result: Result, row: Row, values: dict[str, object]) -> tuple[str, dict[str, object]]:
    assert result.decides is not None
    cell = row.cells[result.decides.name]
    assert cell.mean is not None
    values |= {"value": unit_for(result.decides.unit, [cell.mean]).text(cell.mean), "n": cell.n}
    if cell.n == 1:
        return "one, one run", values
    if cell.ci is None or cell.mean <= 0:
        return "one, no interval", values
    share = half_width(cell.mean, cell.ci) / cell.mean
    if share >= 1:
        return "one, wide", {**values, "factor": number(1 + share, 2)}
    return "one", {**values, "precision": number(100 * share, 2)}


def _several(rows: Sequence[Row], values: dict[str, object], turn: str) -> tuple[str, dict[str, object]]:
    behind = [row for row in rows if row.tied is False]
    two = len(rows) == 2
    if not behind:
        ends = [end for row in rows[1:] for end in row.ratio_ci or ()]
        if not ends:  # zeros, or values below zero
            return "tie, no ratio", values
        values["resolved"] = number(100 * (max(max(end, 1 / end) for end in ends) - 1), 2)
        return ("two, tie" if two else "tie") + turn, values
    if behind[0].ratio is None:
        return "decided, no ratio", values
    values["times"] = ratio(behind[0].ratio)
    if len(behind) == len(rows) - 1:
        return ("two, in turn" if turn else "two, decided") if two else f"decided{turn}", values
    return f"tie for the best{turn}", {**values, "tied": len(rows) - len(behind)}


def what(result: Result) -> str:
    """The response that decides, with its method where there is energy in it."""
    declared = result.experiment.spec.analysis.responses[0]
    if result.decides is None:
        return NAMES.get(declared, declared)
    name = NAMES.get(declared, result.decides.label)
    return f"{name} ({result.decides.method})" if result.decides.is_energy else name


def half_width(mean: float, ci: tuple[float, float]) -> float:
    """The half width of an interval; of a lopsided one the wider side."""
    return max(ci[1] - mean, mean - ci[0])


def short_names(labels: Sequence[str]) -> list[str]:
    """Names for a sentence: at most three words each; numbers where those would be the same."""
    names = [_shortened(label) for label in labels]
    return names if len(set(names)) == len(names) else [f"command {i}" for i in range(1, len(names) + 1)]


def _shortened(label: str) -> str:
    words = label.split()
    name = " ".join(words[:_NAME_WORDS])
    return f"{name[:_NAME_LENGTH]}…" if len(words) > _NAME_WORDS or len(name) > _NAME_LENGTH else name
