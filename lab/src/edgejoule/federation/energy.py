"""Energies of the servers of a federation, modelled: what was used times what is declared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from edgejoule.federation.federation import Federation
from edgejoule.federation.server import Server

METHOD = "modelled"


@dataclass(frozen=True)
class Energy:
    """Of one server over a time. marginal: above idle."""

    cpu_s: float
    busy_j: float
    transfer_j: float
    idle_j: float

    @property
    def marginal_j(self) -> float:
        """Above idle."""
        return self.busy_j + self.transfer_j

    @property
    def total_j(self) -> float:
        """With idle."""
        return self.marginal_j + self.idle_j


def energy_of(server: Server, cpu_s: float, moved_bytes: float, idle_s: float) -> Energy:
    """By the server's declared watts; moved_bytes: that it sent or received for others' compactions, or its own."""
    return Energy(
        cpu_s=cpu_s,
        busy_j=cpu_s * server.busy_core_w,
        transfer_j=moved_bytes * server.transfer_j_per_byte,
        idle_j=idle_s * server.idle_w,
    )


class Meter:
    """Counts from its making on."""

    def __init__(self, federation: Federation) -> None:
        self._federation = federation
        self._cpu_s = {server.name: federation.cpu_s(server.name) for server in federation.servers}

    def read(self, moved_bytes: Mapping[str, float], idle_s: float) -> dict[str, Energy]:
        """By server. moved_bytes: of each, as far as it moved any. idle_s: the time that idle power is counted for."""
        return {
            server.name: energy_of(
                server,
                self._federation.cpu_s(server.name) - self._cpu_s[server.name],
                moved_bytes.get(server.name, 0),
                idle_s,
            )
            for server in self._federation.servers
        }
