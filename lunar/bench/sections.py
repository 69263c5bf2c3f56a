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
    """lunar through the kernel's page cache, as SQLite and LMDB are."""
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


def durable_insert(bench: Bench, plan: Plan) -> Section:
    """A row of 4 KB, durable when it is acknowledged."""
    section = Section("durable", "Durable 4 KB inserts")
    ours, small = lunar("full"), lunar("full", "4 KB")
    truncate, wal, other = sqlite("truncate", "full"), sqlite("wal", "full"), lmdb()
    ceilings = [raw(1), raw(2)]
    cases = [ours, small, truncate, wal, other, *ceilings]
    work = ["--operations", str(plan.of(2000, 400))]
    bench.rounds(cases, work, plan.rounds, plan.note)
    bench.trace(cases, work, plan.note)
    section.lines, section.bars = (
        table(cases),
        [
            Bar("durable insert: bytes per payload byte", ours.median(amplification), 1.4, True, ""),
            Bar("durable insert: writes per row", ours.per_operation("W"), 1.2, True, ""),
            Bar("durable insert: flushes per row", ours.per_operation("F"), 1.05, True, ""),
            ratio_bar("durable insert: rows/s to SQLite TRUNCATE FULL", ours, truncate, 5),
            ratio_bar("durable insert: rows/s to LMDB", ours, other, 2.5),
            ratio_bar("durable insert: rows/s to SQLite WAL FULL", ours, wal, 1.1),
        ],
    )
    section.keep(cases)
    return section


def relaxed_insert(bench: Bench, plan: Plan) -> Section:
    """A row of 4 KB without a sync of its own."""
    section = Section("relaxed", "4 KB inserts without per-row sync")
    ours, small, default = lunar("data"), lunar("data", "4 KB"), lunar("metadata")
    peer = sqlite("wal", "normal")
    work = ["--operations", str(plan.of(20000, 2000))]
    bench.rounds([default, ours, peer], work, plan.rounds, plan.note)
    bench.trace([default, ours, peer], work, plan.note)
    work = ["--operations", str(plan.of(2000, 400))]  # it takes long, and no bar is on it
    bench.rounds([small], work, 1, plan.note)
    bench.trace([small], work, plan.note)
    cases = [default, ours, small, peer]
    section.lines = table(cases)
    section.bars = [
        ratio_bar("no per-row sync: rows/s to SQLite WAL NORMAL, until at rest", default, peer, 1.3, rate_at_rest),
        ratio_bar("no per-row sync: rows/s to SQLite WAL NORMAL, acknowledged", default, peer, 1.3),
    ]
    section.keep(cases)
    return section


def small_update(bench: Bench, plan: Plan) -> Section:
    """100 bytes of a row of 500, durable when acknowledged, rows chosen evenly."""
    section = Section("update", "Durable 100-byte updates in 500-byte rows (20 k rows, uniform)")
    ours, small = lunar("full"), lunar("full", "4 KB")
    truncate, wal, other = sqlite("truncate", "full"), sqlite("wal", "full"), lmdb()
    cached = lunar_cached("full")
    cases = [ours, cached, small, truncate, wal, other, raw(1), raw(2)]
    work = ["--work", "update", "--columns", "5", "--column-bytes", "100", "--load", "20000"]
    work += ["--operations", str(plan.of(3000, 400))]
    bench.rounds(cases, work, plan.rounds, plan.note)
    bench.trace(cases, work, plan.note)
    section.lines = table(cases)
    section.bars = [
        Bar("100-byte update: bytes per payload byte", ours.median(amplification), 30, True, ""),
        ratio_bar("100-byte update: ops/s to LMDB, which reads from the page cache", ours, other, 2),
        ratio_bar("100-byte update: ops/s to LMDB, both through the page cache", cached, other, 2),
        ratio_bar("100-byte update: ops/s to SQLite WAL FULL", ours, wal, 1),
    ]
    section.keep(cases)
    return section


@dataclass(frozen=True)
class Access:
    """How both sides read their device."""

    name: str
    direct: bool
    bar: float
    operations: int


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


