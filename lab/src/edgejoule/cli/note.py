"""`edgejoule note`: remarks on an experiment or a run."""

from __future__ import annotations

import getpass
import os
import socket
from pathlib import Path

import click

from edgejoule.cli.common import console, echo_json, json_option, store_option
from edgejoule.errors import UsageError


@click.command(
    epilog="""\b
    Examples:
      edgejoule note first-look "the heating was on"
      edgejoule note first-look --run 7 "fan unplugged"
      edgejoule note first-look
      edgejoule note first-look --remove 2"""
)
@click.argument("experiment")
@click.argument("text", required=False)
@click.option("--run", "run_number", type=click.IntRange(min=1), metavar="N", help="The note is on this run.")
@click.option("--remove", type=click.IntRange(min=1), metavar="K", help="Remove note K; later ones move up.")
@click.option("--author", help="Stored with the note; default: USER@HOST. An empty text stores none.")
@store_option
@json_option
def note(
    experiment: str,
    text: str | None,
    run_number: int | None,
    remove: int | None,
    author: str | None,
    store: Path,
    as_json: bool,
) -> None:
    """Write a note on an EXPERIMENT, or list its notes.

    EXPERIMENT is an id, a name or latest. Without TEXT the notes are listed. `show`, the report and a bundle have the
    notes with their time and author.
    """
    from edgejoule.store import Store

    if remove is not None and (text is not None or run_number is not None):
        raise UsageError("--remove K: takes the number of a note in the list alone, without TEXT and --run")
    with Store.open(store) as opened:
        stored = opened.find(experiment)
        if text is not None:
            count = len(opened.runs(stored.id))
            if run_number is not None and run_number > count:
                raise UsageError(f"--run {run_number}: {stored.name} ({stored.id}) has {count} runs")
            author = _user() if author is None else author
            _check(text, author)
            opened.add_note(stored.id, text, author, None if run_number is None else run_number - 1)
        if remove is not None:
            opened.remove_note(stored.id, remove)
        notes = opened.notes(stored.id)
    if run_number is not None and text is None:
        notes = [one for one in notes if one.run_index == run_number - 1]
    if as_json:
        echo_json({"id": stored.id, "name": stored.name, "notes": [one.record() for one in notes]})
        return
    out = console()
    for one in notes:
        out.print(one.line, markup=False)
    if not notes:
        on = "" if run_number is None else f"run {run_number} of "
        out.print(f"{on}{stored.name} ({stored.id}) has no notes", markup=False)


def _check(text: str, author: str) -> None:
    from edgejoule.store import AUTHOR_LENGTH_MAX, TEXT_LENGTH_MAX, check_text

    if not text.strip():
        raise UsageError("TEXT: is empty; without TEXT the notes are listed, --remove K removes one")
    check_text("TEXT", text, TEXT_LENGTH_MAX)
    check_text("--author", author, AUTHOR_LENGTH_MAX)


def _user() -> str:
    try:
        name = getpass.getuser()
    except (KeyError, OSError):  # a container without the user's entry
        name = str(os.getuid())
    return f"{name}@{socket.gethostname()}"
