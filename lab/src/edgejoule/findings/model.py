"""The data model of findings. Every energy figure carries its method.

A *subject* is compared (analysis.compare, else the database where it is a factor, else the factor with the
largest effect); a *condition* is a combination of the levels of all other factors, within which the subjects are
ranked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from edgejoule.dictionary.responses import RESPONSES, Better
from edgejoule.experiment.model import Level
from edgejoule.findings.level_names import condition_level
from edgejoule.stats import AnalysisResult
from edgejoule.stats.regression import Regression

Levels = Mapping[str, Level]


@dataclass(frozen=True)
class Cell:
    """One response in one cell of the design.

    n: runs with a value. mean, ci: from the analysis, in the response's unit (geometric on the log scale); ci is None
    without an error term. letters: None if no comparison was possible. uncertainty_k2: the meter's or
    model's half width of a single run, the largest of the cell. missing, failed: reasons, one per run. open: runs not
    done yet. not_here: runs left out, whose optional database is not here. not_sustained: the
    sentence about a missed rate; an analysed response that means
    something only at that rate then has no mean.
    """

    levels: Levels
    planned: int
    n: int
    mean: float | None
    ci: tuple[float, float] | None
    median: float | None
    minimum: float | None
    maximum: float | None
    letters: str | None
    uncertainty_k2: float | None
    missing: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    open: int = 0
    not_here: int = 0
    not_sustained: str | None = None

    @property
    def applies(self) -> bool:
        """False if the runs finished without such a response, such as an update latency without updates."""
        return bool(self.n or self.missing or self.failed or self.open or self.not_sustained)

    @property
    def is_absent(self) -> bool:
        """True if every run is left out because its database is not here."""
        return 0 < self.not_here == self.planned


@dataclass(frozen=True)
class Contrast:
    """The best subject of a condition compared with another one.

    ratio: how many times better the best is; >= 1, or None if values are not positive. ci: its simultaneous interval
    or None. difference, difference_ci: other - best on the raw scale. differs: the result of the test; None if there is
    no test. model_bound: the ratio is significant but below the model's resolution. equivalent: equivalence within the
    declared margin is shown; None without a margin. exact: both are counts that are constant in their cells, compared
    as they are, without a test.
    """

    best: Level
    other: Level
    ratio: float | None
    ci: tuple[float, float] | None
    difference: float | None
    difference_ci: tuple[float, float] | None
    p: float | None
    differs: bool | None
    model_bound: bool
    equivalent: bool | None = None
    exact: bool = False


@dataclass(frozen=True)
class Ranking:
    """The subjects of one condition, the best first. contrasts: same order, without the best."""

    condition: Levels
    cells: tuple[Cell, ...]
    contrasts: tuple[Contrast, ...]
    without_value: tuple[Cell, ...]

    @property
    def tied(self) -> tuple[Contrast, ...]:
        """Returns those that cannot be distinguished from the best."""
        return tuple(c for c in self.contrasts if c.differs is False)

    @property
    def behind(self) -> tuple[Contrast, ...]:
        """Subjects that are significantly worse than the best."""
        return tuple(c for c in self.contrasts if c.differs)

    @property
    def equal(self) -> bool:
        """Whether all subjects are equivalent to the best within the declared margin."""
        return bool(self.contrasts) and all(c.equivalent for c in self.contrasts)

    @property
    def exact(self) -> bool:
        """Whether constant counts are compared."""
        return bool(self.contrasts) and all(c.exact for c in self.contrasts)

    @property
    def decided(self) -> bool:
        """Whether one subject is significantly better than every other."""
        return bool(self.contrasts) and all(c.differs for c in self.contrasts)


@dataclass(frozen=True)
class AnalysisPart:
    """One analysis of variance.

    where: the level of analysis.by that it covers; empty for the whole experiment. analysis: None with a reason.
    margins: factor -> comparison of its marginal means; only factors whose marginal means exist.
    """

    where: Levels
    analysis: AnalysisResult | None
    reason: str | None
    margins: Mapping[str, AnalysisResult] = field(default_factory=dict)


@dataclass(frozen=True)
class ResponseFinding:
    """All findings on one response. method: measured, counted, modelled or timed. scale: log or raw.

    min_ratio: the smallest ratio that the model resolves; None if the response is not modelled, the ratio is
    unknown, or a value is not positive.
    unusable: the reason why its values are shown but not compared; None if they are compared.
    """

    name: str
    label: str
    unit: str
    better: Better
    is_energy: bool
    method: str
    scale: str
    alpha: float
    min_ratio: float | None
    parts: tuple[AnalysisPart, ...]
    cells: tuple[Cell, ...]
    rankings: tuple[Ranking, ...]
    notes: tuple[str, ...]
    unusable: str | None = None

    @property
    def exact(self) -> bool:
        """Whether every comparison is of constant counts."""
        compared = [k for k in self.rankings if k.contrasts]
        return bool(compared) and all(k.exact for k in compared)

    @property
    def title(self) -> str:
        """The label, followed by the method for energy."""
        return f"{self.label}, {self.method}" if self.is_energy else self.label


@dataclass(frozen=True)
class AnswerRow:
    """The answer in one condition. name: of the condition; empty if the experiment has one condition. best: the levels
    that may be the best, the best first; empty if none is shown to be worse. verdict: at most 12 words; empty for the
    only cell of an experiment.
    """

    name: str
    ranking: Ranking
    best: tuple[Level, ...]
    verdict: str


@dataclass(frozen=True)
class Answer:
    """The first screen. headline: at most 25 words. response: the one that the rows rank; None if no run has a value.
    rows: in the experiment's order of conditions. footnote: method, what it does not resolve, runs and duration.
    """

    headline: str
    response: ResponseFinding | None
    rows: tuple[AnswerRow, ...]
    footnote: str

    def to_json(self) -> dict[str, Any]:
        """Returns JSON-ready dicts. The rankings are those of the response."""
        return {
            "headline": self.headline,
            "response": self.response.name if self.response else None,
            "method": self.response.method if self.response else None,
            "rows": [{"name": r.name, "best": list(r.best), "verdict": r.verdict} for r in self.rows],
            "footnote": self.footnote,
        }


@dataclass(frozen=True)
class DatabaseFacts:
    """Facts that a database reported in its runs. options: values that differ between runs are joined by "or"."""

    name: str
    product: str
    versions: tuple[str, ...]
    options: Mapping[str, str]
    durability: str
    how: str


@dataclass(frozen=True)
class LoadFacts:
    """A load that one or more runs used. levels: the factor levels that those runs share. active_s: until the last
    insert. settled_s: until background work ended. records: None if a command loaded them uncounted.
    """

    levels: Levels
    runs: int
    records: int | None
    active_s: float
    settled_s: float


@dataclass(frozen=True)
class RunFacts:
    """A run in the table of all runs. values: response -> (value, reason if missing). circumstances: as sentences."""

    number: int
    block: int
    levels: Levels
    status: str
    cause: str | None
    flags: tuple[str, ...]
    started_realtime_ns: int | None
    values: Mapping[str, tuple[float | None, str | None]]
    circumstances: str = ""


@dataclass(frozen=True)
class Progress:
    """Numbers of runs by status."""

    total: int
    finished: int
    failed: int
    planned: int
    flagged: int
    not_here: int = 0


@dataclass(frozen=True)
class Statement:
    """The verdict on one condition, or on one response if there are many conditions. lead: its title."""

    lead: str
    text: str


@dataclass(frozen=True)
class Effect:
    """The effect of a factor or an interaction on the primary response, as a sentence.

    where: the part of the experiment that was analysed. share: eta^2 in that part; None without a test.
    """

    factors: tuple[str, ...]
    where: Levels
    share: float | None
    text: str

    @property
    def name(self) -> str:
        """The factors, followed by the part of the experiment if there are several parts."""
        return ", ".join([" × ".join(self.factors), *(condition_level(*at) for at in self.where.items())])

    @property
    def share_text(self) -> str:
        """The share of the variation as text; empty without a test."""
        if self.share is None:
            return ""
        percent = "below 1" if self.share < 0.01 else "above 99" if self.share > 0.99 else f"{100 * self.share:.0f}"
        return f"{percent} % of the variation"

    @property
    def lead(self) -> str:
        """The sentence's title in a terminal."""
        return f"{self.name} ({self.share_text})" if self.share is not None else self.name


