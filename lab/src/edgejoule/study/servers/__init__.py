"""Runs a study on a federation: its servers, a meter at each, and the policy that offloads their compactions.

The driver and its database are on the first server. Servers are processes on this machine, each with a share of a core
(edgejoule.eco.federation) and declared watts; or separate machines whose ecods are already running and whose supplies
have meters that this machine reads.
"""

from edgejoule.study.servers.declared import DeclaredPower
from edgejoule.study.servers.home import DriverPlacement, Servers, servers_of
from edgejoule.study.servers.meter import ServersMeter, of_server

__all__ = ["DeclaredPower", "DriverPlacement", "Servers", "ServersMeter", "of_server", "servers_of"]
