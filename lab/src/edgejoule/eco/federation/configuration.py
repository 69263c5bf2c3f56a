"""The files that ecod, nats-server and the preload library read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from edgejoule.eco.federation.keys import Keys
from edgejoule.eco.federation.server import FederationServer

Value = str | bool | int | float | Sequence[str]


@dataclass(frozen=True)
class ServerPlace:
    """Of a server: its folder, addresses and keys. cgroup: folder of its CPU use, for ecod's telemetry."""

    folder: Path
    host: str
    worker_port: int
    interface: str
    cgroup: Path
    keys: Keys | None

    @property
    def node_socket(self) -> Path:
        """Of its applications."""
        return self.folder / "node.sock"

    @property
    def control_socket(self) -> Path:
        """Of ecoctl."""
        return self.folder / "control.sock"


def toml(tables: Mapping[str, Mapping[str, Value]]) -> str:
    """The table "" comes first, without a head."""
    lines = []
    for name, table in tables.items():
        lines += [f"[{name}]"] if name else []
        lines += [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in table.items()]
    return "\n".join(lines) + "\n"


def ecod(
    server: FederationServer, place: ServerPlace, federation: Mapping[str, Value], policy: Mapping[str, Value]
) -> str:
    """ecod.toml."""
    return toml(
        {
            "": {
                "name": server.name,
                "node_socket": str(place.node_socket),
                "control_socket": str(place.control_socket),
                "state_directory": str(place.folder / "state"),
            },
            "tls": tls(place.keys),
            "federation": federation,
            "policy": policy,
            "telemetry": {
                "network_interface": place.interface,
                "cgroup": str(place.cgroup),
                "link_mbit_s": server.link_mbit_s,
            },
            "power": {
                "busy_core_w": server.busy_core_w,
                "idle_w": server.idle_w,
                "transfer_j_per_byte": server.transfer_j_per_byte,
                "rapl": False,
            },
            "worker": {
                "listen": f"{place.host}:{place.worker_port}",
                "scratch": str(place.folder / "scratch"),
                "slots": server.slots,
            },
            "metrics": {"listen": "127.0.0.1:0"},
        }
    )


def application(place: ServerPlace, place_timeout_ms: int) -> str:
    """Of the preload library."""
    return toml(
        {"": {"node": f"unix:{place.node_socket}", "place_timeout_ms": place_timeout_ms}, "tls": tls(place.keys)}
    )


def tls(keys: Keys | None) -> dict[str, Value]:
    """The table, empty without keys."""
    return {"ca": str(keys.ca), "certificate": str(keys.certificate), "key": str(keys.key)} if keys else {}


def nats_server(
    name: str, host: str, ports: Sequence[int], routes: Sequence[str], store: Path, keys: Keys | None
) -> str:
    """nats.conf of one of several; ports: of its clients and, in a cluster, of the other servers."""
    secret = []
    if keys:
        files = {"cert_file": keys.certificate, "key_file": keys.key, "ca_file": keys.ca}
        secret = ["tls {", *(f'  {key}: "{file}"' for key, file in files.items()), "  verify: true", "}"]
    lines = [
        f"server_name: {name}",
        f"listen: {host}:{ports[0]}",
        f'jetstream {{ store_dir: "{store}", max_mem: 16MB, max_file: 256MB }}',
        *secret,
    ]
    if len(routes) > 1:
        cluster = ["name: edge", f"listen: {host}:{ports[1]}", f"routes: [{', '.join(routes)}]", *secret]
        lines += ["cluster {", *(f"  {line}" for line in cluster), "}"]
    return "\n".join(lines) + "\n"
