"""What each layer between rows and device adds: Figures 1, 3 and 4 of the LUNAR paper (LCTES '23), as tables."""

import re
from collections import Counter
from collections.abc import Callable

from block_trace import requests_of
from contest import Bench, Case, Reading
from loops import MKFS, missing, run
from sections import MIB, Plan, Section, lunar, sqlite

BLOCK_SECTORS = 8  # ext4's blocks of 4 KB (MKFS) in Linux's sectors
JOURNAL_INODE = "<8>"  # of ext4


def layers(bench: Bench, plan: Plan) -> Section:
    """Bytes at each layer for SQLite on each file system that there is and for lunar; then one insertion's requests."""
    section = Section(
        "layers",
        "Layers: Mobibench's 4 KB inserts and updates until at rest (10 k rows there before): bytes of rows, "
        "of write calls and at the device",
    )
    section.lines.append(f"{'MB/s':46}{'rows':>10}{'calls':>10}{'device':>10}{'rows lose':>12}{'calls lose':>12}")
    for kind in MKFS:
        if why := missing(kind):
            section.lines.append(f"{kind}: {why}")
            continue
        bench.loops.make_file_system(kind)
        measure(bench, plan, section, kind, peers())
    bench.loops.make_file_system("ext4")
    measure(bench, plan, section, "bare", [lunar("metadata"), lunar("full")])
    section.lines += requests_of_inserts(bench, plan, section)
    return section


def peers() -> list[Case]:
    """SQLite, each write synced."""
    return [sqlite("delete", "full"), sqlite("truncate", "full"), sqlite("wal", "full")]


def measure(bench: Bench, plan: Plan, section: Section, place: str, cases: list[Case]) -> None:
    """A line for each kind of work and case."""
    for kind in ("insert", "update"):
        work = ["--work", kind, "--load", str(plan.of(10000, 1000)), "--operations", str(plan.of(2000, 100))]
        for case in cases:
            case.readings = []
        bench.rounds(cases, work, min(plan.rounds, 3), plan.note)
        for case in cases:
            name = f"{kind}, {place}: {case.name}"
            section.lines.append(line(name, case))
            section.data[name] = case.readings


def line(name: str, case: Case) -> str:
    """Bandwidth of the rows, of the write calls and of the device; what the first two lose to the last."""
    figures: list[Callable[[Reading], float]] = [
        lambda reading: reading["payload_bytes"],
        lambda reading: reading["bytes_written_by_calls"],
        lambda reading: reading["block"]["bytes_written"],
    ]
    rows, calls, device = (
        case.median(lambda reading, figure=figure: figure(reading) / reading["seconds_at_rest"] / MIB)
        for figure in figures
    )
    lost = [
        1 - case.median(lambda reading, figure=figure: figure(reading) / figures[-1](reading)) for figure in figures
    ]
    return f"{name:46}{rows:10.2f}{calls:10.2f}{device:10.2f}{lost[0]:12.1%}{lost[1]:12.1%}"


def requests_of_inserts(bench: Bench, plan: Plan, section: Section) -> list[str]:
    """The requests until one insertion of 4 KB is durable, by what they are for; and of many, in the mean."""
    lines = []
    for case in [*peers(), lunar("full")]:
        for operations in (1, plan.of(1000, 50)):
            bench.trace([case], ["--load", "1000", "--operations", str(operations)], plan.note)
            named = named_requests(bench, case)
            if operations == 1:
                lines += ["", f"One durable 4 KB insert: {case.name}", *map(request_line, named)]
                section.data[f"one insert: {case.name}"] = named
            else:
                lines.append(f"  {operations} inserts, of each:")
                lines += means(named, operations)
    return lines


Named = tuple[str, int, str]  # what Linux says that it does, sectors, what for


def named_requests(bench: Bench, case: Case) -> list[Named]:
    """The requests before the last acknowledgement, and whose each is: of a zone of lunar or a part of ext4."""
    if case.place == "bare":
        zones = sorted((begin, name) for name, begin in case.zones.items())

        def name(what: str, sector: int) -> str:
            return max((begin, name) for begin, name in zones if begin <= sector)[1]
    else:
        journal, database = ext4_journal(bench), database_file(bench)

        def name(what: str, sector: int) -> str:
            block = sector // BLOCK_SECTORS
            if block in journal:
                return "journal of ext4"
            if block in database:
                return "database file"
            # SQLite's journal or WAL is gone by now; the kernel marks (M) what is not the content of a file.
            return "metadata of ext4" if "M" in what else "journal or WAL of SQLite"

    return [(what, sectors, name(what, sector) if sectors else "") for what, sector, sectors in case.acknowledged]


def ext4_journal(bench: Bench) -> set[int]:
    """Its blocks."""
    listed = run("debugfs", "-R", f"blocks {JOURNAL_INODE}", bench.loops.devices["other"])
    return {int(block) for block in listed.split()}


def database_file(bench: Bench) -> set[int]:
    """Blocks of SQLite's database."""
    run("sync", "-f", bench.loops.folder)
    listed = run("filefrag", "-e", bench.loops.folder / "rows.db")
    extents = re.findall(r"^ *\d+: +\d+\.\. +\d+: +(\d+)\.\. +(\d+):", listed, re.MULTILINE)
    return {block for first, last in extents for block in range(int(first), int(last) + 1)}


def request_line(named: Named) -> str:
    """As people read it."""
    what, sectors, of = named
    if not sectors:
        return "  flush"
    steps = [
        "flush" if step == "F" else f"{'write' if step[0] == 'W' else 'read'} {sectors} sector(s): {of}"
        for step in requests_of(what, 0, sectors)
    ]
    return "  " + ", ".join(steps)


def means(named: list[Named], operations: int) -> list[str]:
    """Requests and sectors per insertion, by what they are for."""
    requests = Counter((of, "W" in what) for what, sectors, of in named if sectors)
    sectors = Counter[tuple[str, bool]]()
    for what, count, of in named:
        sectors[of, "W" in what] += count
    flushes = sum(requests_of(what, 0, count).count("F") for what, count, _ in named)
    lines = [
        f"    {count / operations:.2f} {'writes' if written else 'reads'}, "
        f"{sectors[of, written] / operations:.1f} sectors: {of}"
        for (of, written), count in requests.most_common()
    ]
    return [*lines, f"    {flushes / operations:.2f} flushes"]
