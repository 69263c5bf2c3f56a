"""One test over all groups at once, beside the table of variance: Welch's or Kruskal and Wallis's."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Omnibus:
    """name: for people. df2: None for a chi-squared statistic. effect_name: omega2 or epsilon2, not clamped at 0."""

    name: str
    statistic: float
    df1: float
    df2: float | None
    p: float
    effect_name: str
    effect: float

    def to_json(self) -> dict[str, object]:
        """All fields; None is null."""
        return {
            "name": self.name,
            "statistic": self.statistic,
            "df1": self.df1,
            "df2": self.df2,
            "p": self.p,
            self.effect_name: self.effect,
        }
