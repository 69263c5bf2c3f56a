"""Databases that run as server processes: started for a study on this machine, configured, watched and stopped."""

from __future__ import annotations

from edgejoule.database_servers.cassandra import Cassandra
from edgejoule.database_servers.hbase import HBase
from edgejoule.database_servers.mongodb import MongoDB
from edgejoule.database_servers.postgres import Postgres
from edgejoule.database_servers.redis import Redis
from edgejoule.database_servers.server import DatabaseServer, Installation

#: By the name that a study's `database` has.
SERVERS: dict[str, type[DatabaseServer]] = {kind.name: kind for kind in (Redis, Postgres, MongoDB, Cassandra, HBase)}

#: Names of databases that studies had once, with what replaces them. Their specs open, and their stores report.
REMOVED: dict[str, str] = {"redis-java": 'write database = "redis": the driver\'s own client drives it'}

__all__ = ["REMOVED", "SERVERS", "DatabaseServer", "Installation"]
