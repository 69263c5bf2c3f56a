"""Apache HBase: one Java virtual machine on the local file system, or region servers on an HDFS and a ZooKeeper.

Distributed, every part is a Java virtual machine: a name node, data nodes and region servers as many as asked
for, a ZooKeeper, a master.
"""

from __future__ import annotations

import json
import re
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar
from xml.sax.saxutils import escape

from edgejoule.database_servers import jvm
from edgejoule.database_servers.options import Option, passed_through, whole
from edgejoule.database_servers.server import (
    LOOPBACK,
    DatabaseServer,
    Installation,
    Node,
    NotReadyError,
    OwnCache,
    Settled,
    Work,
    free_ports,
    lines_of,
)
from edgejoule.errors import DatabaseError, UsageError
from edgejoule.machine.page_cache import files_below

REGION_SERVERS_MAX = 9
ANSWER_S = 10.0
_FORMAT_S = 120.0
_MASTER = "org.apache.hadoop.hbase.master.HMaster"
_REGION_SERVER = "org.apache.hadoop.hbase.regionserver.HRegionServer"
_LOG = """log4j.rootLogger=INFO,out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=%d{ISO8601} %-5p [%t] %c{1}: %m%n
"""
_METRICS_PERIOD_S = 1
_RESTART_OF_METRICS_S = 3.0  # HBase restarts them after regions open or close, which takes half a second
_CAPACITY_PER_STRUCTURES = 1000  # an empty block cache counts its own structures, a 1,350th of its capacity
_META_BYTES_MAX = 256 << 10  # of hbase:meta, in block cache and memstore
_UNLOGGED = ("SKIP_WAL", "ASYNC_WAL")  # acknowledged before the log has the write
_FLUSHED = re.compile(r"^(\S+ \S+) .*Finished flush of dataSize ~[^/]*/(\d+), .* for (\S+) in (\d+)ms")
_COMPACTED = re.compile(
    r"^(\S+ \S+) .*Completed (?:major )?compaction of .* and took (?:(\d+)mins, )?(\d+)sec to execute"
)
_REQUESTS = re.compile(r"Namespace_(?P<namespace>\w+?)_table_.*_metric_(?P<kind>read|write)RequestCount")


