"""`edgejoule delete`: experiments leave the store."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from edgejoule.cli.common import console, echo_json, fail, json_option, messages, store_option
from edgejoule.errors import BusyError, UsageError
from edgejoule.findings.text import count, listed, unit_for
from edgejoule.store import Experiment, Store
from edgejoule.study.study import Places, undisturbed


@click.command(
    epilog="""\b
    Examples:
      edgejoule delete first-try
      edgejoule delete 3 4 5
      edgejoule delete 3 --yes"""
)
@click.argument("experiments", nargs=-1, required=True, metavar="EXPERIMENT...")
@click.option("--yes", is_flag=True, help="Do not ask. Needed where standard input is no terminal.")
@store_option
@json_option
def delete(experiments: Sequence[str], yes: bool, store: Path, as_json: bool) -> None:
    """Delete EXPERIMENTs with all their runs.

    EXPERIMENT is an id, a name or latest. Its runs, traces, latency histograms and notes leave the store, and the file
    shrinks. Reports, bundles and the loaded databases of `edgejoule run` stay. A deleted experiment's number is not
    given to another one.

    Single runs are never deleted, flagged ones neither: a choice among results would bias the means. `edgejoule note`
    marks a run, and `edgejoule run SPEC --rerun-flagged` repeats flagged ones.
    """
    with Store.open(store) as opened:
        chosen = list({stored.id: stored for stored in map(opened.find, experiments)}.values())
        sizes = {stored.id: opened.content_bytes(stored.id) for stored in chosen}
        _check_idle(store)
        if not yes:
            _confirm(store, chosen, sizes)
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
    given_back = f"{_size(before - left)} given back to the file system; {store} has {_size(left)}"
    console().print(kept_size or given_back, markup=False)
    for path in reports:
        console().print(f"the report stays: {path}", markup=False)


def _check_idle(store: Path) -> None:
    try:
        with undisturbed(Places.beside(store)):
            pass
    except BusyError:
        raise _busy(store) from None


def _busy(store: Path) -> BusyError:
    return BusyError(f"{store}: a study is measuring with this store; delete when it has ended")


def _confirm(store: Path, chosen: Sequence[Experiment], sizes: dict[int, int]) -> None:
    """Asks on the terminal; ends the program unless the answer is yes. Raises UsageError without a terminal."""
    if not sys.stdin.isatty():
        raise UsageError("delete: nobody can be asked, standard input is no terminal; --yes deletes without asking")
    for stored in chosen:
        runs = f"{stored.begun}, {stored.progress}, {_size(sizes[stored.id])}"
        click.echo(f"{stored.name} ({stored.id}): {runs}", err=True)
    if not click.confirm(f"Delete {count(len(chosen), 'experiment')} of {store} for ever?", err=True):
        fail("nothing was deleted", 1)


def _size(size: int) -> str:
    return unit_for("byte", [size]).text(size)
