"""From readings to joules, with an uncertainty and without silent bridges.

`segments` makes pieces of known power of readings, `integral` sums them over an interval, `baseline` takes the quiet
power off, `renewal` estimates how often a device renews its value, `figures` has the results, `modelled` what a model's
joules can resolve.
"""

from edgejoule.energy.baseline import baseline, interpolated_baseline, net_energy
from edgejoule.energy.figures import Baseline, BudgetLine, Energy, Gap
from edgejoule.energy.integral import GAP_SHARE_MAX, domain_energy, energy
from edgejoule.energy.modelled import comparison_min_ratio
from edgejoule.energy.readings import Readings
from edgejoule.energy.renewal import Renewal
from edgejoule.energy.segments import SegmentSummary, summary_of

__all__ = [
    "GAP_SHARE_MAX",
    "Baseline",
    "BudgetLine",
    "Energy",
    "Gap",
    "Readings",
    "Renewal",
    "SegmentSummary",
    "baseline",
    "comparison_min_ratio",
    "domain_energy",
    "energy",
    "interpolated_baseline",
    "net_energy",
    "summary_of",
]
