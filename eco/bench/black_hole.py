#!/usr/bin/env python3
"""What a worker that takes jobs and never answers costs an application: an unmodified db_bench, with and without eco.

Each round fills a database twice, in turns with and without libeco-preload.so. With it, an ecod places every job at one
worker (policy static), which is

  socket    a port that listens and never answers
  stopped   a worker that was stopped (SIGSTOP)
  dropped   an address whose packets are lost (needs root: network namespaces)
  full      a worker that has no room for a job's outputs

Prints each round's ratio of operations per second (with / without) and their median. Fails below --bar.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

DROPPED = "127.9.9.9"  # nobody has this address: packets to it leave by a device and are lost


def free_port() -> int:
    """One that was free a moment ago."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def start(command: list[str], log: Path) -> subprocess.Popen[bytes]:
    """Its output goes to the log."""
    with log.open("wb") as out:
        return subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)


def stop(process: subprocess.Popen[bytes]) -> None:
    """End it, also where it was stopped."""
    process.send_signal(signal.SIGCONT)
    process.terminate()
    process.wait()


def wait_for(file: Path, text: str) -> None:
    """Until the file has the text."""
    end = time.monotonic() + 20
    while text not in (said := file.read_text(errors="replace") if file.exists() else ""):
        if time.monotonic() > end:
            sys.exit(f"black_hole: {file} does not say {text!r}:\n{said[-1000:]}")
        time.sleep(0.05)


@contextlib.contextmanager
def black_hole(kind: str, build: Path, folder: Path) -> Iterator[str]:
    """Its address."""
    if kind == "dropped":
        yield f"{DROPPED}:7420"
        return
    if kind == "socket":
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            one.listen(1000)
            yield f"127.0.0.1:{one.getsockname()[1]}"
        return
    port, log = free_port(), folder / "worker.log"
    command = f"exec {build}/bin/ecod worker --listen 127.0.0.1:{port} --scratch {folder}/scratch"
    worker = start(["bash", "-c", f"ulimit -f {64 if kind == 'full' else 'unlimited'}; {command}"], log)
    try:
        wait_for(log, str(port))
        if kind == "stopped":
            worker.send_signal(signal.SIGSTOP)
        yield f"127.0.0.1:{port}"
    finally:
        stop(worker)


@contextlib.contextmanager
def federation(build: Path, folder: Path, address: str) -> Iterator[Path]:
    """The ecod of this server, and one that says that its worker is at the address. The application's settings."""
    port = free_port()
    home = f'mode = "master"\nlisten = "127.0.0.1:{port}"\n[policy]\nname = "static:dead"\n[worker]\nenabled = false'
    dead = f'mode = "member"\nmaster = "127.0.0.1:{port}"\n[worker]\nlisten = "127.0.0.1:0"\nslots = 4\n'
    dead += f'address = "{address}"\nscratch = "{folder}/dead-scratch"'
    running = []
    try:
        for name, text in (("home", home), ("dead", dead)):
            (folder / f"{name}.toml").write_text(
                f'name = "{name}"\nnode_socket = "{folder}/{name}.sock"\ncontrol_socket = "{folder}/{name}-c.sock"\n'
                f'state_directory = "{folder}/{name}-state"\n[metrics]\nlisten = ""\n[telemetry]\ncores = 1000\n'
                f'link_mbit_s = 10000\nnetwork_interface = "lo"\n[federation]\nbeat_ms = 200\nalive_ms = 2000\n{text}\n'
            )
            log = folder / f"{name}.log"
            running.append(start([f"{build}/bin/ecod", "--config", f"{folder}/{name}.toml"], log))
            wait_for(log, "is up")
        settings = folder / "eco.toml"
        settings.write_text(f'node = "unix:{folder}/home.sock"\nplace_timeout_ms = 200\n')
        end = time.monotonic() + 20
        ask = [f"{build}/bin/ecoctl", "--socket", f"{folder}/home-c.sock", "servers"]
        while "2 of 2 servers alive" not in subprocess.run(ask, capture_output=True, text=True, check=True).stdout:
            if time.monotonic() > end:
                sys.exit("black_hole: the federation has not two servers alive")
            time.sleep(0.1)
        yield settings
    finally:
        for process in running:
            stop(process)


