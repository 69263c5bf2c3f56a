"""The network between the servers of a federation, as settings of a run: rate, delay, certificates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from edgejoule.dictionary.properties import NETWORK, Level


@dataclass(frozen=True)
class Link:
    """Of each server, in each direction. rate_mbit_s: 0 for as fast as the kernel copies. encrypted: by mutual TLS."""

    rate_mbit_s: float = 0.0
    delay_ms: float = 0.0
    encrypted: bool = True


def link_of(settings: Mapping[str, Level]) -> Link | None:
    """Returns the link that the settings describe, or None for loopback (the default)."""
    said = {name.removeprefix("network."): settings[name] for name in NETWORK if name in settings}
    if not said:
        return None
    return Link(
        float(said.get("rate_mbit_s", 0.0)),
        float(said.get("delay_ms", 0.0)),
        encrypted=bool(said.get("encrypted", True)),
    )
