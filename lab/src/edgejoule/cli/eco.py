"""`edgejoule eco`: policies of compaction offloading compared, by real runs and simulated."""

from __future__ import annotations

import click

from edgejoule.cli.common import OnDemand

_EPILOG = """\b
Examples:
  sudo edgejoule eco trial run experiments/eco-real/paper.toml   six, each with a network of its own
  edgejoule eco sweep experiments/eco-sweeps/links.toml    simulated, over link speeds
  edgejoule eco calibration measured.json -o calibration.toml    costs for eco-sim, from eco-calibrate's measurements

ecod and ecoctl run a federation: docs/guides/federation.md."""


@click.group(
    cls=OnDemand,
    modules={
        "trial": "eco_trial:trial",
        "sweep": "eco_sweep:sweep",
        "calibration": "eco_calibration:calibration",
    },
    epilog=_EPILOG,
)
def eco() -> None:
    """Compare policies of compaction offloading for RocksDB: here, by real runs, simulated."""
