"""What lunar takes of a device: ROM by module, static RAM, the RAM of a handle, and what it needs from a C library.

Measured are the objects that the firmware of `make firmware` is linked from. Three columns for each target: the
library without any optional module, with all of them but SQL, and with SQL.
Usage: size.py BUILD... (folders that `make firmware` made)
"""

import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

LUNAR = Path(__file__).parents[1]
KIB = 1024
# The paper's Table 3, in KB of 1024 bytes (its LUNAR has no SQL), and what this project aims at.
BARS = {"basic": (32.508, 24), "all": (69.667, 48), "sql": (None, 64)}
# What years in the field may add to the paper's size (docs/adr/053, 055 to 058): the space of deleted rows, less
# wear, remembered searches, second copies of metadata; with all modules also the repair, which the paper's has not,
# recovery from damage in the log, and the names of invalid arguments.
ALLOWANCE = {"basic": 5 * KIB + KIB // 4, "all": 18 * KIB + KIB // 2, "sql": 0}
C_LIBRARY = re.compile(r"(mem|str)[a-z]+")
# What -msave-restore calls to save registers: a few hundred bytes of libgcc, shared with the rest of the firmware.
SAVE_RESTORE = re.compile(r"__riscv_(save|restore)_\d+")
# Arithmetic that a processor has not: libgcc has it. SQL's REAL and its numbers in decimal need it.
ARITHMETIC = re.compile(r"__aeabi_\w+|__\w+(df|di)[2-4]?")


class SizeError(Exception):
    """The library is not what it promises to be, or has not been built."""


@dataclass
class Archive:
    """One build of the library: bytes by file, and its symbols from outside."""

    files: dict[str, int] = field(default_factory=dict)
    outside: set[str] = field(default_factory=set)
    static_ram: int = 0
    linked: int = 0


@dataclass
class Target:
    """One compiler and its options."""

    name: str
    archives: dict[str, Archive]
    ram: dict[str, int]


def modules() -> dict[str, tuple[str, str]]:
    """File to (group, module), from src/MODULES; every file of src is there."""
    lines = (LUNAR / "src" / "MODULES").read_text().splitlines()
    rows = [line.split(maxsplit=2) for line in lines if line and not line.startswith("#")]
    known = {Path(file).name: (group, module) for file, group, module in rows}
    unmapped = {path.name for path in (LUNAR / "src").glob("*/*.c")} - known.keys()
    if unmapped:
        raise SizeError(f"src/MODULES does not name {', '.join(sorted(unmapped))}")
    return known


def printed(*command: str | Path) -> str:
    """What a command prints."""
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def cached(build: Path, name: str) -> str:
    """A variable of the build, as CMake keeps it."""
    cache = build / "CMakeCache.txt"
    if not cache.exists():
        raise SizeError(f"{build} has not been built: run make firmware")
    match = re.search(rf"^{name}:[A-Z]+=(.*)$", cache.read_text(), re.MULTILINE)
    return match[1] if match else ""


def read_archive(tools: str, path: Path, known: dict[str, tuple[str, str]]) -> Archive:
    """One archive, by the tools with this prefix."""
    archive = Archive()
    for line in printed(f"{tools}size", path).splitlines()[1:]:
        text, data, bss, _, _, name = line.split(maxsplit=5)
        file = name.split()[0].removesuffix(".obj").removesuffix(".o")
        if file not in known:
            raise SizeError(f"{path} has {file}, which src/MODULES does not name")
        archive.files[file] = int(text) + int(data)
        archive.static_ram += int(data) + int(bss)
    symbols = re.findall(r"^(?:[0-9a-f]+)? *([A-Za-z]) (\S+)$", printed(f"{tools}nm", path), re.MULTILINE)
    defined = {name for kind, name in symbols if kind in "TRDB"}
    archive.outside = {name for kind, name in symbols if kind == "U"} - defined
    return archive


def linked(tools: str, path: Path, archive: Archive) -> int:
    """Bytes of the whole archive in a program: the linker makes far calls near ones where it can."""
    outside = [f"--defsym={symbol}=0x80000" for symbol in sorted(archive.outside)]
    with tempfile.TemporaryDirectory() as directory:
        made = Path(directory) / "linked.elf"
        whole = ("--whole-archive", path, "--no-whole-archive")
        printed(f"{tools}ld", "-Ttext=0x10000", "-e", "0x10000", *whole, *outside, "-o", made)
        text, data, *_ = printed(f"{tools}size", made).splitlines()[1].split()
    return int(text) + int(data)


def ram_of(tools: str, flags: list[str]) -> dict[str, int]:
    """Bytes of what a program places in its RAM."""
    wanted = {
        "handle": "sizeof(struct lunar)",
        "table": "sizeof(struct lunar_table)",
        "cursor": "sizeof(struct lunar_cursor)",
        "smallest buffer, 512-byte sectors": "LUNAR_BUFFER_BYTES_MIN(512)",
    }
    source = '#include "lunar.h"\n' + "".join(f"char s{i}[{size}];\n" for i, size in enumerate(wanted.values()))
    with tempfile.TemporaryDirectory() as directory:
        (Path(directory) / "sizes.c").write_text(source)
        made = Path(directory) / "sizes.o"
        include = f"-I{LUNAR / 'include'}"
        printed(f"{tools}gcc", *flags, "-std=c11", include, "-c", Path(directory) / "sizes.c", "-o", made)
        symbols = re.findall(r"^\S+ (\S+) [BbCDS] s(\d+)$", printed(f"{tools}nm", "-S", made), re.MULTILINE)
    sizes = {int(number): int(size, 16) for size, number in symbols}
    return {name: sizes[i] for i, name in enumerate(wanted)}


def read_target(build: Path, known: dict[str, tuple[str, str]]) -> Target:
    """What one folder was built for, and its archives."""
    tools = cached(build, "CMAKE_AR").removesuffix("ar")
    more = cached(build, "LUNAR_C_FLAGS")
    flags = cached(build, "CMAKE_C_FLAGS").split()
    processor = next(flag.split("=")[1] for flag in flags if flag.startswith(("-march=", "-mcpu=")))
    paths = {name: build / f"liblunar-{name}.a" for name in BARS}
    archives = {name: read_archive(tools, path, known) for name, path in paths.items()}
    for name, archive in archives.items():
        archive.linked = linked(tools, paths[name], archive)
    return Target(f"{processor} -Os {more}".strip(), archives, ram_of(tools, flags))


def print_table(targets: list[Target], known: dict[str, tuple[str, str]]) -> None:
    """A row for each module and file, two columns for each target."""
    archives = [(target, name) for target in targets for name in BARS]
    third = max(len(target.name) for target in targets) // len(BARS) + 3

    def line(what: str, figures: list[str]) -> None:
        print(f"{what:36}" + "".join(f"{figure:>{third}}" for figure in figures).rstrip())

    def sums(files: list[str]) -> list[str]:
        return [str(sum(target.archives[name].files.get(file, 0) for file in files)) for target, name in archives]

    print("bytes of ROM".ljust(36) + "".join(f"{target.name:>{third * len(BARS)}}" for target in targets))
    line("", [name for _, name in archives])
    for group, module in dict.fromkeys(sorted(known.values(), key=lambda m: ("basic system table".find(m[0]), m[1]))):
        files = [file for file, of in known.items() if of == (group, module)]
        line(f"{group}: {module}", sums(files))
        if len(files) > 1:
            for file in files:
                line(f"    {file}", sums([file]))
    line("together", sums(list(known)))
    line("  in KB of 1024 bytes", [f"{int(bytes_) / KIB:.1f}" for bytes_ in sums(list(known))])
    line("  linked, KB", [f"{target.archives[name].linked / KIB:.1f}" for target, name in archives])
    line("  the paper's LUNAR, KB", [f"{BARS[name][0] or '-':.4}" for _, name in archives])
    line("  aim, KB", [str(BARS[name][1]) for _, name in archives])
    line("static RAM", [str(target.archives[name].static_ram) for target, name in archives])
    for what in targets[0].ram:
        line(f"RAM: {what}", [figure for target in targets for figure in ("", "", str(target.ram[what]))])


def faults(targets: list[Target]) -> list[str]:
    """What breaks a promise, and by how much the paper's sizes are missed."""
    faults = []
    for target in targets:
        for name, archive in target.archives.items():
            where = f"{target.name}, {name}"
            foreign = {s for s in archive.outside if not C_LIBRARY.fullmatch(s) and not SAVE_RESTORE.fullmatch(s)}
            if name == "sql":
                foreign = {symbol for symbol in foreign if not ARITHMETIC.fullmatch(symbol)}
            if foreign:
                faults.append(f"{where}: needs {', '.join(sorted(foreign))} from outside")
            if archive.static_ram:
                faults.append(f"{where}: {archive.static_ram} bytes of static RAM, expected none")
            paper = BARS[name][0]
            over = sum(archive.files.values()) - paper * KIB if paper else 0
            allowed = ALLOWANCE[name]
            if over > allowed:
                faults.append(f"{where}: {over:.0f} bytes more than the paper's {paper} KB, {allowed} are allowed")
    return faults


def main(builds: list[str]) -> int:
    """0; 1 when a promise is broken; 2 when nothing could be measured."""
    try:
        known = modules()
        targets = [read_target(Path(build), known) for build in builds]
    except SizeError as error:
        print(f"size-lunar: {error}", file=sys.stderr)
        return 2
    print_table(targets, known)
    outside = set().union(*(archive.outside for target in targets for archive in target.archives.values()))
    library = sorted(symbol for symbol in outside if C_LIBRARY.fullmatch(symbol))
    print(f"from the C library: {', '.join(library)}")
    if any(ARITHMETIC.fullmatch(symbol) for symbol in outside):
        print("SQL: and libgcc's arithmetic where the processor has none, not counted above")
    if any(SAVE_RESTORE.fullmatch(symbol) for symbol in outside):
        print("-msave-restore: and libgcc's routines that save registers, not counted above")
    complaints = faults(targets)
    for fault in complaints:
        print(fault)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
