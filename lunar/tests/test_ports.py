"""The firmware of the emulated boards under QEMU prints the same lines as the host."""

import re
import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

REPOSITORY = Path(__file__).parents[2]
HOST = REPOSITORY / "build" / "bin" / "lunar-portable-host"
DISK_BYTES = 6144 * 512
TIMEOUT_S = 150

pytestmark = pytest.mark.qemu


def virt(image: Path, disk: Path, transport: str) -> list[str]:
    return [
        *("qemu-system-riscv64", "-machine", "virt", "-bios", "none", "-m", "16M", "-smp", "1"),
        *("-display", "none", "-serial", "stdio", "-monitor", "none", "-kernel", str(image)),
        *("-drive", f"file={disk},format=raw,if=none,id=d0,cache=unsafe"),
        *("-device", "virtio-blk-device,drive=d0,bus=virtio-mmio-bus.0"),
        *("-global", f"virtio-mmio.force-legacy={'true' if transport == 'legacy' else 'false'}"),
        *("-icount", "shift=0,sleep=off"),
    ]


def mps2(image: Path, disk: Path, transport: str) -> list[str]:
    return [
        *("qemu-system-arm", "-machine", "mps2-an385", "-display", "none", "-serial", "stdio", "-monitor", "none"),
        *("-kernel", str(image), "-icount", "shift=6,sleep=off"),
        *("-semihosting-config", f"enable=on,target=native,arg=firmware,arg={disk}"),
    ]


BOARDS = {"qemu-virt": virt, "mps2": mps2}
on_every_board = pytest.mark.parametrize("board", list(BOARDS))


@cache
def board_prints(board: str, build: str, transport: str = "modern") -> str:
    """Returns the output of the firmware; fails on another exit code than 0."""
    image = REPOSITORY / "build" / board / f"firmware-{build}.elf"
    with TemporaryDirectory() as directory:
        disk = Path(directory) / "disk.img"
        with disk.open("wb") as file:
            file.truncate(DISK_BYTES)
        command = BOARDS[board](image, disk, transport)
        run = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, stdin=subprocess.DEVNULL)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


@cache
def host_prints() -> str:
    return subprocess.run([HOST], capture_output=True, text=True, timeout=TIMEOUT_S, check=True).stdout


@on_every_board
def test_prints_the_hosts_lines_byte_by_byte(board: str) -> None:
    host = host_prints()
    assert "not ok" not in host
    assert "ok 1 - formats_and_mounts_an_empty_volume" in host
    assert "100/0 skew 0.5" in host
    assert board_prints(board, "sql")[: len(host)] == host


@on_every_board
def test_passes_without_any_module_over_a_legacy_disk_that_is_polled(board: str) -> None:
    printed = board_prints(board, "basic", "legacy")
    assert "not ok" not in printed
    assert re.search(r"^# (\d+) of \1 tests passed$", printed, re.MULTILINE)
    assert printed.endswith("== done\n")


@on_every_board
def test_counts_instructions_and_not_the_disks_waits(board: str) -> None:
    over_ram = board_prints(board, "sql").split("== YCSB over RAM")[1]
    counts = [int(n) for n in re.findall(r"^(?:load|\d+/\d+ skew [0-9.]+) +\d+ +(\d+)$", over_ram, re.MULTILINE)]
    assert len(counts) == 26
    assert all(1_000 < count < 1_000_000 for count in counts)


@pytest.mark.parametrize(
    ("figure", "stated"),
    [
        ("deepest stack", "At most {:,} bytes on RV64, {:,} on a Cortex-M3 (basic build)"),
        ("together", "| RAM | {:,} bytes on RV64, {:,} on a Cortex-M3 (basic build: stack, handle, table, buffer) |"),
    ],
)
def test_the_readme_states_the_ram_of_the_boards(figure: str, stated: str) -> None:
    printed = [int(re.search(rf"^{figure} +(\d+)$", board_prints(board, "basic"), re.MULTILINE)[1]) for board in BOARDS]
    assert stated.format(*printed) in (REPOSITORY / "lunar/README.md").read_text()
