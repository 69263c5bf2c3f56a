"""What is measured: each section runs its cases and says its table and bars."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from contest import (
    Bar,
    Bench,
    Case,
    Reading,
    amplification,
    cpu_us,
    rate,
    rate_at_rest,
    ratio,
    ratio_bar,
)

MIB = 1 << 20
BUFFER = {"4 MB": 4 << 20, "1 MB": 1 << 20, "4 KB": 4096}


def lunar(mode: str, buffer: str = "1 MB", place: str = "bare") -> Case:
    """lunar's modules are what the library has now: basic and buffer."""
    options = ["--engine", "lunar", "--mode", mode, "--buffer-bytes", str(BUFFER[buffer])]
    return Case(f"lunar {mode}, {buffer}{' on the card' if place == 'card' else ''}", place, options)


def lunar_cached(mode: str, buffer: str = "1 MB") -> Case:
    """lunar through the kernel's page cache, as LMDB is."""
    case = lunar(mode, buffer)
    return Case(f"{case.name}, page cache", "bare", [*case.options, "--page-cache"])


def sqlite(journal: str, synchronous: str, buffer: str = "1 MB") -> Case:
    """SQLite; its cache has as many bytes as lunar's buffer."""
    options = ["--engine", "sqlite", "--journal", journal, "--synchronous", synchronous]
    options += ["--buffer-bytes", str(BUFFER[buffer])]
    return Case(f"SQLite {journal.upper()} {synchronous.upper()}, {buffer}", "folder", options)


def lmdb() -> Case:
    """LMDB, every transaction synced."""
    return Case("LMDB sync", "folder", ["--engine", "lmdb"])


def raw(writes: int) -> Case:
    """No database."""
    name = "raw: one write, one flush" if writes == 1 else "raw: two writes, one flush"
    return Case(name, "bare", ["--engine", "raw", "--raw-writes", str(writes)])


