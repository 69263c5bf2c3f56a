"""Apache Cassandra: one to nine nodes on this machine, each a Java virtual machine on its own loopback address."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar

from edgejoule.database_servers import jvm
from edgejoule.database_servers.cql import CqlError, Value, connected
from edgejoule.database_servers.options import Option, json_value, passed_through, whole
from edgejoule.database_servers.server import (
    DatabaseServer,
    Installation,
    Node,
    NotReadyError,
    OwnCache,
    Settled,
    Work,
    free_ports,
    is_free,
    lines_of,
)
from edgejoule.errors import UsageError
from edgejoule.machine.page_cache import files_below

NODES_MAX = 9
_TOKENS = 16  # per node
_POOLS = ("CompactionExecutor", "MemtableFlushWriter", "MemtablePostFlush", "ValidationExecutor")
_OWN_KEYSPACES = ("system", "system_auth", "system_distributed", "system_schema", "system_traces")
_CATALOG_BYTES_MAX = 64 << 10  # of the key cache: keys of its own tables
_TIMEOUTS = (
    "read_request_timeout", "range_request_timeout", "write_request_timeout", "counter_write_request_timeout",
    "truncate_request_timeout", "request_timeout", "cas_contention_timeout",
)  # fmt: skip
_LOG = """<configuration>
<appender name="out" class="ch.qos.logback.core.ConsoleAppender"><encoder>
<pattern>%d{yyyy-MM-dd'T'HH:mm:ss.SSS, UTC} %-5level [%thread] %logger{0} %msg%n</pattern></encoder></appender>
<root level="INFO"><appender-ref ref="out"/></root>
</configuration>
"""
_COMPACTED = re.compile(r"^(\S+) .* Compacted \(.*? in ([\d,]+)ms\.")
_FLUSHED = re.compile(r"^(\S+) .* Completed flushing (\S+) \(([\d.]+)(KiB|MiB|GiB|B| bytes)")
_UNITS = {"B": 1, " bytes": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


class Cassandra(DatabaseServer):
    """Node i listens on 127.0.0.i; all have the same share of the ring."""

    name = "cassandra"
    summary = "Apache Cassandra: log-structured merge trees, replicated on nodes without a master"
    options: ClassVar[Mapping[str, Option]] = {
        "nodes": Option("nodes on this machine, 1 to 9", "1"),
        "heap_mb": Option("heap of a node", "512"),
        "new_mb": Option("young generation of the heap; empty: as Java has it"),
        "timeout_ms": Option("of a request, at the coordinator", "10000"),
        "commitlog_sync": Option(
            "periodic: acknowledged before it is synced; batch: after", "periodic", ("periodic", "batch")
        ),
        "commitlog_sync_period_ms": Option("periodic: time between two syncs", "10000"),
        "preset": Option(
            "1gb-board: heap 430 MB, new 142 MB, timeouts 60 s, for boards with 1 GB", "", ("", "1gb-board")
        ),
    }
    presets: ClassVar[Mapping[str, Mapping[str, str]]] = {
        "1gb-board": {"heap_mb": "430", "new_mb": "142", "timeout_ms": "60000"},
    }
    durability_options: ClassVar[Mapping[str, Mapping[str, str]]] = {"power": {"commitlog_sync": "batch"}}
    promise_broken_by: ClassVar[Mapping[str, Mapping[str, Sequence[str]]]] = {
        "power": dict.fromkeys(("commitlog_sync", "conf.commitlog_sync"), ("periodic",)),
    }
    cold_options: ClassVar[Mapping[str, str]] = {"conf.disk_access_mode": "standard"}  # mapped pages cannot be dropped
    replication_option = "replication_factor"
    connection_options = ("hosts", "port", "jmxports")
    start_s = 180.0
    stop_s = 60.0

    @classmethod
    def installation(cls) -> Installation:
        """Checks for the jars and a Java."""
        return jvm.installation("cassandra", "cassandra-all")

    def check(self) -> None:
        """Raises UsageError for a wrong number of nodes or a wrong size."""
        for name in ("nodes", "heap_mb", "timeout_ms", "commitlog_sync_period_ms"):
            whole(self.name, self.settings, name)
        if self._count > NODES_MAX:
            raise UsageError(f"cassandra.nodes: at most {NODES_MAX}, got {self._count}")

    def copies_max(self) -> int:
        """Returns the number of nodes: each holds one copy."""
        return self._count

    @property
    def _count(self) -> int:
        return whole(self.name, self.settings, "nodes")

    @property
    def _hosts(self) -> list[str]:
        return [f"127.0.0.{number + 1}" for number in range(self._count)]

    def choose_ports(self) -> dict[str, int]:
        """Returns ports that are free on all nodes' addresses, if possible those that the data were created with."""
        file = self.data / "ports.json"
        if file.exists():
            kept: dict[str, int] = json.loads(file.read_text())
            if all(is_free(host, port) for host in self._hosts for port in kept.values()):
                return kept
        names = ["native", "storage", *(f"jmx{number + 1}" for number in range(self._count))]
        for _ in range(50):
            ports = dict(zip(names, free_ports(len(names)), strict=True))
            if all(is_free(host, port) for host in self._hosts for port in ports.values()):
                break
        file.write_text(json.dumps(ports))
        return ports

    def prepare(self) -> None:
        """Writes each node's configuration."""
        (self.folder / "logback.xml").write_text(_LOG)
        for number, host in enumerate(self._hosts):
            data = self.data / f"node{number + 1}"
            data.mkdir(exist_ok=True)
            # JSON is valid YAML.
            self._yaml(number).write_text(json.dumps(self._configuration(number, host, data), indent=1))

    def _yaml(self, number: int) -> Path:
        return self.folder / f"node{number + 1}.yaml"

    def _configuration(self, number: int, host: str, data: Path) -> dict[str, object]:
        every = 2**64 // (_TOKENS * self._count)
        tokens = [-(2**63) + (i * self._count + number) * every for i in range(_TOKENS)]
        sync = self.settings["commitlog_sync"]
        period = {"commitlog_sync_period": f"{self.settings['commitlog_sync_period_ms']}ms"}
        return {
            "cluster_name": "edgejoule",
            "num_tokens": _TOKENS,
            "initial_token": ",".join(map(str, tokens)),
            "partitioner": "org.apache.cassandra.dht.Murmur3Partitioner",
            "data_file_directories": [str(data / "data")],
            "commitlog_directory": str(data / "commitlog"),
            "saved_caches_directory": str(data / "caches"),
            "hints_directory": str(data / "hints"),
            "cdc_raw_directory": str(data / "cdc"),
            "commitlog_sync": sync,
            **(period if sync == "periodic" else {}),
            "endpoint_snitch": "SimpleSnitch",
            "listen_address": host,
            "rpc_address": host,
            "native_transport_port": self.ports["native"],
            "storage_port": self.ports["storage"],
            "start_native_transport": True,
            "auto_bootstrap": False,
            "auto_snapshot": False,
            "seed_provider": [
                {
                    "class_name": "org.apache.cassandra.locator.SimpleSeedProvider",
                    "parameters": [{"seeds": f"{self._hosts[0]}:{self.ports['storage']}"}],
                }
            ],
            **dict.fromkeys(_TIMEOUTS, f"{self.settings['timeout_ms']}ms"),
            **{name: json_value(value) for name, value in passed_through(self.settings).items()},
        }

    def nodes(self) -> Sequence[Node]:
        """Returns the nodes, the seed first."""
        return [self._node(number) for number in range(self._count)]

    def _node(self, number: int) -> Node:
        lib = jvm.jars("cassandra")
        heap = [f"-Xms{self.settings['heap_mb']}m", f"-Xmx{self.settings['heap_mb']}m"]
        heap += [f"-Xmn{self.settings['new_mb']}m"] if self.settings["new_mb"] else []
        data = self.data / f"node{number + 1}"
        properties = {
            "cassandra.config": self._yaml(number).as_uri(),
            "cassandra.storagedir": data,
            "cassandra.jmx.local.port": self.ports[f"jmx{number + 1}"],
            # The seed waits for no other node. The others fail if it does not answer within twice this delay.
            "cassandra.ring_delay_ms": 30_000 if number else 3000,
            "cassandra.skip_wait_for_gossip_to_settle": 0,
            "cassandra-foreground": "yes",
            "jdk.attach.allowAttachSelf": "true",
            "logback.configurationFile": (self.folder / "logback.xml").as_uri(),
            "java.io.tmpdir": data,
        }
        flags = [f"-javaagent:{next(lib.glob('jamm-*.jar'), 'jamm.jar')}", *heap, "-XX:+ExitOnOutOfMemoryError"]
        flags += [f"-D{name}={value}" for name, value in properties.items()]
        argv = jvm.java([f"{lib}/*"], *flags, "org.apache.cassandra.service.CassandraDaemon")
        return Node(f"node{number + 1}", argv)

    def start_nodes(self) -> None:
        """Starts one node after another: two that join at the same time may refuse each other."""
        for number, node in enumerate(self.nodes()):
            self.start_node(node)
            if number < self._count - 1:
                self.await_answer(lambda number=number: self._version_of(number))  # type: ignore[misc]

    @classmethod
    def may_miss(cls, options: Mapping[str, object]) -> str | None:
        """Compares the consistency levels of reads and writes with the number of copies."""
        copies = int(str(options.get("replication_factor") or 1))
        both = str(options.get("consistency") or "ONE")
        reads, writes = (
            _answers(str(options.get(f"{what}consistencylevel") or both), copies) for what in ("read", "write")
        )
        if reads + writes > copies:
            return None
        return f"of {copies} copies a write waits for {writes} and a read for {reads}, which may not have it yet"

    def ask_version(self) -> str:
        """Returns the version. Raises NotReadyError until every node answers and sees all others."""
        versions = [self._version_of(number) for number in range(self._count)]
        for number in range(self._count):
            seen = self._ask(number, "SELECT peer FROM system.peers_v2")
            if len(seen) != self._count - 1:
                raise NotReadyError(f"node {number + 1} sees {len(seen)} of {self._count - 1} other nodes")
        return versions[0]

    def _version_of(self, number: int) -> str:
        return str(self._ask(number, "SELECT release_version FROM system.local")[0]["release_version"])

    def connection(self) -> Mapping[str, object]:
        """Returns hosts, port, and the ports that make its nodes flush."""
        jmx = ",".join(str(self.ports[f"jmx{number + 1}"]) for number in range(self._count))
        return {"hosts": ",".join(self._hosts), "port": self.ports["native"], "jmxports": jmx}

    def durability(self) -> str:
        """Describes how the commit log is synced."""
        if self.settings["commitlog_sync"] == "batch":
            return "commitlog_sync batch: acknowledged when the commit log is synced"
        return f"commitlog_sync periodic: synced every {self.settings['commitlog_sync_period_ms']} ms"

    def settled(self) -> Settled:
        """Reports whether any node has a flush or a compaction under way or waiting."""
        for number in range(self._count):
            for row in self._ask(number, "SELECT name, active_tasks, pending_tasks FROM system_views.thread_pools"):
                left = int(row["active_tasks"] or 0) + int(row["pending_tasks"] or 0)
                if row["name"] in _POOLS and left:
                    return Settled(False, f"node {number + 1}: {left} tasks of {row['name']}")
            if tasks := self._ask(number, "SELECT kind FROM system_views.sstable_tasks"):
                return Settled(False, f"node {number + 1}: {len(tasks)} {tasks[0]['kind']!s} tasks")
        return Settled(True, "system_views: no flush, no compaction under way or waiting on any node")

    def operations(self) -> Mapping[str, int]:
        """Returns the operations on the keyspace ycsb, counted by the nodes that coordinated them."""
        counts = {}
        for what in ("read", "scan", "write"):
            query = f"SELECT keyspace_name, count FROM system_views.coordinator_{what}_latency"
            rows = [row for number in range(self._count) for row in self._ask(number, query)]
            counts[what] = sum(int(row["count"] or 0) for row in rows if row["keyspace_name"] == "ycsb")
        return counts

    def table_files(self) -> Sequence[Path]:
        """Returns the SSTables of all keyspaces other than its own."""
        keyspaces = [folder for folder in self.data.glob("node*/data/*") if folder.name not in _OWN_KEYSPACES]
        return [path for keyspace in keyspaces for path in files_below(keyspace)]

    def own_cache(self) -> OwnCache:
        """Sums the caches of chunks, keys, rows and counters of all nodes."""
        query = "SELECT name, size_bytes FROM system_views.caches"
        rows = [row for number in range(self._count) for row in self._ask(number, query)]
        names = ", ".join(sorted({str(row["name"]) for row in rows}))
        cached_bytes = sum(int(row["size_bytes"] or 0) for row in rows)
        return OwnCache(cached_bytes, f"system_views.caches: {names}", _CATALOG_BYTES_MAX)

    def work(self) -> Sequence[Work]:
        """Returns flushes and compactions, from the logs."""
        events = []
        for number in range(self._count):
            for line in lines_of(self.log_of(f"node{number + 1}")):
                if compacted := _COMPACTED.match(line):
                    took = int(compacted[2].replace(",", "")) * 1_000_000
                    events.append(Work("compaction", _realtime_ns(compacted[1]) - took, took, f"node {number + 1}"))
                elif flushed := _FLUSHED.match(line):
                    size = int(float(flushed[3]) * _UNITS[flushed[4]])
                    at = _realtime_ns(flushed[1])
                    events.append(Work("flush", at, None, f"node {number + 1}", size))
        return sorted(events, key=lambda work: work.begin_realtime_ns)

    def _ask(self, number: int, query: str) -> list[dict[str, Value]]:
        try:
            with connected(self._hosts[number], self.ports["native"]) as node:
                return node.ask(query)
        except CqlError as error:
            raise NotReadyError(f"node {number + 1}: {error}") from error
        except NotReadyError as error:
            raise NotReadyError(f"node {number + 1}: {error}") from error


def _answers(level: str, copies: int) -> int:
    """Returns how many copies a consistency level waits for."""
    named = {"ANY": 0, "ONE": 1, "TWO": 2, "THREE": 3, "ALL": copies}
    return named.get(level.upper().removeprefix("LOCAL_"), copies // 2 + 1)


def _realtime_ns(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1e9)
