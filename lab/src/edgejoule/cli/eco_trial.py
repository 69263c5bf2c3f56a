"""`edgejoule eco trial`: eco's policies compared by real runs on this machine."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import click

from edgejoule.cli.common import console, stop_in_order
from edgejoule.eco_pictures import load_matplotlib
from edgejoule.federation.federation import Programs
from edgejoule.federation.leftovers import new_folder
from edgejoule.federation.trial.rounds import run_trial
from edgejoule.federation.trial.spec import read_trial
from edgejoule.federation.trial.tables import read_rounds, tables

MEMORY = Path("/dev/shm")


@click.group()
def trial() -> None:
    """Compare eco's policies by real runs: servers with quotas and a network of their own. Needs root."""


@trial.command("run")
@click.argument("spec", type=click.Path(path_type=Path, dir_okay=False, exists=True))
@click.option("--build", type=click.Path(path_type=Path, file_okay=False), default=Path("build"), show_default=True)
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Rounds are added to it; default: results/NAME.jsonl.",
)
@click.option("--folder", type=click.Path(path_type=Path, file_okay=False), help="Of databases; default: in memory.")
@click.option("--rounds", type=click.IntRange(1, 100), help="Instead of the spec's.")
@click.option("--duration", type=click.IntRange(2, 600), help="Seconds of a round, instead of the spec's.")
@click.option("--link", "links", multiple=True, help="Of the spec's links, this alone; may be repeated.")
def run(
    spec: Path,
    build: Path,
    out: Path | None,
    folder: Path | None,
    rounds: int | None,
    duration: int | None,
    links: tuple[str, ...],
) -> None:
    """Make the rounds of SPEC and show what came out.

    \b
    Examples:
      edgejoule eco trial run experiments/eco-real/useless-network.toml
      edgejoule eco trial run experiments/eco-real/paper.toml --rounds 1 --duration 10
    """
    stop_in_order()
    trial = read_trial(spec)
    changes = {"rounds": rounds, "duration_s": duration, "links": [each for each in trial.links if each.name in links]}
    trial = trial.model_copy(update={key: value for key, value in changes.items() if value})
    out = out or Path("results") / f"{trial.name}.jsonl"
    out.parent.mkdir(parents=True, exist_ok=True)
    console().print(f"{trial.question}\n{trial.seconds() / 60:.0f} minutes at least; seed {trial.seed}; rounds: {out}")
    work = new_folder(folder or (MEMORY if MEMORY.is_dir() else Path(tempfile.gettempdir())))
    try:
        run_trial(trial, spec, Programs.of(build), work, out, lambda line: console().print(line, highlight=False))
    finally:
        shutil.rmtree(work, ignore_errors=True)
    click.echo(tables(read_rounds([out])))


@trial.command("table")
@click.argument("rounds", type=click.Path(path_type=Path, dir_okay=False, exists=True), nargs=-1, required=True)
def table(rounds: tuple[Path, ...]) -> None:
    """Show what came out of rounds that were made before."""
    click.echo(tables(read_rounds(rounds)))


@trial.command("figures")
@click.argument("rounds", type=click.Path(path_type=Path, dir_okay=False, exists=True), nargs=-1, required=True)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, file_okay=False), required=True, help="Folder of the pictures."
)
def figures(rounds: tuple[Path, ...], output: Path) -> None:
    """Draw what came out: the paper's Figures 4, 5, 10 and 11."""
    load_matplotlib()
    from edgejoule.federation.trial.pictures import draw_all

    for path in draw_all(read_rounds(rounds), output):
        click.echo(path)
