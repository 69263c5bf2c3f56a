"""`edgejoule import`: an experiment that was measured elsewhere, into a store here."""

from __future__ import annotations

from pathlib import Path

import click

from edgejoule.bundle import import_bundle
from edgejoule.cli.common import console, echo_json, json_option, store_option
from edgejoule.store import Store


@click.command("import")
@click.argument("bundle", metavar="FILE.zip", type=click.Path(path_type=Path, dir_okay=False))
@store_option
@json_option
def import_(bundle: Path, store: Path, as_json: bool) -> None:
    """Take the experiment of a bundle (`edgejoule export --bundle`) into a store, which is made if absent.

    It keeps its number where that is free. A damaged or foreign file changes nothing.

    \b
    Examples:
      edgejoule import first-look.zip
      edgejoule import first-look.zip --store results/others.db
    """
    number = import_bundle(bundle, store)
    with Store.open(store) as opened:
        found = opened.find(str(number))
    if as_json:
        echo_json({"id": found.id, "name": found.name, "store": str(store), "runs": dict(found.counts)})
        return
    runs = ", ".join(f"{count} {status}" for status, count in sorted(found.counts.items()))
    console().print(f"{found.name} is experiment {found.id} of {store}: runs {runs}", markup=False)
