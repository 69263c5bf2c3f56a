"""`edgejoule delete`: experiments leave the store, loaded databases their folder."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from edgejoule.cli.common import console, echo_json, fail, json_option, messages, near, store_option
from edgejoule.errors import BusyError, UsageError

if TYPE_CHECKING:
    from edgejoule.store import Experiment
    from edgejoule.study.study import Places


@click.command(
    epilog="""\b
    Examples:
      edgejoule delete first-try
      edgejoule delete 3 4 5
      edgejoule delete 3 --yes
      edgejoule delete --snapshots"""
)
@click.argument("experiments", nargs=-1, metavar="[EXPERIMENT...]")
@click.option(
    "--snapshots",
    is_flag=True,
    help="Delete the loaded databases that `edgejoule run` keeps for later runs, and no experiment.",
)
@click.option(
    "--data",
    type=click.Path(path_type=Path, file_okay=False),
    help="With --snapshots: the folder that `edgejoule run --data` named; default: beside the store.",
)
@click.option("--yes", is_flag=True, help="Do not ask. Needed where standard input is no terminal.")
@store_option
@json_option
def delete(
    experiments: Sequence[str], snapshots: bool, data: Path | None, yes: bool, store: Path, as_json: bool
) -> None:
    """Delete EXPERIMENTs with all their runs, or loaded databases.

    EXPERIMENT is an id, a name or latest. Its runs, traces, latency histograms and notes leave the store, and the file
    shrinks. Reports, bundles and the loaded databases of `edgejoule run` stay. A deleted experiment's number is not
    given to another one.

    `--snapshots` deletes the loaded databases and no experiment. A later run loads what it needs again.

    Single runs are never deleted, flagged ones neither: a choice among results would bias the means. `edgejoule note`
    marks a run, and `edgejoule run SPEC --rerun-flagged` repeats flagged ones.
    """
    from edgejoule.findings.text import count, listed, size_text
    from edgejoule.store import Store
    from edgejoule.study.study import Places, undisturbed

    if snapshots and experiments:
        raise UsageError("--snapshots: deletes loaded databases and no experiment; leave the experiments out")
    if snapshots:
        _delete_snapshots(Places.beside(store, data), yes, as_json)
        return
    if data is not None:
        raise UsageError("--data: names the folder of loaded databases; add --snapshots")
    if not experiments:
        raise UsageError("name an EXPERIMENT, see `edgejoule list`; --snapshots deletes loaded databases")
    with Store.open(store) as opened:
        chosen = list({stored.id: stored for stored in map(opened.find, experiments)}.values())
        sizes = {stored.id: opened.content_bytes(stored.id) for stored in chosen}
        _check_idle(store)
        if not yes:
            _confirm(_lines(chosen, sizes), f"Delete {count(len(chosen), 'experiment')} of {store} for ever?")
        try:
            with undisturbed(Places.beside(store)):
                before = opened.file_bytes()
                opened.delete([stored.id for stored in chosen])
                if not as_json:
                    deleted = listed([f"{stored.name} ({stored.id})" for stored in chosen], "and")
                    console().print(f"deleted: {deleted}", markup=False)
                kept_size = opened.shrink()
                left = opened.file_bytes() if kept_size is None else before
        except BusyError:
            raise _busy(store) from None
    reports = [path for stored in chosen if (path := store.parent / f"{stored.name}-{stored.id}.html").exists()]
    if as_json:
        each = [{"id": stored.id, "name": stored.name, "bytes": sizes[stored.id]} for stored in chosen]
        echo_json({"deleted": each, "freed_bytes": before - left, "reports": [str(path) for path in reports]})
        if kept_size:
            messages().print(kept_size, markup=False)
        return
    given_back = f"{size_text(before - left)} given back to the file system; {store} has {size_text(left)}"
    console().print(kept_size or given_back, markup=False)
    for path in reports:
        console().print(f"the report stays: {path}", markup=False)


def _delete_snapshots(places: Places, yes: bool, as_json: bool) -> None:
    """Deletes all loaded databases of these places. Raises BusyError, StoreError."""
    from edgejoule.databases.snapshots import Snapshots
    from edgejoule.findings.text import count, size_text
    from edgejoule.study.study import check_free, undisturbed

    kept = Snapshots(places.snapshots)
    sizes = kept.sizes()
    what = f"{count(len(sizes), 'loaded database')} ({size_text(sum(sizes.values()))}) in {near(places.snapshots)}"
    check_free(places)
    if sizes and not yes:
        _confirm([f"{name}: {size_text(size)}" for name, size in sizes.items()], f"Delete {what}?")
    with undisturbed(places):
        for name in sizes:
            kept.delete(name)
    if as_json:
        each = [{"name": name, "bytes": size} for name, size in sizes.items()]
        echo_json({"deleted": each, "freed_bytes": sum(sizes.values())})
        return
    console().print(f"deleted: {what}" if sizes else f"no loaded database in {near(places.snapshots)}", markup=False)


def _check_idle(store: Path) -> None:
    from edgejoule.study.study import Places, undisturbed

    try:
        with undisturbed(Places.beside(store)):
            pass
    except BusyError:
        raise _busy(store) from None


def _busy(store: Path) -> BusyError:
    return BusyError(f"{store}: a study is measuring with this store; delete when it has ended")


def _lines(chosen: Sequence[Experiment], sizes: dict[int, int]) -> list[str]:
    from edgejoule.findings.text import size_text

    return [f"{e.name} ({e.id}): {e.begun}, {e.progress}, {size_text(sizes[e.id])}" for e in chosen]


def _confirm(lines: Sequence[str], question: str) -> None:
    """Asks on the terminal; ends the program unless the answer is yes. Raises UsageError without a terminal."""
    if not sys.stdin.isatty():
        raise UsageError(
            "delete: cannot ask for confirmation, standard input is no terminal; --yes deletes without asking"
        )
    for line in lines:
        click.echo(line, err=True)
    if not click.confirm(question, err=True):
        fail("nothing was deleted", 1)
