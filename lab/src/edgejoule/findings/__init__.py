"""The results of a stored experiment as numbers and sentences, without HTML and colours."""

from edgejoule.findings.find import find
from edgejoule.findings.model import (
    AnalysisPart,
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
