"""edgejoule: measure, choose and run databases by the energy they cost.

`open_store` reads results into data frames. It is imported when it is used: its packages take a second.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from edgejoule.version import __version__

if TYPE_CHECKING:
    from edgejoule.api import open_store

__all__ = ["__version__", "open_store"]


def __getattr__(name: str) -> Any:
    if name != "open_store":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from edgejoule.api import open_store

    return open_store