def reads(bench: Bench, plan: Plan) -> Section:
    """Rows by their keys, of a table much larger than the cache. They are loaded once for all cases."""
    rows = plan.of(500_000, 50_000)
    section = Section("reads", f"Reads by key, {rows} rows (8-byte key, five columns of 100 bytes)")
    work = ["--work", "update", "--reads", "1", "--columns", "5", "--column-bytes", "100", "--load", str(rows)]
    accesses = (
        Access("through the page cache", False, 1, plan.of(200_000, 20_000)),
        Access("past the page cache", True, 2, plan.of(20_000, 2000)),
    )
    # The kernel forgets what it has of a device when the last who has it open closes it.
    with Path(bench.loops.devices["bare"]).open("rb"):
        for case in (sqlite("wal", "full"), lunar_cached("full", "4 MB")):
            plan.note(f"load: {case.name}")
            bench.run(case, [*work, "--operations", "1"])
        for access in accesses:
            section.lines.append(
                f"{access.name:44}" + "".join(f"{name:>12}" for name, _, _ in READ_COLUMNS) + "   lunar to it"
            )
            for buffer in ("1 MB", "4 MB"):
                for skew in (0, 0.5, 0.99):
                    reads_of(bench, plan, section, access, buffer, skew, work)
    return section


def reads_of(
    bench: Bench, plan: Plan, section: Section, access: Access, buffer: str, skew: float, work: list[str]
) -> None:
    """One choice of keys; the bar is on the ratio to the faster SQLite."""
    ours = lunar("full", buffer) if access.direct else lunar_cached("full", buffer)
    peers = [sqlite("wal", "full", buffer), sqlite("truncate", "full", buffer)]
    for peer in peers:
        peer.options = [*peer.options, *(["--direct"] if access.direct else [])]
    with_rows = [lunar_query_cache("full", buffer)] if access.direct else []
    cases = [ours, *with_rows, *peers]
    for case in cases:
        case.loaded = True
    if access.direct and buffer == "1 MB":
        cases.append(raw_read())
    work = [*work, "--skew", str(skew), "--warm-up", str(plan.of(10000, 2000)), "--operations", str(access.operations)]
    bench.rounds(cases, work, plan.rounds, plan.note)
    for case in cases:
        figures = "".join(f"{case.median(figure):12.{digits}f}" for _, figure, digits in READ_COLUMNS)
        middle, least, most = ratio(ours, case, rate)
        beside = "" if case is ours else f"   {middle:.2f} [{least:.2f}, {most:.2f}]"
        section.lines.append(f"  skew {skew:4}  {case.name:32}{figures}{beside}")
        section.data[f"{access.name}, skew {skew}: {case.name}"] = case.readings
    faster = min(peers, key=lambda peer: ratio(ours, peer, rate)[0])
    if buffer == "1 MB":
        name = f"reads {access.name}, skew {skew}: ops/s to {faster.name.removesuffix(', 1 MB')}"
        section.bars.append(ratio_bar(name, ours, faster, access.bar))


def bandwidth(bench: Bench, plan: Plan) -> Section:
    """Mobibench: 4 KB rows, 10 k there before."""
    section = Section(
        "bandwidth", "Bandwidth use of Mobibench's work in the default mode (10 k rows of 4 KB there before)"
    )
    parts = {"insert": lunar("metadata"), "update": lunar("metadata")}
    for kind, case in parts.items():
        case.name = f"{kind}: {case.name}"
        work = ["--work", kind, "--load", str(plan.of(10000, 2000)), "--operations", str(plan.of(5000, 1000))]
        bench.rounds([case], work, 1 if plan.quick else 3, plan.note)
        bench.trace([case], work, plan.note)
        use = 1 / case.median(amplification)
        section.bars.append(Bar(f"bandwidth use, {kind}", 100 * use, 80, unit="%"))
    section.lines = table(list(parts.values()))
    section.keep(list(parts.values()))
    return section


MODES = {"disorder": 30.0, "metadata": 60.0, "data": 70.0, "full": 77.0}


def latency_on_card(reading: Reading) -> float:
    """Seconds of the simulated card per operation, until at rest."""
    return reading["own"]["card_at_rest_s"] / reading["operations"]


def latency_at_rest(reading: Reading) -> float:
    """Seconds per operation, until at rest."""
    return reading["seconds_at_rest"] / reading["operations"]


