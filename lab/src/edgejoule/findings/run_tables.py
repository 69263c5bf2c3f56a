"""Tables of one run with explanations: its responses, baselines, meter readings and phases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from edgejoule.dictionary.responses import BASELINE_NET, BASELINE_POWER, unit_text
from edgejoule.energy import Renewal
from edgejoule.findings.table import Table
from edgejoule.findings.text import listed
from edgejoule.stats.figures import plain, plus_minus
from edgejoule.store import ResponseValue, Run

_ROUNDING_MAX = 1e-9  # less is no amount of any unit
_WHOLE_MAX = 1e15  # larger values have an exponent
_LABELS = {"idle": "idle, no database open", "quiet": "database open, quiet"}


@dataclass(frozen=True)
class RunTable:
    """A table with explanations below it."""

    table: Table
    sentences: tuple[str, ...] = ()


def responses(run: Run) -> RunTable:
    """Returns all responses of a run; the reasons of the missing ones are below."""
    rows = tuple((r.name, value_text(r), unit_text(r.unit), _uncertainty(r), r.method) for r in run.responses)
    columns = ("response", "value", "unit", "± (k=2)", "method")
    missing: dict[str, list[str]] = {}
    for r in run.responses:
        if r.value is None:
            missing.setdefault(r.missing_reason or "no reason is stored", []).append(r.name)
    sentences = tuple(
        f"{listed(names)} {'has' if len(names) == 1 else 'have'} no value: {reason}"
        for reason, names in missing.items()
    )
    return RunTable(Table("responses", columns, (False, True, False, True, False), rows), sentences)


def responses_in_lines(run: Run) -> list[str]:
    """Returns the table of responses as lines for a narrow terminal: energy_j: 6.365 ± 3.18 J, modelled."""
    return ["response: value ± (k=2) unit, method", *(_in_a_line(r) for r in run.responses)]


def _in_a_line(r: ResponseValue) -> str:
    uncertainty = f" ± {text}" if (text := _uncertainty(r)) else ""
    value = f"{value_text(r)}{uncertainty} {unit_text(r.unit) if r.value is not None else ''}".rstrip()
    return f"{r.name}: {value}, {r.method}"


def _uncertainty(r: ResponseValue) -> str:
    return "" if r.uncertainty_k2 is None else plain(r.uncertainty_k2, 3)


def value_text(response: ResponseValue) -> str:
    """Formats a value with four significant digits, or as an integer from 1000."""
    if response.value is None:
        return "missing"
    whole = 1000 <= abs(response.value) < _WHOLE_MAX
    return f"{response.value:,.0f}" if whole else plain(_zeroed(response.value), 4)


def _zeroed(value: float) -> float:
    """Returns 0 for the rounding errors of a difference."""
    return 0.0 if abs(value) < _ROUNDING_MAX else value


def baselines(run: Run) -> RunTable:
    """Returns gross energy, the two baselines and the net energy above each, with its uncertainty budget."""
    values = {r.name: r for r in run.responses}
    labels = {**_LABELS, "idle": "idle"} if run.is_command_alone else _LABELS
    each = (" of one repetition" if "repetitions" in run.facts else " of one execution") if run.repeated > 1 else ""
    gross, facts = values.get("energy_j"), run.facts["baselines"]
    rows: list[tuple[str, ...]] = [
        ("gross", gross.method if gross else "", "", "", _shown(values.get("power_mean_w")), _shown(gross), "")
    ]
    for name, own in facts.items():
        rows += _baseline_rows(name, labels[name], own, values, run.repeated)
    sentences = [
        f"{labels[name]}: missing: {own['missing_reason']}" for name, own in facts.items() if own["missing_reason"]
    ]
    share = facts.get("quiet", {}).get("core_share")
    if share is not None:
        sentences.insert(0, f"while quiet, driver and database took {100 * share:.3f} % of a core")
    caption = f"settled energy{each} gross, and above its baselines; J of a line at k=1, all else at k=2"
    columns = ("baseline", "method", "before W", "after W", "at the run W", "J", "share")
    table = Table(caption, columns, (False, False, *[True] * 5), tuple(rows), optional=(2, 3, 4, 6))
    return RunTable(table, tuple(sentences))


def _baseline_rows(
    name: str, label: str, facts: Mapping[str, Any], values: Mapping[str, ResponseValue], executions: int
) -> Iterator[tuple[str, ...]]:
    """Yields a baseline's rows. facts: of all executions together. values: of one execution."""
    power, net = values.get(BASELINE_POWER[name]), values.get(BASELINE_NET[name])
    method = power.method if power else ""
    if facts["before_w"] is None:
        yield (label, method, "missing", "missing", "missing", "missing", "")
        return
    windows = (plain(facts["before_w"], 4), plain(facts["after_w"], 4))
    yield (label, method, *windows, _shown(power), _shown(net), "")
    for line, value, share in _budget({line: j / executions for line, j in facts["net_budget_j"].items()}):
        yield (f"  {line}", "", "", "", "", value, share)


