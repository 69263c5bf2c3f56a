"""`edgejoule eco demo`: eco's policies compared on servers that are processes of this machine."""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Literal

import click
from rich.table import Table

from edgejoule.cli.common import console, echo_json, json_option, messages, stop_in_order
from edgejoule.errors import UsageError
from edgejoule.federation import CpuGroups, Duty, Federation, Programs, Shares, Unlimited, best_shares
from edgejoule.federation import page as page_
from edgejoule.federation.comparison import BASE, FILL, POLICIES, SERVERS, Comparison, Round, compare, plan
from edgejoule.federation.words import caveats, energy_words, headline, statements

_SHARES = {"best": best_shares, "signals": Duty, "cgroups": CpuGroups, "none": Unlimited}


@click.command()
@click.option("--policy", "policies", multiple=True, default=POLICIES, show_default=True, help="Compared with local.")
@click.option("--rounds", type=click.IntRange(1, 100), default=4, show_default=True, help="Of each policy.")
@click.option("--operations", type=click.IntRange(1000), default=FILL.operations, show_default=True, help="Of a round.")
@click.option("--seed", type=int, default=1, show_default=True, help="Of the keys and of the order of the policies.")
@click.option(
    "--shares",
    type=click.Choice(list(_SHARES)),
    default="best",
    show_default=True,
    help="How a server is held to its share of a core; best: cgroups where this user may make them, else signals.",
)
@click.option("--nats", is_flag=True, help="The master is elected by NATS, instead of a static one.")
@click.option("--tls", is_flag=True, help="With certificates between the servers.")
@click.option(
    "--build",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("build"),
    show_default=True,
    help="Where eco was built.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("results/eco-demo"),
    show_default=True,
    help="Folder of the page and of rounds.json.",
)
@click.option("--keep", is_flag=True, help="Keep configurations, logs and the database, and say where they are.")
@json_option
def demo(
    policies: tuple[str, ...],
    rounds: int,
    operations: int,
    seed: int,
    shares: str,
    nats: bool,
    tls: bool,
    build: Path,
    output: Path,
    keep: bool,
    as_json: bool,
) -> None:
    """Compare eco's policies: three unequal servers on this machine, and an unmodified db_bench on the weakest.

    Each server is an ecod with a share of a core. db_bench fills a database through libeco-preload.so, under each
    policy in turn, in an order that changes from round to round. Energy is modelled. Needs no root.

    \b
    Examples:
      edgejoule eco demo
      edgejoule eco demo --rounds 10 --policy eco --policy eco-global
      edgejoule eco demo --nats --tls --keep
    """
    stop_in_order()
    if shutil.which("db_bench") is None:
        raise UsageError("db_bench is not installed; on Debian it is in rocksdb-tools")
    chosen = list(dict.fromkeys([BASE, *policies]))
    workload = replace(FILL, operations=operations)
    told = messages()
    limits: Shares = _SHARES[shares]()
    for server in SERVERS:
        told.print(
            f"{server.name}: {server.share:g} of a core; declared: {server.busy_w:g} W above idle when busy, "
            f"{server.idle_w:g} W idle"
        )
    turns = list(plan(chosen, SERVERS, rounds, seed))
    told.print(
        f"{operations:,} operations of {workload.value_bytes} B in each of {len(turns)} turns, seed {seed}; shares by "
        f"{limits.about}"
    )
    with (
        _folder(keep) as folder,
        Federation(
            SERVERS, Programs.of(build), folder, shares=limits, nats=[SERVERS[-1].name] if nats else (), keys=tls
        ) as started,
        told.status("") as status,
    ):
        done = 0

        def begins(number: int, policy: str) -> None:
            status.update(f"{done + 1}/{len(turns)} {policy}{'' if number else ', the models learn'} ...")

        def ended(one: Round) -> None:
            nonlocal done
            done += 1
            told.print(_line(one, done, len(turns)), markup=False)

        found = compare(
            started, policies=chosen, workload=workload, rounds=rounds, seed=seed, begins=begins, ended=ended
        )
    output.mkdir(parents=True, exist_ok=True)
    (output / "rounds.json").write_text(json.dumps(found.to_json(), indent=2) + "\n", encoding="utf-8")
    target = output / "index.html"
    target.write_text(page_.page(found), encoding="utf-8")
    if as_json:
        echo_json(found.to_json())
        return
    _print(found, target)


@contextlib.contextmanager
def _folder(keep: bool) -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="eco-"))
    try:
        yield made
    finally:
        if keep:
            messages().print(f"kept: {made}", markup=False)
        else:
            shutil.rmtree(made, ignore_errors=True)


def _line(one: Round, done: int, turns: int) -> str:
    where = ", ".join(f"{jobs} to {server}" for server, jobs in sorted(one.filled.offloaded.items())) or "none"
    what = f"{one.policy}{'' if one.number else ' (the models learn)'}"
    return (
        f"{done:>3}/{turns}  {what:<34} {one.throughput_ops_s:>8,.0f} ops/s  stalled {one.filled.stall_s:>5.1f} s  "
        f"offloaded: {where}{f', {one.filled.fell_back} in vain' if one.filled.fell_back else ''}"
    )


def _print(found: Comparison, target: Path) -> None:
    out = console()
    whole = page_.table(found)
    shown = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    columns = [i for i, title in enumerate(whole.columns) if title not in ("stalled, %", "kept", "moved, MB")]
    cells = [[str(row[i]).rstrip(")").partition(" (") for i in columns] for row in whole.rows]
    for i, column in zip(columns, zip(*cells, strict=True), strict=True):
        width = max(len(part) for middle, _, ends in column for part in (middle, ends))
        side: Literal["left", "right"] = "right" if whole.numeric[i] else "left"
        shown.add_column(whole.columns[i], justify=side, vertical="bottom", min_width=width)
    for line in cells:
        shown.add_row(*(middle for middle, _, _ in line))
        if any(ends for _, _, ends in line):
            shown.add_row(*(f"[dim]{ends}[/]" for _, _, ends in line))
    out.print()
    out.print(shown)
    out.print("Median of the rounds, below it the least and the most; compactions of all rounds.\n", style="dim")
    out.print(headline(found), style="bold", markup=False)
    for policy, said in statements(found):
        out.print(f"  {policy}: {said}", markup=False)
    out.print()
    for said in [energy_words(found), *caveats(found)]:
        out.print(f"! {said}", markup=False)
    out.print(f"\npage: {target}", markup=False)
