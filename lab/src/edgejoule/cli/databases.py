"""`edgejoule databases`: what can be driven here, and for the rest what to install."""

from __future__ import annotations

import click
from rich.table import Table

from edgejoule.cli.common import console, echo_json, json_option
from edgejoule.databases import adapters


@click.command()
@click.argument("name", required=False)
@json_option
def databases(name: str | None, as_json: bool) -> None:
    """List the databases the driver has, or the options of one.

    \b
    Examples:
      edgejoule databases
      edgejoule databases sqlite
    """
    known = adapters()
    if name is not None and name not in known:
        raise click.BadParameter(f"{name!r} is none of {', '.join(known)}", param_hint="NAME")
    chosen = [known[name]] if name else list(known.values())
    if as_json:
        echo_json([
            {
                "name": a.name, "available": a.available, "version": a.version, "summary": a.summary, "fix": a.fix,
                "options": {o: {"meaning": m, "default": d} for o, (m, d) in a.options.items()},
            }
            for a in chosen
        ])  # fmt: skip
        return
    table = Table(box=None, pad_edge=False)
    if name:
        for column in ("option", "default", "meaning"):
            table.add_column(column)
        for option, (meaning, default) in chosen[0].options.items():
            table.add_row(f"{name}.{option}", default, meaning)
    else:
        for column in ("database", "version", "here", "what it is"):
            table.add_column(column)
        for a in chosen:
            table.add_row(a.name, a.version or "", "yes" if a.available else "no", a.summary if a.available else a.fix)
    console().print(table)
