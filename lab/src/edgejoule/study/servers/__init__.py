"""A study on a federation: its servers, a meter at each, and the policy by which their compactions are offloaded.

The driver and its database are on the first server. Servers are processes on this machine, each with a share of a core
(edgejoule.eco.federation), whose watts are declared; or machines of their own, whose ecods run already and whose
supplies have meters that this machine reads.
"""

from edgejoule.study.servers.declared import DeclaredPower
from edgejoule.study.servers.home import Home, Servers, servers_of
from edgejoule.study.servers.meter import ServersMeter, of_server

__all__ = ["DeclaredPower", "Home", "Servers", "ServersMeter", "of_server", "servers_of"]
