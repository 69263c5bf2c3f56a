"""The report: findings and the store's traces and histograms as one self-contained HTML file."""

from edgejoule.report.page import build

__all__ = ["build"]
