"""Eco federations on this machine: servers as processes, each with a share of a core, and programs that run on them.

    low = FederationServer("low", share=0.1, busy_w=1.5, idle_w=8)
    servers = [low, FederationServer("high", share=0.4, busy_w=7, idle_w=30)]
    with Federation(servers, Programs.of(Path("build")), folder) as federation:
        federation.set_policy("eco")
        program = federation.start("low", ["db_bench", ...], log, federation.with_preload("low"))

What a server is made of is two backends, and each can be another one:

- shares (`shares.py`): limits a server's processes to its share of a core, and counts their CPU time. `Duty`:
  SIGSTOP and SIGCONT by a token bucket, without root; `CpuGroups`: cgroups of version 1 or 2, as root.
- networks (`networks.py`): the address that a server listens on, and the argv prefix that puts a command into the
  server's network. `Loopback`: all on 127.0.0.1. A network of namespaces gives each server its own address and
  `["ip", "netns", "exec", NAME]` as the prefix, and makes and removes what it needs between `__enter__` and `__exit__`;
  beyond loopback ecod demands certificates, so it goes with certificates. Sockets of applications and of ecoctl are
  files and work across namespaces.

Everything is stopped by its pid when a federation ends, however it ends; processes also die with the program that made
them.
"""

from edgejoule.eco.federation.control import Control
from edgejoule.eco.federation.federation import Federation, Programs
from edgejoule.eco.federation.keys import Keys, make_keys
from edgejoule.eco.federation.networks import Loopback, Network
from edgejoule.eco.federation.server import FederationServer
from edgejoule.eco.federation.shares import CpuGroups, Duty, Shares, Unlimited, best_shares

__all__ = [
    "Control",
    "CpuGroups",
    "Duty",
    "Federation",
    "FederationServer",
    "Keys",
    "Loopback",
    "Network",
    "Programs",
    "Shares",
    "Unlimited",
    "best_shares",
    "make_keys",
]
