"""The result of an omnibus test beside the ANOVA: Welch's F or Kruskal-Wallis."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Omnibus:
    """An omnibus test. df2: None for a chi-squared statistic. effect_name: omega2 or epsilon2, not clamped at 0."""

    name: str
    statistic: float
    df1: float
    df2: float | None
    p: float
    effect_name: str
    effect: float

    def to_json(self) -> dict[str, object]:
        """Returns all fields; the effect is named by effect_name."""
        return {
            "name": self.name,
            "statistic": self.statistic,
            "df1": self.df1,
            "df2": self.df2,
            "p": self.p,
            self.effect_name: self.effect,
        }
