"""The firmware of the emulated boards under QEMU, and what it prints."""

import re
import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

REPOSITORY = Path(__file__).parents[2]
DISK_BYTES = 6144 * 512
TIMEOUT_S = 150


def virt(image: Path, disk: Path, transport: str) -> list[str]:
    """RV64."""
    return [
        *("qemu-system-riscv64", "-machine", "virt", "-bios", "none", "-m", "16M", "-smp", "1"),
        *("-display", "none", "-serial", "stdio", "-monitor", "none", "-kernel", str(image)),
        *("-drive", f"file={disk},format=raw,if=none,id=d0,cache=unsafe"),
        *("-device", "virtio-blk-device,drive=d0,bus=virtio-mmio-bus.0"),
        *("-global", f"virtio-mmio.force-legacy={'true' if transport == 'legacy' else 'false'}"),
        *("-icount", "shift=0,sleep=off"),
    ]


def mps2(image: Path, disk: Path, transport: str) -> list[str]:
    """A Cortex-M3."""
    return [
        *("qemu-system-arm", "-machine", "mps2-an385", "-display", "none", "-serial", "stdio", "-monitor", "none"),
        *("-kernel", str(image), "-icount", "shift=6,sleep=off"),
        *("-semihosting-config", f"enable=on,target=native,arg=firmware,arg={disk}"),
    ]


BOARDS = {"qemu-virt": virt, "mps2": mps2}


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


def stacks(board: str, build: str) -> dict[str, int]:
    """Bytes of stack by call."""
    printed = re.findall(r"^stack, (.+?) +(\d+)$", board_prints(board, build), re.MULTILINE)
    return {call: int(size) for call, size in printed}