def db_bench(folder: Path, seconds: int, seed: int, environment: dict[str, str]) -> float:
    """Operations per second."""
    command = [
        *("db_bench", "--benchmarks=fillrandom", f"--db={folder}/db", "--num=100000000", f"--duration={seconds}"),
        *(
            "--value_size=400",
            "--compression_type=none",
            "--write_buffer_size=524288",
            "--target_file_size_base=1048576",
        ),
        *("--max_bytes_for_level_base=4194304", "--level0_slowdown_writes_trigger=8", f"--seed={seed}"),
        *("--level0_stop_writes_trigger=12", "--max_background_jobs=2"),
    ]
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=False)
    match = re.search(r"fillrandom.*?(\d+) ops/sec", done.stdout)
    if done.returncode or not match or bool(environment) != ("eco: attached" in done.stderr):
        sys.exit(f"black_hole: db_bench failed: {done.stdout[-500:]}{done.stderr[-500:]}")
    subprocess.run(["rm", "-rf", f"{folder}/db"], check=True)
    return float(match[1])


def one_round(kind: str, build: Path, number: int, seconds: int) -> tuple[float, float, int]:
    """Operations per second without and with eco, and the jobs that were tried at the black hole."""
    with tempfile.TemporaryDirectory(prefix="black-hole-") as name:
        folder = Path(name)
        with black_hole(kind, build, folder) as address, federation(build, folder, address) as settings:
            preload = {"LD_PRELOAD": f"{build}/lib/libeco-preload.so", "ECO_CONFIG": str(settings)}
            arms: list[dict[str, str]] = [{}, preload] if number % 2 else [preload, {}]
            rates = {bool(arm): db_bench(folder, seconds, number, arm) for arm in arms}
            ask = [f"{build}/bin/ecoctl", "--socket", f"{folder}/home-c.sock", "servers"]
            table = subprocess.run(ask, capture_output=True, text=True, check=True).stdout
    tried = re.search(r"home has offloaded (\d+) of its jobs", table)
    return rates[False], rates[True], int(tried[1]) if tried else 0


def enter_namespace() -> None:
    """This process runs on in a separate network, where packets to DROPPED are lost."""
    if os.environ.get("BLACK_HOLE_INSIDE"):
        for line in (
            "ip link set lo up",
            "ip route del table local local 127.0.0.0/8 dev lo",
            "ip link add lost type veth peer name away",
            "ip link set lost up",
            "ip link set away up",
            f"ip route add {DROPPED}/32 dev lost src 127.0.0.1",
            f"ip neigh add {DROPPED} lladdr 02:00:00:00:00:01 dev lost nud permanent",
        ):
            subprocess.run(line.split(), check=True)
        for device in ("all", "lost"):
            Path(f"/proc/sys/net/ipv4/conf/{device}/route_localnet").write_text("1")
        return
    os.environ["BLACK_HOLE_INSIDE"] = "1"
    os.execvp("unshare", ["unshare", "--net", "--mount", sys.executable, *sys.argv])


def main() -> int:
    """Run the rounds; 0: the median reaches the bar."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=["socket", "stopped", "dropped", "full"])
    parser.add_argument("--build", type=Path, default=Path(__file__).resolve().parents[2] / "build")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=30, help="of each fill")
    parser.add_argument("--bar", type=float, default=0.9, help="of the median ratio")
    arguments = parser.parse_args()
    if arguments.kind == "dropped":
        enter_namespace()
    ratios = []
    for number in range(1, arguments.rounds + 1):
        without, with_eco, tried = one_round(arguments.kind, arguments.build, number, arguments.seconds)
        ratios.append(with_eco / without)
        print(f"{arguments.kind} round {number}: {without:.0f} ops/s without eco, {with_eco:.0f} with it", end="")
        print(f" ({ratios[-1]:.3f}); {tried} jobs tried", flush=True)
    median = statistics.median(ratios)
    print(f"{arguments.kind}: median ratio {median:.3f}, {min(ratios):.3f} to {max(ratios):.3f}; bar {arguments.bar}")
    return 0 if median >= arguments.bar else 1


if __name__ == "__main__":
    sys.exit(main())
