"""The findings of an experiment: numbers and sentences, from the store. No HTML, no colours."""

from edgejoule.findings.find import find
from edgejoule.findings.model import (
    AnalysisPart,
    Answer,
    AnswerRow,
    Cell,
    Contrast,
    DatabaseFacts,
    Findings,
    Progress,
    Ranking,
    ResponseFinding,
    RunFacts,
    Statement,
)

__all__ = [
    "AnalysisPart",
    "Answer",
    "AnswerRow",
    "Cell",
    "Contrast",
    "DatabaseFacts",
    "Findings",
    "Progress",
    "Ranking",
    "ResponseFinding",
    "RunFacts",
    "Statement",
    "find",
]
