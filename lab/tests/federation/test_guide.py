"""docs/tutorials/federation.md: its blocks work unchanged, and its names exist."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from edgejoule.eco.federation import FederationServer, Loopback, Unlimited
from edgejoule.machine.processes import Process

ROOT = Path(__file__).resolve().parents[3]
BUILD = ROOT / "build"
GUIDE = (ROOT / "docs/tutorials/federation.md").read_text()
built = pytest.mark.skipif(not (BUILD / "bin/ecod").exists(), reason="make eco builds ecod")
NATS = shutil.which("nats-server") or shutil.which("nats-server", path="/usr/sbin:/usr/local/sbin")
ELSEWHERE = {  # said by NATS and by the dynamic linker
    "certificate signed by unknown authority",
    "ecod: $KV.eco-edge-servers.*: Connection Closed",
    "cannot open shared object file",
}


SHARED_BY = "/etc/eco.toml, before [tls], of the application whose databases lie below it"
SHARED_WITH = "/etc/ecod.toml [worker] of the other servers: where they see it"


def eventually(holds: Callable[[], bool]) -> bool:
    end = time.monotonic() + 60
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.2)
    return True


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)


def block(title: str) -> str:
    """The one whose first line is this comment."""
    (result,) = [text for text in blocks("[a-z]*") if text.startswith(f"# {title}\n")]
    return result


def ecod_toml(number: int, federation: str | None = None) -> str:
    """The guide's, with this server's own address; federation: the title of another [federation]."""
    text = block("/etc/ecod.toml").replace('listen = "10.0.0.1:', f'listen = "10.0.0.{number}:')
    if federation:
        text = re.sub(r"\[federation\].*?(?=^\[)", block(federation), text, flags=re.MULTILINE | re.DOTALL)
    return text


def print_config(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    """ecod's report of a configuration whose TLS files exist, below the folder."""
    file = folder / "ecod.toml"
    file.write_text(text.replace('"/etc/ecod/', f'"{folder}/'))
    for name in re.findall(rf'"{re.escape(str(folder))}/([^"]+)"', file.read_text()):
        (folder / name).touch()
    command = [BUILD / "bin/ecod", "--config", file, "--print-config"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@built
@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize(
    ("federation", "mode"),
    [
        (None, "nats"),
        ("/etc/ecod.toml [federation] of the master", "master"),
        ("/etc/ecod.toml [federation] of a member", "member"),
    ],
)
def test_ecod_takes_the_configurations(number: int, federation: str | None, mode: str, tmp_path: Path) -> None:
    done = print_config(tmp_path, ecod_toml(number, federation))
    assert done.returncode == 0, done.stderr
    assert f'listen = "10.0.0.{number}:7420"' in done.stdout
    assert "shadow = true" in done.stdout
    assert f'mode = "{mode}"' in done.stdout


@built
def test_ecod_takes_a_shared_directory(tmp_path: Path) -> None:
    done = print_config(tmp_path, ecod_toml(2).replace("[worker]\n", block(SHARED_WITH)))
    assert done.returncode == 0, done.stderr
    assert re.search(r'^shared_directory = .*"/data" = "/mnt/edge-1"', done.stdout, re.MULTILINE), done.stdout


def test_every_toml_and_nats_block_is_tested_here() -> None:
    titles = [text.splitlines()[0] for text in blocks("toml")]
    assert titles == [
        "# /etc/ecod.toml",
        "# /etc/ecod.toml [federation] of the master",
        "# /etc/ecod.toml [federation] of a member",
        "# /etc/eco.toml",
        f"# {SHARED_BY}",
        f"# {SHARED_WITH}",
    ]


@built
def test_the_commands_exist() -> None:
    said = subprocess.run([BUILD / "bin/ecoctl", "--help"], capture_output=True, text=True, check=True).stdout
    commands = set(re.findall(r"(?:^\$ |`|\|  *)ecoctl ([a-z]+)", GUIDE, re.MULTILINE))
    assert {"servers", "decisions", "policy", "drain", "undrain", "kill", "resume", "estimate"} <= commands
    for command in commands:
        assert re.search(rf"^  {command}\b", said, re.MULTILINE), command


def test_metrics_and_keys_that_it_names_exist() -> None:
    sources = "".join(file.read_text() for file in (ROOT / "eco/ecod").glob("*.cc"))
    for metric in re.findall(r"\becod_[a-z_]+", GUIDE):
        assert f'"{metric}"' in sources, metric
    example = (ROOT / "eco/ecod/ecod.example.toml").read_text()
    for key in ("lease_ms", "table_age_max_ms", "alive_ms", "busy_max", "link_mbit_s", "place_timeout_ms", "scratch"):
        assert key in GUIDE
        assert re.search(rf"^{key} = ", example, re.MULTILINE), key


def test_messages_that_it_explains_exist() -> None:
    folders = ("ecod", "ecoctl", "offload", "worker", "rpc")
    files = [file for folder in folders for file in (ROOT / "eco" / folder).rglob("*.cc")]
    sources = re.sub(r'"\s*"', "", "".join(file.read_text() for file in files))
    table = GUIDE[GUIDE.index("## Troubleshooting") :]
    rows = [row for row in table.splitlines() if row.startswith("| ") and not row.startswith("| message")]
    assert len(rows) >= 10
    for row in rows:
        for message in re.findall(r"`([^`]{12,})`", row.split("|")[1]):
            parts = re.split(r"/[\w./]+|[\d.]+:\d+|\b\d+\b|[(){}]|: |, ", message)
            known = [part for part in parts if len(part.strip()) >= 10 and part.strip() in sources]
            assert message in ELSEWHERE or known, message


def test_its_outputs_are_of_its_configuration_and_of_one_master() -> None:
    """edge-1 has the watts of the configuration; the server with the star decides."""
    power = tomllib.loads(block("/etc/ecod.toml"))["power"]
    (busy_w,) = re.findall(r"^edge-1 .*? ([\d.]+) W  modelled", GUIDE, re.MULTILINE)
    (idle_w,) = re.findall(r"^edge-1 .*?bit/s +([\d.]+) W ", GUIDE, re.MULTILINE)
    assert (float(busy_w), float(idle_w)) == (power["busy_core_w"], power["idle_w"])  # nothing runs yet
    (named,) = re.findall(r"master (edge-\d), epoch", GUIDE)
    (starred,) = re.findall(r"^(edge-\d) \*", GUIDE, re.MULTILINE)
    assert {named, starred} == set(re.findall(r"^\d\d:\d\d:.* (edge-\d)  (?:edge-\d:|no stall)", GUIDE, re.MULTILINE))


@built
@pytest.mark.slow
def test_its_cpp_compiles(tmp_path: Path) -> None:
    (text,) = blocks("cpp")
    file = tmp_path / "application.cc"
    file.write_text(text)
    folders = [ROOT / "eco/offload", ROOT / "eco/rpc", ROOT / "eco/core", BUILD / "eco/generated"]
    arguments = [
        "g++",
        "-std=c++20",
        "-Wall",
        "-Werror",
        "-fsyntax-only",
        *(f"-I{folder}" for folder in folders),
        str(file),
    ]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


class Machines:
    """The guide's three machines on loopback: own folders for /etc, /run and /var, free ports for its ports."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ports: dict[tuple[str, str], int] = {}
        self.processes: list[Process] = []
        self.shares = Unlimited()
        self.limit = self.shares.limit(FederationServer("machine", 1, 1, 1), folder / "cgroup")

    def here(self, text: str, number: int) -> str:
        """The text with this machine's folders and with addresses on loopback."""
        own = self.folder / str(number)
        for path in ("/etc/ecod/", "/etc/eco.toml", "/var/lib/nats", "/run/ecod/"):
            text = text.replace(path, f"{own}{path}")
        text = re.sub(r"^data_port = \d+", "data_port = 0", text, flags=re.MULTILINE)  # the three have one host
        return re.sub(r"10\.0\.0\.(\d):(\d+)", lambda match: f"127.0.0.1:{self._port(match[1], match[2])}", text)

    def _port(self, number: str, port: str) -> int:
        if (number, port) not in self.ports:
            free = Loopback().ports(FederationServer("machine", 1, 1, 1), 1)[0]
            assert free not in self.ports.values()
            self.ports[number, port] = free
        return self.ports[number, port]

    def start(self, number: int, *arguments: str | Path) -> None:
        log = self.folder / str(number) / f"{Path(arguments[0]).name}.log"
        self.processes.append(Process([str(word) for word in arguments], log, self.limit))

    def ecoctl(self, number: int, *arguments: str) -> str:
        command = [BUILD / "bin/ecoctl", "--socket", self.folder / f"{number}/run/ecod/control.sock", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout

    def stop(self) -> None:
        for process in reversed(self.processes):
            process.stop()
        for log in sorted(self.folder.glob("*/*.log")):
            print(f"--- {log.relative_to(self.folder)}\n{log.read_text(errors='replace')[-2000:]}")


@pytest.fixture
def machines() -> Iterator[Machines]:
    folder = Path(tempfile.mkdtemp(prefix="eco-"))
    made = Machines(folder)
    yield made
    made.stop()
    shutil.rmtree(folder)


@built
@pytest.mark.slow
@pytest.mark.skipif(NATS is None or shutil.which("db_bench") is None, reason="nats-server and db_bench are needed")
def test_three_machines_that_follow_the_guide_become_a_federation(machines: Machines) -> None:
    pki = machines.folder / "pki"
    pki.mkdir()
    (keys,) = blocks("sh")
    made = re.sub(r"IP:10\.0\.0\.\$n", "IP:127.0.0.1", keys)
    subprocess.run(["bash", "-ec", made], cwd=pki, check=True, capture_output=True)
    for number in (1, 2, 3):
        own = machines.folder / str(number)
        for path in ("etc/ecod", "run/ecod", "var/lib/nats", "state"):
            (own / path).mkdir(parents=True)
        for name, file in (
            ("ca.pem", "ca.pem"),
            ("server.pem", f"edge-{number}.pem"),
            ("server.key", f"edge-{number}.key"),
        ):
            shutil.copy(pki / file, own / "etc/ecod" / name)
        nats = block("/etc/nats-server.conf").replace("server_name: edge-1", f"server_name: edge-{number}")
        nats = nats.replace("listen: 10.0.0.1:", f"listen: 10.0.0.{number}:")
        (own / "nats.conf").write_text(machines.here(nats, number))
        assert NATS is not None
        done = subprocess.run([NATS, "-t", "-c", own / "nats.conf"], capture_output=True, text=True, check=False)
        assert "is valid" in done.stdout + done.stderr, done.stderr
        machines.start(number, NATS, "-c", own / "nats.conf")
        beside = (
            f'name = "edge-{number}"\nnode_socket = "/run/ecod/node.sock"\ncontrol_socket = "/run/ecod/control.sock"\n'
            f'state_directory = "{own}/state"\n'
        )
        toml = ecod_toml(number)
        for table, line in (
            ("[telemetry]", f'cgroup = "{machines.limit.folder}"'),  # of which nothing is used, however busy others are
            ("[worker]", f'scratch = "{own}/scratch"'),
        ):
            toml = toml.replace(table, f"{table}\n{line}")
        toml += '[metrics]\nlisten = "127.0.0.1:0"\n'
        (own / "ecod.toml").write_text(machines.here(beside + toml, number))
        machines.start(number, BUILD / "bin/ecod", "--config", own / "ecod.toml")
        shared = own / "data"  # eco refuses a folder that is not there; the database of this test is elsewhere
        shared.mkdir()
        settings = block(SHARED_BY).replace('"/data"', f'"{shared}"') + block("/etc/eco.toml")
        (own / "etc/eco.toml").write_text(machines.here(settings, number))

    shadowed = "policy eco in shadow mode (nothing is offloaded); 3 of 3 servers alive"
    assert eventually(lambda: all(shadowed in machines.ecoctl(n, "servers") for n in (1, 2, 3)))
    assert "tls://" in (machines.folder / "1/ecod.toml").read_text()

    (line,) = re.findall(r"^LD_PRELOAD=.*?[^\\]$", GUIDE, re.MULTILINE | re.DOTALL)
    library = BUILD / "lib/libeco-preload.so"
    program = line.replace("LD_PRELOAD=libeco-preload.so", f"LD_PRELOAD={library}").replace("/data/db", "DATABASE")
    program = machines.here(program, 1).replace("DATABASE", str(machines.folder / "db"))

    def runs() -> str:
        done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True)
        assert done.stderr.count("eco: ") == done.stderr.count("eco: attached ") == 1
        return (machines.folder / "db/LOG").read_text()

    assert "compacted by" not in runs()
    assert "compacted here" in (machines.folder / "db/LOG").read_text()
    assert "edge-1" in machines.ecoctl(1, "decisions")
    machines.ecoctl(1, "policy", "static:edge-3", "--shadow", "off")
    assert eventually(lambda: "policy static:edge-3;" in machines.ecoctl(1, "servers"))
    assert eventually(lambda: "compacted by edge-3" in runs())
    assert "installed" in machines.ecoctl(1, "decisions")
    assert "KILL SWITCH" not in machines.ecoctl(2, "servers")
    machines.ecoctl(1, "kill")
    assert eventually(lambda: "THE KILL SWITCH IS ON" in machines.ecoctl(2, "servers"))
    assert "compacted by" not in runs()
    machines.ecoctl(1, "resume")
    machines.ecoctl(1, "drain", "edge-2")
    assert eventually(lambda: "draining" in machines.ecoctl(3, "servers"))
    machines.ecoctl(1, "policy", "configured")
    assert eventually(lambda: shadowed in machines.ecoctl(2, "servers"))
