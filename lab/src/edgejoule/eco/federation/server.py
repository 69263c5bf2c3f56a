"""What a server of an emulated federation is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FederationServer:
    """A server with one core that is `share` times as fast as a core of this machine.

    busy_w: watts above idle while its core is busy; declared, as idle_w and transfer_j_per_byte. slots: jobs of other
    servers that it runs at a time. link_mbit_s: the link rate in its configuration.
    """

    name: str
    share: float
    busy_w: float
    idle_w: float
    slots: int = 1
    link_mbit_s: float = 10_000
    transfer_j_per_byte: float = 5e-9

    @property
    def busy_core_w(self) -> float:
        """Watts of a core of this machine in use for it: of a second of CPU time that it takes, joules."""
        return self.busy_w / self.share
