"""Statistics of an experiment. `read_table` reads a CSV file, `analyse` analyses a table, `verdict` summarises."""

from edgejoule.stats.analyse import analyse
from edgejoule.stats.anova import Anova, AnovaRow, SsType, anova
from edgejoule.stats.declared import DeclaredTest
from edgejoule.stats.describe import Summary, describe
from edgejoule.stats.letters import compact_letters, split_letters
from edgejoule.stats.model import AnalysisBy, AnalysisResult, Best, Group, LookTaken, Pair, Precision, label_of
from edgejoule.stats.precision import RunsNeeded, Stein, blocks_within, runs_needed, stein, stein_pooled
from edgejoule.stats.regression import Line, LineTest, Regression, regression
from edgejoule.stats.scale import Scale
from edgejoule.stats.spending import Looks, Spending, looks
from edgejoule.stats.table import CsvTable, join, read_table
from edgejoule.stats.verdict import verdict

__all__ = [
    "AnalysisBy",
    "AnalysisResult",
    "Anova",
    "AnovaRow",
    "Best",
    "CsvTable",
    "DeclaredTest",
    "Group",
    "Line",
    "LineTest",
    "LookTaken",
    "Looks",
    "Pair",
    "Precision",
    "Regression",
    "RunsNeeded",
    "Scale",
    "Spending",
    "SsType",
    "Stein",
    "Summary",
    "analyse",
    "anova",
    "blocks_within",
    "compact_letters",
    "describe",
    "join",
    "label_of",
    "looks",
    "read_table",
    "regression",
    "runs_needed",
    "split_letters",
    "stein",
    "stein_pooled",
    "verdict",
]
