"""Statistics of an experiment: `analyse` a table, `read_table` a CSV, say the `verdict`."""

from edgejoule.stats.analyse import Analysis, AnalysisBy, Group, Pair, analyse, label_of
from edgejoule.stats.anova import Anova, AnovaRow, SsType, anova
from edgejoule.stats.describe import Summary, describe
from edgejoule.stats.letters import compact_letters, split_letters
from edgejoule.stats.scale import Scale
from edgejoule.stats.table import Table, read_table
from edgejoule.stats.tukey import TukeyPair, tukey
from edgejoule.stats.verdict import verdict

__all__ = [
    "Analysis",
    "AnalysisBy",
    "Anova",
    "AnovaRow",
    "Group",
    "Pair",
    "Scale",
    "SsType",
    "Summary",
    "Table",
    "TukeyPair",
    "analyse",
    "anova",
    "compact_letters",
    "describe",
    "label_of",
    "read_table",
    "split_letters",
    "tukey",
    "verdict",
]
