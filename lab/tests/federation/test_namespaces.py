"""Networks of namespaces: between servers, with the configured rate, and removed afterwards. Needs root."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from edgejoule.databases.checks import not_here
from edgejoule.dictionary.properties import RATE_MBIT_S
from edgejoule.eco.federation.leftovers import remove_leftovers
from edgejoule.eco.federation.namespaces import NAMED, Namespaces
from edgejoule.eco.federation.server import FederationServer
from edgejoule.eco.federation.shares import why_no_groups
from edgejoule.errors import FederationError
from edgejoule.experiment.plan import make_plan
from edgejoule.experiment.read import load_spec
from edgejoule.machine import cgroup

ROOT = Path(__file__).resolve().parents[3]
SERVERS = [FederationServer("low", 0.1, 1, 1), FederationServer("high", 0.4, 1, 1)]

pytestmark = pytest.mark.root


def made_by(pid: int) -> list[str]:
    return [entry.name for entry in NAMED.iterdir() if entry.name.startswith(f"ejfed-{pid}-")] if NAMED.exists() else []


RECEIVE = """
import socket, sys
server = socket.create_server((sys.argv[1], 7000)); print("ready", flush=True)
connection, _ = server.accept()
while connection.recv(1 << 16): pass
connection.sendall(b"done")
"""
SEND = """
import socket, sys, time
connection = socket.create_connection((sys.argv[1], 7000)); begin = time.monotonic()
connection.sendall(bytes(int(sys.argv[2]))); connection.shutdown(socket.SHUT_WR); connection.recv(4)
print(int(sys.argv[2]) / (time.monotonic() - begin))
"""


def bytes_s(network: Namespaces, count: int) -> float:
    """From low to high."""
    low, high = SERVERS
    host = network.host(high)
    into = [*network.command(high), sys.executable, "-c", RECEIVE, host]
    with subprocess.Popen(into, stdout=subprocess.PIPE, text=True) as receiver:
        assert receiver.stdout
        receiver.stdout.readline()
        arguments = [*network.command(low), sys.executable, "-c", SEND, host, str(count)]
        sent = subprocess.run(arguments, capture_output=True, text=True, check=True, timeout=60)
    return float(sent.stdout)


@pytest.mark.parametrize("encrypted", [True, False])
def test_servers_reach_each_other_no_faster_than_their_links(encrypted: bool) -> None:
    with Namespaces(100, encrypted=encrypted) as network:
        for server in SERVERS:
            network.add(server)
        assert network.host(SERVERS[0]).startswith("127.") is not encrypted
        rate = bytes_s(network, 10_000_000)
    assert rate < 100e6 / 8 * 1.1
    assert made_by(os.getpid()) == []


def test_each_server_has_its_own_free_ports() -> None:
    with Namespaces() as network:
        for server in SERVERS:
            network.add(server)
        ports = network.ports(SERVERS[0], 2) + network.ports(SERVERS[0], 1)
        assert len(set(ports)) == 3


KILLED = """
import subprocess, sys, time
from pathlib import Path
from edgejoule.eco.federation.namespaces import Namespaces
from edgejoule.eco.federation.server import FederationServer
from edgejoule.eco.federation.shares import CpuGroups
server = FederationServer("low", 0.1, 1, 1)
network = Namespaces().__enter__(); network.add(server)
group = CpuGroups().limit(server, Path(sys.argv[1]))
program = subprocess.Popen([*group.command(), *network.command(server), "sleep", "600"])
time.sleep(0.3); print(program.pid, flush=True); time.sleep(600)
"""


@pytest.mark.skipif(why_no_groups() is not None, reason=str(why_no_groups()))
def test_leftovers_of_a_killed_program_are_removed(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout
        left = int(program.stdout.readline())
        assert made_by(program.pid)
        assert remove_leftovers() == [], "its owner lives"
        program.kill()
    assert Path(f"/proc/{left}").exists()
    removed = remove_leftovers()
    assert len(removed) == 3, removed
    assert made_by(program.pid) == []
    assert not list(cgroup.ROOT.glob(f"**/edgejoule-{program.pid}-*"))
    end = time.monotonic() + 60
    while Path(f"/proc/{left}").exists() and "sleep" in Path(f"/proc/{left}/cmdline").read_text():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_cgroups_and_namespaces_that_live_are_left_alone(tmp_path: Path) -> None:
    with Namespaces() as network:
        network.add(SERVERS[0])
        assert remove_leftovers() == []
        assert len(made_by(os.getpid())) == 2


def possible(rate_mbit_s: float | None = None, delay_ms: float = 0) -> bool:
    try:
        with Namespaces(rate_mbit_s, delay_ms) as network:
            network.add(SERVERS[0])
    except FederationError:
        return False
    return True


def test_every_rate_that_a_spec_may_have_can_be_shaped() -> None:
    assert [possible(rate) for rate in RATE_MBIT_S] == [True, True]
    assert not possible(1e12)


def test_a_delay_that_the_kernel_cannot_make_is_refused_before_a_run() -> None:
    spec = load_spec(ROOT / "experiments/eco-real/experiment.toml", ["fixed.network.delay_ms=1"])
    refused = [message for message in not_here(make_plan(spec)) if message.startswith("network.delay_ms: ")]
    assert bool(refused) is not possible(delay_ms=1)