@dataclass(frozen=True)
class EnergyLines:
    """regression: lines of energy_j on settled_s; None without lines, with the reason. method: of the energy."""

    regression: Regression | None
    method: str
    reason: str | None

    def to_json(self) -> dict[str, object]:
        """Returns JSON-ready dicts."""
        return {
            "method": self.method,
            "reason": self.reason,
            "unit": {"slope": "W", "intercept": RESPONSES["energy_j"].unit},
            "regression": self.regression.to_json() if self.regression else None,
        }


@dataclass(frozen=True)
class Findings:
    """The findings of one experiment.

    answer: the first screen. effects: of each factor and interaction on the response that decides, the largest first.
    verdict: what the headline rests on, condition by condition. energy_method: None where no run has energy.
    others: responses that are shown but not analysed. lines: energy against time; None where no run has energy.
    """

    experiment: str
    experiment_id: int
    question: str
    subject: str
    condition_factors: tuple[str, ...]
    alpha: float
    energy_method: str | None
    energy_words: str
    energy_min_ratio: float | None
    answer: Answer
    effects: tuple[Effect, ...]
    verdict: tuple[Statement, ...]
    caveats: tuple[str, ...]
    progress: Progress
    responses: tuple[ResponseFinding, ...]
    others: tuple[ResponseFinding, ...]
    databases: tuple[DatabaseFacts, ...]
    runs: tuple[RunFacts, ...]
    meters: tuple[Mapping[str, Any], ...] = field(default=())
    lines: EnergyLines | None = None
    loads: tuple[LoadFacts, ...] = ()

    @property
    def headline(self) -> str:
        """The verdict in at most 25 words."""
        return self.answer.headline

    def response(self, name: str) -> ResponseFinding | None:
        """Returns a response by its name, analysed or not; None if no run has it."""
        return next((r for r in (*self.responses, *self.others) if r.name == name), None)

    def to_json(self) -> dict[str, Any]:
        """Returns JSON-ready dicts. A missing figure is null; every response carries unit and method."""
        return {
            "experiment": {"id": self.experiment_id, "name": self.experiment, "question": self.question},
            "energy": {
                "method": self.energy_method,
                "words": self.energy_words,
                "min_ratio": self.energy_min_ratio,
            },
            "headline": self.headline,
            "answer": self.answer.to_json(),
            "effects": [asdict(e) for e in self.effects],
            "verdict": [asdict(s) for s in self.verdict],
            "caveats": list(self.caveats),
            "subject": self.subject,
            "condition_factors": list(self.condition_factors),
            "alpha": self.alpha,
            "runs": asdict(self.progress),
            "responses": [_response_json(r) for r in self.responses],
            "others": [_response_json(r) for r in self.others],
            "databases": [asdict(d) for d in self.databases],
            "meters": [dict(m) for m in self.meters],
            "loads": [asdict(load) for load in self.loads],
            "energy_against_time": self.lines.to_json() if self.lines else None,
        }


def _response_json(r: ResponseFinding) -> dict[str, Any]:
    return {
        "response": r.name,
        "label": r.label,
        "unit": r.unit,
        "method": r.method,
        "better": r.better.value,
        "scale": r.scale,
        "min_ratio": r.min_ratio,
        "notes": list(r.notes),
        "cells": [asdict(c) for c in r.cells],
        "rankings": [
            {
                "condition": dict(k.condition),
                "best": dict(k.cells[0].levels) if k.cells else None,
                "decided": k.decided,
                "order": [dict(c.levels) for c in k.cells],
                "contrasts": [asdict(c) for c in k.contrasts],
            }
            for k in r.rankings
        ],
        "analyses": [
            {"where": dict(p.where), "reason": p.reason, "analysis": p.analysis.to_json() if p.analysis else None}
            for p in r.parts
        ],
    }
