"""Two keys that exclude each other: the message names both, with their places, and which one to change."""

from __future__ import annotations

from collections.abc import Callable


class Exclusion(str):
    """A complaint about a key that another key excludes. It reads as text without the other's place.

    other: the dotted key. why: the reason and, behind a semicolon, the change.
    """

    other: str
    why: str

    def __new__(cls, other: str, why: str) -> Exclusion:
        """Returns the message."""
        text = super().__new__(cls, f"excludes {_shown(other)}: {why}")
        text.other, text.why = other, why
        return text

    def located(self, place: Callable[[str], str]) -> str:
        """Returns the message with the other's place, which `place` gives for a dotted key."""
        return f"excludes {_shown(self.other)} ({place(self.other)}): {self.why}"


def _shown(key: str) -> str:
    """Removes the number of a rule: when.0.set.threads."""
    return ".".join(part for part in key.split(".") if not part.isdigit())