class HBase(DatabaseServer):
    """Clients get the addresses of all processes from ZooKeeper."""

    name = "hbase"
    summary = "Apache HBase: log-structured merge trees of sorted rows, in regions on region servers"
    options: ClassVar[Mapping[str, Option]] = {
        "region_servers": Option("0: all in one process on the local file system; 1 to 9: on HDFS", "0"),
        "dfs_replication": Option("copies of each block in HDFS, at most the region servers", "1"),
        "heap_mb": Option("heap of a region server, or of the one process", "512"),
        "new_mb": Option("young generation of it; empty: as Java has it"),
        "timeout_ms": Option("of a request between its parts", "60000"),
        "preset": Option(
            "1gb-board: heap 430 MB, new 142 MB, timeouts 60 s, for boards with 1 GB", "", ("", "1gb-board")
        ),
    }
    presets: ClassVar[Mapping[str, Mapping[str, str]]] = {
        "1gb-board": {"heap_mb": "430", "new_mb": "142", "timeout_ms": "60000"},
    }
    durability_options: ClassVar[Mapping[str, Mapping[str, str]]] = {"power": {"conf.hbase.wal.hsync": "true"}}
    promise_broken_by: ClassVar[Mapping[str, Mapping[str, Sequence[str]]]] = {
        "process": {"durability": _UNLOGGED},
        "power": {
            "durability": (*_UNLOGGED, "SYNC_WAL"),  # hflush, whatever conf.hbase.wal.hsync says
            "conf.hbase.wal.hsync": ("false",),
            "region_servers": ("0",),  # the local file system never syncs the log
        },
    }
    replication_option = "dfs_replication"
    start_s = 300.0
    stop_s = 90.0

    @classmethod
    def installation(cls) -> Installation:
        """Checks for the jars and a Java."""
        return jvm.installation("hbase", "hbase-server")

    def check(self) -> None:
        """Raises UsageError for a wrong number of region servers, copies or megabytes."""
        for name in ("heap_mb", "timeout_ms", "dfs_replication"):
            whole(self.name, self.settings, name)
        if self._count > REGION_SERVERS_MAX:
            raise UsageError(f"hbase.region_servers: at most {REGION_SERVERS_MAX}, got {self._count}")
        if self._count and whole(self.name, self.settings, "dfs_replication") > self._count:
            raise UsageError(f"hbase.dfs_replication: at most the {self._count} region servers")

    def copies_max(self) -> int:
        """Returns the number of region servers: a data node beside each holds one copy."""
        return max(1, self._count)

    @property
    def _count(self) -> int:
        return whole(self.name, self.settings, "region_servers", least=0)

    def choose_ports(self) -> dict[str, int]:
        """Returns three ports for each region server and three for each data node."""
        names = ["zookeeper", "master", "master_info", "name_node", "name_node_http"]
        for number in range(max(1, self._count)):
            names += [
                f"region{number}",
                f"region_info{number}",
                f"data{number}",
                f"data_ipc{number}",
                f"data_http{number}",
            ]
        return dict(zip(names, free_ports(len(names)), strict=True))

    def prepare(self) -> None:
        """Writes a configuration folder for each process and formats HDFS the first time."""
        for number in range(max(1, self._count)):
            folder = self._configuration(number)
            folder.mkdir(exist_ok=True)
            (folder / "log4j.properties").write_text(_LOG)
            (folder / "hadoop-metrics2-hbase.properties").write_text(f"*.period={_METRICS_PERIOD_S}\n")
            (folder / "hbase-site.xml").write_text(_xml(self._site(number)))
            if self._count:
                (folder / "core-site.xml").write_text(_xml({"fs.defaultFS": self._dfs}))
                (folder / "hdfs-site.xml").write_text(_xml(self._hdfs(number)))
        if self._count and not (self.data / "name").exists():
            argv = self._java(0, 128, "org.apache.hadoop.hdfs.server.namenode.NameNode", "-format", "-nonInteractive")
            with self.log_of("format").open("w") as log:
                done = subprocess.run(argv, stdout=log, stderr=log, timeout=_FORMAT_S, check=False, cwd=self.folder)
            if done.returncode:
                raise DatabaseError(f"hbase: HDFS cannot be formatted: {self.last_output('format')}")

    def _configuration(self, number: int) -> Path:
        return self.folder / f"conf{number}"

    @property
    def _dfs(self) -> str:
        return f"hdfs://{LOOPBACK}:{self.ports['name_node']}"

    def _site(self, number: int) -> dict[str, object]:
        port = self.ports
        properties: dict[str, object] = {
            "hbase.zookeeper.quorum": LOOPBACK,
            "hbase.zookeeper.property.clientPort": port["zookeeper"],
            "hbase.zookeeper.property.dataDir": self.data / "zookeeper",
            "hbase.zookeeper.property.clientPortAddress": LOOPBACK,
            "hbase.tmp.dir": self.folder / "tmp",
            "hbase.master.hostname": "localhost",
            "hbase.master.port": port["master"],
            "hbase.master.ipc.address": LOOPBACK,
            "hbase.master.info.port": port["master_info"],
            "hbase.master.info.bindAddress": LOOPBACK,
            "hbase.regionserver.hostname": "localhost",
            "hbase.regionserver.port": port[f"region{number}"],
            "hbase.regionserver.ipc.address": LOOPBACK,
            "hbase.regionserver.info.port": port[f"region_info{number}"],
            "hbase.regionserver.info.bindAddress": LOOPBACK,
            "hbase.rpc.timeout": self.settings["timeout_ms"],
            "zookeeper.session.timeout": self.settings["timeout_ms"],
        }
        if self._count:
            properties |= {"hbase.rootdir": f"{self._dfs}/hbase", "hbase.cluster.distributed": "true"}
            properties |= {"hbase.master.wait.on.regionservers.mintostart": self._count}
        else:
            properties |= {
                "hbase.rootdir": (self.data / "hbase").as_uri(),
                "hbase.unsafe.stream.capability.enforce": "false",
                "hbase.wal.provider": "filesystem",
            }
        return properties | passed_through(self.settings)

    def _hdfs(self, number: int) -> dict[str, object]:
        port = self.ports
        return {
            "dfs.namenode.name.dir": (self.data / "name").as_uri(),
            "dfs.replication": self.settings["dfs_replication"],
            "dfs.namenode.http-address": f"{LOOPBACK}:{port['name_node_http']}",
            "dfs.datanode.data.dir": (self.data / f"blocks{number + 1}").as_uri(),
            "dfs.datanode.address": f"{LOOPBACK}:{port[f'data{number}']}",
            "dfs.datanode.ipc.address": f"{LOOPBACK}:{port[f'data_ipc{number}']}",
            "dfs.datanode.http.address": f"{LOOPBACK}:{port[f'data_http{number}']}",
            "dfs.namenode.safemode.extension": 0,
        }

    def _java(self, number: int, heap_mb: int, *arguments: str, new_mb: str = "") -> list[str]:
        flags = [f"-Xmx{heap_mb}m", "-Duser.timezone=UTC", "-XX:+ExitOnOutOfMemoryError"]
        flags += [f"-Xmn{new_mb}m"] if new_mb else []
        flags += [f"-Dhbase.log.dir={self.logs}", f"-Djava.io.tmpdir={self.folder}", "-Djava.net.preferIPv4Stack=true"]
        return jvm.java([self._configuration(number), f"{jvm.jars('hbase')}/*"], *flags, *arguments)

    def nodes(self) -> Sequence[Node]:
        """Returns the nodes, lower layers first."""
        heap_mb, new_mb = whole(self.name, self.settings, "heap_mb"), self.settings["new_mb"]
        if not self._count:
            return [Node("hbase", self._java(0, heap_mb, _MASTER, "start", new_mb=new_mb))]
        hdfs = "org.apache.hadoop.hdfs.server"
        nodes = [Node("name-node", self._java(0, 192, f"{hdfs}.namenode.NameNode"))]
        numbers = range(self._count)
        nodes += [Node(f"data-node{n + 1}", self._java(n, 160, f"{hdfs}.datanode.DataNode")) for n in numbers]
        nodes += [Node("zookeeper", self._java(0, 128, "org.apache.hadoop.hbase.zookeeper.HQuorumPeer"))]
        nodes += [Node("master", self._java(0, 384, _MASTER, "start"))]
        region = (_REGION_SERVER, "start")
        return nodes + [Node(f"region-server{n + 1}", self._java(n, heap_mb, *region, new_mb=new_mb)) for n in numbers]

    def start_nodes(self) -> None:
        """Starts HBase after HDFS and ZooKeeper listen."""
        for node in self.nodes():
            if node.name == "master":
                for port in ("name_node_http", "zookeeper"):
                    self.await_answer(lambda port=port: _listens(self.ports[port]))  # type: ignore[misc]
            self.start_node(node)

    def ask_version(self) -> str:
        """Returns the version. Raises NotReadyError until the master and all region servers are up."""
        master = self._bean(self.ports["master_info"], "Hadoop:service=HBase,name=Master,sub=Server")
        if not int(master.get("masterFinishedInitializationTime", 0)):
            raise NotReadyError("its master has not come up yet")
        wanted = max(1, self._count)
        if (up := int(master.get("numRegionServers", 0))) < wanted:
            raise NotReadyError(f"{up} of {wanted} region servers are there")
        text = self._page(self.ports["master_info"], "/master-status")
        version = re.search(r"HBase Version</td>\s*<td>([\d.]+)", text)
        return version[1] if version else self.installation().version

    def connection(self) -> Mapping[str, object]:
        """Returns ZooKeeper's host and port."""
        return {"host": LOOPBACK, "port": self.ports["zookeeper"]}

    def durability(self) -> str:
        """Describes how the log is written."""
        if not self._count:
            return "one process on the local file system: the log is written, never synced"
        nodes = f"{self.settings['dfs_replication']} data nodes"
        if self.settings.get("conf.hbase.wal.hsync") == "true":
            return f"the log is synced on {nodes} (hsync)"
        return f"the log is in the memory of {nodes} (hflush)"

    def settled(self) -> Settled:
        """Reports whether any region server has a flush or a compaction under way or waiting."""
        for number in range(max(1, self._count)):
            metrics = self._region_server(number)
            for key in ("flushQueueLength", "compactionQueueLength"):
                if left := int(metrics.get(key, 0)):
                    return Settled(False, f"region server {number + 1}: {key} {left}")
        return Settled(True, "region servers: flushQueueLength and compactionQueueLength 0")

    def operations(self) -> Mapping[str, int]:
        """Counts the requests for clients' tables at all region servers."""
        self._regions()
        time.sleep(1.1 * _METRICS_PERIOD_S)  # HBase caches a response this long; the first may be another client's
        counted = {"read": 0, "write": 0}
        for name, value in self._regions():
            if (parsed := _REQUESTS.fullmatch(name)) and parsed["namespace"] != "hbase":
                counted[parsed["kind"]] += int(value)
        return counted

    def table_files(self) -> Sequence[Path]:
        """Returns the files of clients' tables. On HDFS, whose files do not name a table, all complete blocks."""
        if self._count:
            return [path for folder in self.data.glob("blocks*/**/finalized") for path in files_below(folder)]
        namespaces = [folder for folder in self.data.glob("hbase/data/*") if folder.name != "hbase"]
        return [path for namespace in namespaces for path in files_below(namespace)]

    def own_cache(self) -> OwnCache:
        """Sums the block caches and memstores of the region servers."""
        cached_bytes, catalog_bytes_max = 0, _META_BYTES_MAX
        self._region_server(0)
        time.sleep(1.1 * _METRICS_PERIOD_S)  # as in operations()
        for number in range(max(1, self._count)):
            metrics = self._region_server(number)
            blocks = int(metrics["blockCacheSize"])
            cached_bytes += blocks + int(metrics["memStoreSize"])
            catalog_bytes_max += (blocks + int(metrics["blockCacheFreeSize"])) // _CAPACITY_PER_STRUCTURES
        how = "block caches and memstores of the region servers: blockCacheSize, memStoreSize"
        return OwnCache(cached_bytes, how, catalog_bytes_max)

    def work(self) -> Sequence[Work]:
        """Returns flushes and compactions, from the logs."""
        names = ["hbase"] if not self._count else [f"region-server{n + 1}" for n in range(self._count)]
        events = []
        for name in names:
            for line in lines_of(self.log_of(name)):
                if flushed := _FLUSHED.match(line):
                    took = int(flushed[4]) * 1_000_000
                    begin = _realtime_ns(flushed[1]) - took
                    events.append(Work("flush", begin, took, f"region {flushed[3]}", int(flushed[2])))
                elif compacted := _COMPACTED.match(line):
                    took = (int(compacted[2] or 0) * 60 + int(compacted[3])) * 10**9
                    events.append(Work("compaction", _realtime_ns(compacted[1]) - took, took, name))
        return sorted(events, key=lambda work: work.begin_realtime_ns)

    def ask_to_end(self) -> None:
        """Stops region servers and master first, then the layers below them."""
        above = [p for p in self.processes if p.name.startswith(("region-server", "hbase"))]
        rest = [p for p in self.processes if p not in above]
        end = time.monotonic() + self.stop_s * 0.6
        for process in above:
            process.ask_to_end()
        for process in above:
            process.wait(end)
        for process in reversed(rest):
            process.ask_to_end()

    def _region_server(self, number: int, part: str = "Server") -> Mapping[str, Any]:
        return self._bean(self.ports[f"region_info{number}"], f"Hadoop:service=HBase,name=RegionServer,sub={part}")

    def _regions(self) -> Sequence[tuple[str, Any]]:
        return [item for n in range(max(1, self._count)) for item in self._region_server(n, "Regions").items()]

    def _bean(self, port: int, name: str) -> Mapping[str, Any]:
        end = time.monotonic() + _RESTART_OF_METRICS_S
        while True:
            try:
                beans: list[Mapping[str, Any]] = json.loads(self._page(port, f"/jmx?qry={name}"))["beans"]
            except (ValueError, KeyError) as error:
                raise NotReadyError(f"port {port}: no answer about {name}") from error
            if beans:
                return beans[0]
            if time.monotonic() > end:
                raise NotReadyError(f"port {port}: nothing about {name} yet")
            time.sleep(0.1)

    def _page(self, port: int, path: str) -> str:
        try:
            with urllib.request.urlopen(f"http://{LOOPBACK}:{port}{path}", timeout=ANSWER_S) as answer:
                return str(answer.read().decode(errors="replace"))
        except (OSError, urllib.error.URLError) as error:
            raise NotReadyError(f"port {port}: {error}") from error


def _listens(port: int) -> str:
    try:
        with socket.create_connection((LOOPBACK, port), timeout=ANSWER_S):
            return "yes"
    except OSError as error:
        raise NotReadyError(f"port {port}: {error}") from error


def _xml(settings: Mapping[str, object]) -> str:
    lines = [
        f"<property><name>{escape(name)}</name><value>{escape(str(value))}</value></property>"
        for name, value in settings.items()
    ]
    return "\n".join(["<configuration>", *lines, "</configuration>", ""])


def _realtime_ns(text: str) -> int:
    moment = datetime.strptime(text, "%Y-%m-%d %H:%M:%S,%f").replace(tzinfo=UTC)
    return int(moment.timestamp() * 1e9)
