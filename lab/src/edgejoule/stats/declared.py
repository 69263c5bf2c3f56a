"""The test that an experiment declares before its data; nothing in the data changes it."""

from __future__ import annotations

from enum import StrEnum


class DeclaredTest(StrEnum):
    """TUKEY: one error for all. GAMES_HOWELL: each group its own variance. KRUSKAL_DUNN_HOLM: ranks, not values."""

    TUKEY = "tukey"
    GAMES_HOWELL = "games-howell"
    KRUSKAL_DUNN_HOLM = "kruskal-dunn-holm"

    @property
    def words(self) -> str:
        """For people."""
        return {
            DeclaredTest.TUKEY: "Tukey-Kramer",
            DeclaredTest.GAMES_HOWELL: "Games-Howell",
            DeclaredTest.KRUSKAL_DUNN_HOLM: "Dunn, adjusted by Holm",
        }[self]
