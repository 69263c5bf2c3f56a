"""The test that an experiment declares before its data. The data never change it."""

from __future__ import annotations

from enum import StrEnum


class DeclaredTest(StrEnum):
    """TUKEY: one error for all groups. GAMES_HOWELL: a variance per group. KRUSKAL_DUNN_HOLM: compares ranks."""

    TUKEY = "tukey"
    GAMES_HOWELL = "games-howell"
    KRUSKAL_DUNN_HOLM = "kruskal-dunn-holm"

    @property
    def display_name(self) -> str:
        """The test's display name."""
        return {
            DeclaredTest.TUKEY: "Tukey-Kramer",
            DeclaredTest.GAMES_HOWELL: "Games-Howell",
            DeclaredTest.KRUSKAL_DUNN_HOLM: "Dunn, adjusted by Holm",
        }[self]
