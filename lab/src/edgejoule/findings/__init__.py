"""What an experiment found: numbers and sentences, from the store. No HTML, no colours."""

from edgejoule.findings.find import find
from edgejoule.findings.model import (
    Cell,
    Contrast,
    DatabaseFacts,
    Findings,
    Part,
    Progress,
    Ranking,
    ResponseFinding,
    RunFacts,
    Statement,
)

__all__ = [
    "Cell",
    "Contrast",
    "DatabaseFacts",
    "Findings",
    "Part",
    "Progress",
    "Ranking",
    "ResponseFinding",
    "RunFacts",
    "Statement",
    "find",
]
