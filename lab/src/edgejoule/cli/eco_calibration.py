"""`edgejoule eco calibration`: fits the costs that eco-sim reads to what eco-calibrate measured."""

from __future__ import annotations

from pathlib import Path

import click

from edgejoule.errors import StoreError

_EPILOG = """\b
Examples:
  eco-calibrate --out measured.json
  edgejoule eco calibration measured.json --out calibration.toml"""


@click.command(epilog=_EPILOG)
@click.argument("measured", type=click.Path(path_type=Path, dir_okay=False, exists=True))
@click.option(
    "-o", "--out", type=click.Path(path_type=Path, dir_okay=False), help="The file; default, and -: standard output."
)
def calibration(measured: Path, out: Path | None) -> None:
    """Fit the costs of RocksDB's operations to measurements.

    MEASURED is the output of eco-calibrate; the result is a TOML file for eco-sim. The fit minimises the squared
    relative errors, with no cost below 0. The scatter of rounds and observations goes to standard error and into the
    file.
    """
    from edgejoule.eco import calibration as eco_calibration

    content = eco_calibration.read_measured(measured)
    for line in eco_calibration.scatter(content):
        click.echo(line, err=True)
    text = eco_calibration.calibration_toml(content)
    if out is None or str(out) == "-":
        click.echo(text, nl=False)
        return
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StoreError(f"{out}: {error.strerror}") from error