def metering(facts: Mapping[str, Any], whole: str = "") -> RunTable:
    """Returns the energy of each meter with its uncertainty budget, the clocks and the cost of sampling.

    facts: the heading `metering` of a run's facts. whole: the part that the energy is of, if several.
    """
    rows = tuple(row for meter in facts["meters"] for row in _meter_rows(meter))
    clocks = facts.get("clocks", {})
    sentences = [f"clock of {clock['meter']}: {clock['words']}" for clock in clocks.get("meters", ())]
    sentences += [f"clocks: {note}" for note in clocks.get("notes", ())]
    for meter in facts["meters"]:
        if meter["energy"]["settled_j"] is None:
            sentences.append(f"{meter['meter']}: no energy: {meter['energy']['missing_reason']}")
        if renewal := meter["energy"].get("renewal"):
            sentences.append(f"{meter['meter']}: {Renewal(**renewal).description}")
    for meter in facts["meters"]:
        if (cost := meter["sampling"]) is not None:
            late = f", {cost['polls_late']:,} of them late" if cost["polls_late"] else ""
            share = f"{100 * cost['core_share']:.2f} % of a core"
            sentences.append(f"sampling {meter['meter']}: {cost['polls']:,} polls{late}, {share}")
    sentences.append(f"recording the readings: {plain(facts['recording_cpu_s'], 3)} s of CPU time")
    of = f" of all {whole}" if whole else ""
    caption = f"settled energy{of}, and its uncertainty budget; J of a line at k=1, of a meter at k=2"
    columns = ("meter", "domain", "method", "J", "share")
    return RunTable(Table(caption, columns, (False, False, False, True, True), rows, optional=(1, 4)), tuple(sentences))


def _meter_rows(meter: Mapping[str, Any]) -> Sequence[tuple[str, ...]]:
    energy = meter["energy"]
    head = (meter["meter"], energy["domain"], energy["method"])
    if energy["settled_j"] is None:
        return [(*head, "missing", "")]
    total = plus_minus(energy["settled_j"], energy["uncertainty_k2_j"])
    return [(*head, total, ""), *((f"  {name}", "", "", *rest) for name, *rest in _budget(energy["budget_j"]))]


def _budget(budget_j: Mapping[str, float]) -> list[tuple[str, str, str]]:
    """Returns each line of the budget with J at k=1 and its share of the variance, the largest first."""
    variance_j2 = sum(value**2 for value in budget_j.values()) or 1.0
    lines = sorted(budget_j.items(), key=lambda line: -line[1])
    return [(name, plain(value, 3), f"{100 * value**2 / variance_j2:.1f} %") for name, value in lines]


def phases(facts: Sequence[Mapping[str, Any]], repetitions: int) -> RunTable:
    """Returns energy, time and bytes of each phase that a command announced. facts: not empty."""
    each = " of one repetition" if repetitions > 1 else ""
    caption = f"phases of the command; amounts{each}, energy {facts[0]['method']}"
    rows = tuple(
        (fact["name"], str(fact["count"]), *(_amount(fact[key], scale) for key, scale in _AMOUNTS)) for fact in facts
    )
    missing = dict.fromkeys(fact["missing_reason"] for fact in facts if fact["missing_reason"])
    columns = ("phase", "times", "s", "J", "± (k=2)", "read MB", "written MB")
    sentences = tuple(f"energy missing: {reason}" for reason in missing)
    return RunTable(Table(caption, columns, (False, *[True] * 6), rows), sentences)


_AMOUNTS = (("duration_s", 1), ("energy_j", 1), ("uncertainty_k2_j", 1), ("read_bytes", 1e6), ("write_bytes", 1e6))


def _amount(amount: float | None, scale: float) -> str:
    return "missing" if amount is None else plain(amount / scale, 4)


def _shown(r: ResponseValue | None) -> str:
    if r is None or r.value is None or r.uncertainty_k2 is None:
        return "missing"
    return plus_minus(r.value, r.uncertainty_k2)