def modes(bench: Bench, plan: Plan) -> Section:
    """What each consistency mode costs over none: rows of the paper's YCSB, only written.

    Within one durability class: full beside none that is synced after every operation, the others without syncs.
    """
    section = Section("modes", "Modes: write-only YCSB (8-byte key, five columns of 100 bytes), 1 MB")
    shape = ["--columns", "5", "--column-bytes", "100"]
    section.lines.append(
        f"{'':32}{'ops/s':>10}{'over none':>12}{'card ops/s':>12}{'over none':>12}"
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
    loop = {mode: lunar(mode) for mode in names}
    cards = {mode: lunar(mode, place="card") for mode in names}
    work = [*work, "--sync-each"] if synced else work
    bench.rounds(list(loop.values()), work, min(plan.rounds, 3), plan.note)
    bench.rounds(list(cards.values()), work, 1, plan.note)
    for mode, case in loop.items():
        over = (case.median(latency_at_rest) / loop["none"].median(latency_at_rest) - 1) * 100
        card = cards[mode].median(latency_on_card)
        card_over = (card / cards["none"].median(latency_on_card) - 1) * 100
        log = case.median(lambda reading: reading["own"]["log_bytes"] / reading["operations"])
        section.lines.append(
            f"{kind + ', ' + mode + (', synced each' if synced else ''):32}{case.median(rate_at_rest):10.0f}"
            f"{over:11.1f}%{1 / card:12.0f}{card_over:11.1f}%{case.median(amplification):12.2f}{log:14.0f}"
        )
        if mode in MODES and synced == (mode == "full"):
            section.bars.append(Bar(f"mode {mode} over none, {kind}s, loop device", over, MODES[mode], True, "%"))
            section.bars.append(Bar(f"mode {mode} over none, {kind}s, card model", card_over, MODES[mode], True, "%"))
    suffix = ", synced each" if synced else ""
    section.data |= {f"{kind}: {case.name}{suffix}": case.readings for case in [*loop.values(), *cards.values()]}


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
    """The same work on more data: on the card model, and on the loop device beside the device's own fall."""
    section = Section("volumes", "Four times the data: half reads, half updates, 500-byte rows")
    card_case, loop_case = lunar("metadata", place="card"), lunar("metadata")
    card_sizes, loop_sizes = (plan.of(256, 32), plan.of(1024, 128)), (plan.of(128, 32), plan.of(512, 128))
    plan.note("volumes: card model")
    card_bytes = ["--card-bytes", str(2 * card_sizes[1] * MIB)]
    on_card = bench.run(card_case, [*volumes_work(plan, card_sizes), *card_bytes])
    plan.note("volumes: loop device")
    beside = ["--raw-beside", bench.loops.devices["bare"]]
    on_loop = bench.run(loop_case, [*volumes_work(plan, loop_sizes), *beside])
    section.data = {card_case.name: on_card, loop_case.name: on_loop}
    section.lines.append(f"{'':48}{'MB':>12}{'ops/s':>8}{'':4}{'ops/s':>8}{'fall':>9}   reads/op         writes/op")
    for name, skew in SKEWS.items():
        card_pair, loop_pair = ([phase for phase in phases if phase["skew"] == skew] for phases in (on_card, on_loop))
        raw_pair = [phase["raw"] for phase in loop_pair]
        section.lines += [
            volumes_line(f"{name}: {card_case.name}", card_sizes, rate_on_card, card_pair),
            volumes_line(f"{name}: {loop_case.name}, loop device", loop_sizes, rate, loop_pair),
            volumes_line(f"{name}: as many raw requests", loop_sizes, rate, raw_pair),
        ]
        relative = fall(*(rate(phase) / rate(raw) for phase, raw in zip(loop_pair, raw_pair, strict=True)))
        section.lines.append(f"{name + ': loop device, relative to raw':80}{relative:8.1f}%")
        over = fall(*map(rate_on_card, card_pair))
        section.bars.append(Bar(f"fall of throughput, {name}, card model", over, 20, True, "%"))
    return section


def volumes_work(plan: Plan, sizes: tuple[int, int]) -> list[str]:
    """At each size, each choice of rows."""
    work = ["--work", "update", "--columns", "5", "--column-bytes", "100", "--reads", "0.5"]
    work += ["--load", ",".join(str(mib * MIB // 500) for mib in sizes)]
    return [*work, "--skew", ",".join(map(str, SKEWS.values())), "--operations", str(plan.of(20000, 4000))]


def volumes_line(name: str, sizes: tuple[int, int], figure: Callable[[Reading], float], pair: Sequence[Reading]) -> str:
    """Rates at both sizes, and the engine's requests."""
    rates = [figure(phase) for phase in pair]
    line = f"{name:48}{f'{sizes[0]} -> {sizes[1]}':>12}{rates[0]:8.0f} -> {rates[1]:8.0f}{fall(*rates):8.1f}%"
    if "own" in pair[0]:
        for kind in ("reads", "writes_before_close"):
            line += f"   {requests(pair[0], kind):.3f} -> {requests(pair[1], kind):.3f}"
    return line


SECTIONS: dict[str, Callable[[Bench, Plan], Section]] = {
    "durable": durable_insert,
    "relaxed": relaxed_insert,
    "update": small_update,
    "reads": reads,
    "card": card,
    "bandwidth": bandwidth,
    "modes": modes,
    "fragmentation": fragmentation,
    "volumes": volumes,
}