def lunar_query_cache(mode: str, buffer: str) -> Case:
    """Half of lunar's RAM is a query cache."""
    half = str(BUFFER[buffer] // 2)
    options = ["--engine", "lunar", "--mode", mode, "--buffer-bytes", half, "--query-cache-bytes", half]
    return Case(f"lunar {mode}, {buffer}, half for rows", "bare", options)


def raw_read() -> Case:
    """No database: the row's sectors with one request."""
    return Case("raw: one read", "bare", ["--engine", "raw"])


@dataclass
class Plan:
    """How much."""

    quick: bool
    rounds: int
    scratch: Path
    note: Callable[[str], None]

    def of(self, full: int, quick: int) -> int:
        """The full number, or that of a quick run."""
        return quick if self.quick else full


@dataclass
class Section:
    """A part of the bench with its results."""

    name: str
    title: str
    lines: list[str] = field(default_factory=list)
    bars: list[Bar] = field(default_factory=list)
    data: dict[str, Any] = field(default_factory=dict)

    def keep(self, cases: Sequence[Case]) -> None:
        """Every round's figures."""
        self.data |= {case.name: case.readings for case in cases}


COLUMNS: tuple[tuple[str, Callable[[Reading], float], int], ...] = (
    ("ops/s", rate, 0),
    ("at rest", rate_at_rest, 0),
    ("CPU us/op", cpu_us, 1),
    ("bytes/byte", amplification, 3),
)
REQUESTS = {"writes/op": "W", "flushes/op": "F", "reads/op": "R"}


def table(cases: Sequence[Case]) -> list[str]:
    """Medians over the rounds, rates with [least, most]."""
    names = [*(name for name, _, _ in COLUMNS), *REQUESTS]
    lines = [f"{'':28}" + "".join(f"{name:>12}" for name in names) + "   ops/s by round"]
    for case in cases:
        rates = [rate(reading) for reading in case.readings]
        cells = "".join(f"{case.median(figure):12.{digits}f}" for _, figure, digits in COLUMNS)
        cells += "".join(f"{case.per_operation(kind):12.3f}" for kind in REQUESTS.values())
        lines.append(f"{case.name:28}{cells}   [{min(rates):.0f}, {max(rates):.0f}]")
    return lines


def block_reads(reading: Reading) -> float:
    """Requests per operation, by the device's own counter."""
    return reading["block"]["reads"] / reading["operations"]


def block_sectors(reading: Reading) -> float:
    """Of 512 bytes, read per operation."""
    return reading["block"]["bytes_read"] / 512 / reading["operations"]


READ_COLUMNS: tuple[tuple[str, Callable[[Reading], float], int], ...] = (
    ("ops/s", rate, 0),
    ("CPU us/op", cpu_us, 1),
    ("reads/op", block_reads, 3),
    ("sectors/op", block_sectors, 3),
)


def ceilings(bench: Bench, plan: Plan) -> Section:
    """What the device itself does: a write and a flush, and a second sector before it; beside lunar in mode full.

    LMDB updates by its own API: the driver's adapter has text for keys, which makes LMDB's tree deeper.
    """
    section = Section(
        "ceilings", "Ceilings: durable 4 KB inserts; durable 100-byte updates in 500-byte rows (20 k rows)"
    )
    ours, cached, other = lunar("full"), lunar_cached("full"), lmdb()
    inserts = [lunar("full"), raw(1), raw(2)]
    updates = [ours, cached, other, raw(1), raw(2)]
    update = ["--work", "update", "--columns", "5", "--column-bytes", "100", "--load", "20000"]
    for name, cases, options in (("insert", inserts, []), ("update", updates, update)):
        work = [*options, "--operations", str(plan.of(3000, 400))]
        bench.rounds(cases, work, plan.rounds, plan.note)
        bench.trace(cases, work, plan.note)
        section.lines += [*([""] if section.lines else []), name, *table(cases)]
        section.data |= {f"{name}: {case.name}": case.readings for case in cases}
    section.bars = [
        ratio_bar("100-byte update: ops/s to LMDB, which reads from the page cache", ours, other, 2),
        ratio_bar("100-byte update: ops/s to LMDB, both through the page cache", cached, other, 2),
    ]
    return section


def reads(bench: Bench, plan: Plan) -> Section:
    """Rows by their keys, past the page cache, of a table much larger than the buffer. Loaded once for all cases."""
    rows = plan.of(500_000, 50_000)
    section = Section("reads", f"Reads by key past the page cache, {rows} rows (8-byte key, five columns of 100 bytes)")
    work = ["--work", "update", "--reads", "1", "--columns", "5", "--column-bytes", "100", "--load", str(rows)]
    for case in (sqlite("wal", "full"), lunar("full", "4 MB")):
        plan.note(f"load: {case.name}")
        bench.run(case, [*work, "--operations", "1"])
    section.lines.append(f"{'':44}" + "".join(f"{name:>12}" for name, _, _ in READ_COLUMNS) + "   lunar to it")
    for buffer in ("1 MB", "4 MB"):
        for skew in (0, 0.5, 0.99):
            reads_of(bench, plan, section, buffer, skew, work)
    return section


def reads_of(bench: Bench, plan: Plan, section: Section, buffer: str, skew: float, work: list[str]) -> None:
    """One choice of keys; the bar is on the ratio to the faster SQLite."""
    ours = lunar("full", buffer)
    peers = [sqlite("wal", "full", buffer), sqlite("truncate", "full", buffer)]
    for peer in peers:
        peer.options = [*peer.options, "--direct"]
    cases = [ours, lunar_query_cache("full", buffer), *peers]
    for case in cases:
        case.loaded = True
    if buffer == "1 MB":
        cases.append(raw_read())
    warm_up, operations = plan.of(10000, 2000), plan.of(20_000, 2000)
    work = [*work, "--skew", str(skew), "--warm-up", str(warm_up), "--operations", str(operations)]
    bench.rounds(cases, work, plan.rounds, plan.note)
    for case in cases:
        figures = "".join(f"{case.median(figure):12.{digits}f}" for _, figure, digits in READ_COLUMNS)
        middle, least, most = ratio(ours, case, rate)
        beside = "" if case is ours else f"   {middle:.2f} [{least:.2f}, {most:.2f}]"
        section.lines.append(f"  skew {skew:4}  {case.name:32}{figures}{beside}")
        section.data[f"skew {skew}: {case.name}"] = case.readings
    faster = min(peers, key=lambda peer: ratio(ours, peer, rate)[0])
    if buffer == "1 MB":
        name = f"reads past the page cache, skew {skew}: ops/s to {faster.name.removesuffix(', 1 MB')}"
        section.bars.append(ratio_bar(name, ours, faster, 2))


MODES = {"disorder": 30.0, "metadata": 60.0, "data": 70.0, "full": 77.0}


def latency_on_card(reading: Reading) -> float:
    """Seconds of the simulated card per operation, until at rest."""
    return reading["own"]["card_at_rest_s"] / reading["operations"]


def own_amplification(reading: Reading) -> float:
    """Bytes that lunar wrote per byte of payload, until at rest."""
    return reading["own"]["bytes_written"] / reading["payload_bytes"]


def log_bytes(reading: Reading) -> float:
    """Per operation."""
    return reading["own"]["log_bytes"] / reading["operations"]


def latency_at_rest(reading: Reading) -> float:
    """Seconds per operation, until at rest."""
    return reading["seconds_at_rest"] / reading["operations"]


def modes(bench: Bench, plan: Plan) -> Section:
    """What each consistency mode costs over none: rows of the paper's YCSB, only written.

    Within one durability class: full beside none that is synced after every operation, on the loop device too; the
    others without syncs, on the card model alone.
    """
    section = Section("modes", "Modes: write-only YCSB (8-byte key, five columns of 100 bytes), 1 MB")
    shape = ["--columns", "5", "--column-bytes", "100"]
    section.lines.append(
        f"{'':32}{'loop ops/s':>12}{'over none':>12}{'card ops/s':>12}{'over none':>12}"
        f"{'bytes/byte':>12}{'log bytes/op':>14}"
    )
    for kind in ("insert", "update"):
        for synced in (False, True):
            operations = plan.of(2000, 400) if synced else plan.of(20000, 4000)
            work = [*shape, "--work", kind, "--load", "20000", "--operations", str(operations)]
            modes_of(bench, plan, section, kind, work, synced)
    return section


def modes_of(bench: Bench, plan: Plan, section: Section, kind: str, work: list[str], synced: bool) -> None:
    """One durability class."""
    names = ["none", *MODES] if synced else ["none", *(mode for mode in MODES if mode != "full")]
    loop = {mode: lunar(mode) for mode in names} if synced else {}
    cards = {mode: lunar(mode, place="card") for mode in names}
    work = [*work, "--sync-each"] if synced else work
    bench.rounds(list(loop.values()), work, min(plan.rounds, 3), plan.note)
    bench.rounds(list(cards.values()), work, 1, plan.note)
    suffix = ", synced each" if synced else ""
    for mode, case in cards.items():
        on_loop, over = f"{'':24}", over_none(loop, mode, latency_at_rest) if synced else None
        if over is not None:
            on_loop = f"{loop[mode].median(rate_at_rest):12.0f}{over:11.1f}%"
        card_over = over_none(cards, mode, latency_on_card)
        section.lines.append(
            f"{kind + ', ' + mode + suffix:32}{on_loop}{1 / case.median(latency_on_card):12.0f}{card_over:11.1f}%"
            f"{case.median(own_amplification):12.2f}{case.median(log_bytes):14.0f}"
        )
        if mode in MODES and synced == (mode == "full"):
            name = f"mode {mode} over none, {kind}s"
            if over is not None:
                section.bars.append(Bar(f"{name}, loop device", over, MODES[mode], True, "%"))
            section.bars.append(Bar(f"{name}, card model", card_over, MODES[mode], True, "%"))
    section.data |= {f"{kind}: {case.name}{suffix}": case.readings for case in [*loop.values(), *cards.values()]}


def over_none(cases: dict[str, Case], mode: str, latency: Callable[[Reading], float]) -> float:
    """By how many percent a mode's latency is above that of mode none."""
    return (cases[mode].median(latency) / cases["none"].median(latency) - 1) * 100


def card(bench: Bench, plan: Plan) -> Section:
    """The durable insert on the simulated SD card: every engine's own block requests, flushes included."""
    section = Section("card", "Durable 4 KB inserts on the SD-card model (virtual clock; block traces replayed)")
    rows = plan.of(2000, 300)
    work = ["--operations", str(rows)]
    cases = {
        "lunar": lunar("full"),
        "lunar, 4 KB": lunar("full", "4 KB"),
        "TRUNCATE": sqlite("truncate", "full"),
        "WAL": sqlite("wal", "full"),
        "LMDB": lmdb(),
    }
    replays: dict[str, list[dict[str, Any]]] = {}
    section.lines.append(
        f"{'':28}{'rows/s':>10}{'mJ/row':>10}{'writes/row':>12}{'at random':>11}{'flushes/row':>13}{'pages/row':>11}"
    )
    for name, case in cases.items():
        file = plan.scratch / "trace"
        bench.trace([case], work, plan.note)
        file.write_text("".join(f"{line}\n" for line in case.requests))
        replays[name] = bench.call("replay", str(file))
        base = replays[name][0]
        section.lines.append(
            f"{case.name:28}{rows / base['card_s']:10.1f}{base['card_j'] / rows * 1e3:10.3f}"
            f"{base['writes'] / rows:12.3f}{base['random_writes'] / rows:11.3f}{base['flushes'] / rows:13.3f}"
            f"{base['pages_written'] / rows:11.2f}"
        )
    direct = bench.run(lunar("full", place="card"), work)[-1]
    section.data["emubd"] = direct
    own = direct["own"]
    section.lines.append(
        f"{'lunar full, 1 MB on emubd':28}{rows / own['card_at_rest_s']:10.1f}"
        f"{own['card_at_rest_j'] / rows * 1e3:10.3f}{own['writes'] / rows:12.3f}{'':11}{own['flushes'] / rows:13.3f}"
    )
    section.data["replays"] = replays
    section.lines += ["", f"{'times faster than':46}{'TRUNCATE':>10}{'WAL FULL':>10}{'LMDB':>8}   joules alike"]
    for i, variant in enumerate(replays["lunar"]):
        ratios = {name: of[i]["card_s"] / variant["card_s"] for name, of in replays.items()}
        joules = {name: of[i]["card_j"] / variant["card_j"] for name, of in replays.items()}
        section.lines.append(
            f"{variant['variant']:46}{ratios['TRUNCATE']:10.2f}{ratios['WAL']:10.2f}{ratios['LMDB']:8.2f}"
            f"   {joules['TRUNCATE']:.2f} {joules['WAL']:.2f} {joules['LMDB']:.2f}"
        )
    for unit, key in (("time", "card_s"), ("joules", "card_j")):
        for peer, bar in (("TRUNCATE", 4.0), ("WAL", 2.0)):
            value = replays[peer][0][key] / replays["lunar"][0][key]
            spread = [replays[peer][i][key] / v[key] for i, v in enumerate(replays["lunar"]) if "50 %" in v["variant"]]
            section.bars.append(
                Bar(
                    f"durable insert on the card model: {unit} to SQLite {peer} FULL",
                    value,
                    bar,
                    spread=(min(spread), max(spread)),
                )
            )
    return section


def fragmentation(bench: Bench, plan: Plan) -> Section:
    """5 GB of tables that come and go in 1 GB."""
    section = Section("fragmentation", "Fragmentation: tables of 8 to 512 KB come and go, half full, 5 x written")
    section.lines.append(
        f"{'':28}{'volume':>9}{'score, 4 KB':>13}{'score, blocks':>15}{'wasted':>9}{'payload at most':>17}"
        f"{'times full':>12}{'s':>7}"
    )
    for name, mib, options in (
        ("variable (growth 2)", plan.of(1024, 64), []),
        ("variable, 70 % full", plan.of(256, 64), ["--full", "0.7"]),
        ("fixed 4 KB (growth 1)", plan.of(256, 64), ["--fixed"]),
    ):
        plan.note(f"fragmentation: {name}")
        volume = mib * MIB
        aged = bench.call("age", "--volume-bytes", str(volume), "--written-bytes", str(5 * volume), *options)
        section.data[name] = aged
        section.lines.append(
            f"{name:28}{mib:6} MB{aged['layout_score_4k']:13.3f}{aged['layout_score_blocks']:15.3f}"
            f"{100 * aged['wasted_share']:8.1f}%{100 * aged['payload_share_most']:16.1f}%"
            f"{aged['times_full']:12}{aged['seconds']:7.1f}"
        )
    score = section.data["variable (growth 2)"]["layout_score_4k"]
    section.bars.append(Bar("layout score, variable blocks, half full", score, 0.95, unit=""))
    return section


def wear(bench: Bench, plan: Plan) -> Section:
    """A week of a logger that makes each row durable, once a second."""
    rows = plan.of(604_800, 60_480)
    section = Section("wear", f"Wear: durable rows of 46 bytes, one a second, {rows / 86_400:.1f} days simulated")
    section.lines += [
        f"{'':28}{'buffer':>9}{'sectors':>9}{'metadata':>10}{'hottest':>9}{'times the mean':>16}{'times that':>12}"
        f"{'years to':>10}{'years to':>10}",
        f"{'':28}{'':9}{'a row':>9}{'a row':>10}{'a row':>9}{'of the written':>16}{'of all':>12}"
        f"{'30 TB':>10}{'100,000':>10}",
    ]
    for name, options in (
        ("ring of 4,000 rows", ["--ring-rows", "4000"]),
        ("ring of 4,000 rows, tree", ["--ring-rows", "4000", "--tree"]),
        ("ten counters in turn", ["--counters", "10"]),
        ("append", []),
        ("append, tree", ["--tree"]),
    ):
        for buffer in (2664, 4096, 16384):
            plan.note(f"wear: {name}")
            worn = bench.call("wear", *options, "--buffer-bytes", str(buffer), "--rows", str(rows))
            section.data[f"{name}, {buffer}"] = worn
            year = 86_400 * 365.25
            section.lines.append(
                f"{name:28}{buffer:9}{worn['sectors_a_row']:9.2f}{worn['metadata_a_row']:10.3f}"
                f"{worn['hottest_a_row']:9.4f}{worn['hottest_by_mean_of_written']:16.1f}"
                f"{worn['hottest_by_mean_of_all']:12.0f}{30e12 / (worn['sectors_a_row'] * 512 * year):10.0f}"
                f"{100_000 / (worn['hottest_a_row'] * year):10.1f}"
            )
    section.lines += [
        "Years to 30 TB: of a device that levels wear perfectly and endures so much. Years to 100,000: until one",
        "sector has so many writes, on a device that levels nothing.",
    ]
    readings = section.data.values()
    section.bars.append(Bar("metadata writes a row", max(r["metadata_a_row"] for r in readings), 0.1, True, ""))
    most = max(r["hottest_by_mean_of_written"] for r in readings)
    section.bars.append(Bar("hottest sector by the mean of the written ones", most, 20, True))
    return section


CALLS = (
    ("insert", "get", "update", "remove", "cursor"),
    ("mount", "check", "compact", "repair"),
    ("index create", "truncate", "drop", "format"),
)


def calls(bench: Bench, plan: Plan) -> Section:
    """Requests of single calls in mode full: the energy of a call on a battery, and how long it may take."""
    rows = plan.of(100_000, 10_000)
    title = f"Calls: reads, writes, flushes (and the most of each); {rows} rows of 24 bytes, mode full"
    section = Section("calls", title)
    blocks = [[f"{'':22}{'buffer':>8}   " + "".join(f"{name:35}" for name in names).rstrip()] for names in CALLS]
    for name, options in (("ring, tree", ["--ring"]), ("tree", []), ("hash", ["--hash"])):
        for buffer in (2664, 4096, 16384, 65536):
            plan.note(f"calls: {name}, {buffer}")
            words = ["--buffer-bytes", str(buffer), "--rows", str(rows), "--calls", str(plan.of(20_000, 2_000))]
            of = bench.call("calls", *options, *words)
            section.data[f"{name}, {buffer}"] = of
            for block, names in zip(blocks, CALLS, strict=True):
                cells = "".join(f"{cell(of[call]) if call in of else '-':35}" for call in names)
                block.append(f"{name:22}{buffer:8}   {cells}".rstrip())
    section.lines += [line for block in blocks for line in (*block, "")][:-1]
    return section


def cell(of: Reading) -> str:
    """A call's requests: 1.9, 0.4, 1.1 (12, 3, 2); of a single call 120, 3, 2."""
    kinds = ("reads", "writes", "flushes")
    if of["calls"] == 1:
        return ", ".join(str(of[kind]["most"]) for kind in kinds)
    means = ", ".join(f"{of[kind]['mean']:.1f}" for kind in kinds)
    return f"{means} ({', '.join(str(of[kind]['most']) for kind in kinds)})"


def requests(reading: Reading, kind: str) -> float:
    """The engine's own per operation."""
    return reading["own"][kind] / reading["operations"]


def rate_on_card(reading: Reading) -> float:
    """Operations a second of the simulated card's time."""
    return reading["operations"] / reading["own"]["card_s"]


def fall(small: float, large: float) -> float:
    """By how many percent."""
    return 100 * (1 - large / small)


SKEWS = {"uniform": 0.0, "skewed, 0.99": 0.99}


def volumes(bench: Bench, plan: Plan) -> Section:
    """The same work on more data, on the card model."""
    section = Section("volumes", "Four times the data: half reads, half updates, 500-byte rows, on the card model")
    case, sizes = lunar("metadata", place="card"), (plan.of(256, 32), plan.of(1024, 128))
    plan.note("volumes")
    work = ["--work", "update", "--columns", "5", "--column-bytes", "100", "--reads", "0.5"]
    work += ["--load", ",".join(str(mib * MIB // 500) for mib in sizes), "--skew", ",".join(map(str, SKEWS.values()))]
    work += ["--operations", str(plan.of(20000, 4000)), "--card-bytes", str(2 * sizes[1] * MIB)]
    phases = bench.run(case, work)
    section.data = {case.name: phases}
    section.lines.append(f"{'':28}{'MB':>12}{'ops/s':>8}{'':4}{'ops/s':>8}{'fall':>9}   reads/op         writes/op")
    for name, skew in SKEWS.items():
        pair = [phase for phase in phases if phase["skew"] == skew]
        rates = [rate_on_card(phase) for phase in pair]
        over = fall(*rates)
        line = f"{name:28}{f'{sizes[0]} -> {sizes[1]}':>12}{rates[0]:8.0f} -> {rates[1]:8.0f}{over:8.1f}%"
        for kind in ("reads", "writes_before_close"):
            line += f"   {requests(pair[0], kind):.3f} -> {requests(pair[1], kind):.3f}"
        section.lines.append(line)
        section.bars.append(Bar(f"fall of throughput, {name}, card model", over, 20, True, "%"))
    return section


SECTIONS: dict[str, Callable[[Bench, Plan], Section]] = {
    "ceilings": ceilings,
    "reads": reads,
    "card": card,
    "modes": modes,
    "fragmentation": fragmentation,
    "wear": wear,
    "calls": calls,
    "volumes": volumes,
}
