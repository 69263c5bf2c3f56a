"""`edgejoule eco`: policies of compaction offloading, simulated."""

from __future__ import annotations

import click

from edgejoule.cli.common import OnDemand
from edgejoule.experiment.read import TRIAL

_EPILOG = """\b
Examples:
  edgejoule eco sweep experiments/eco-sweeps/links.toml    simulated, over link speeds
  edgejoule eco calibration measured.json -o calibration.toml    costs for eco-sim, from eco-calibrate's measurements

By real runs: edgejoule run experiments/eco-demo, and with a network of each server experiments/eco-real.
ecod and ecoctl run a federation: docs/tutorials/federation.md."""


@click.group(
    cls=OnDemand,
    modules={
        "sweep": "eco_sweep:sweep",
        "calibration": "eco_calibration:calibration",
    },
    removed={
        "demo": "it is an ordinary study now, `edgejoule run experiments/eco-demo`; of its options `--rounds N` is "
        "`--set design.replications=N`, `--operations N` is `--set fixed.operations=N`, `-o` is `--store`. CHANGELOG, "
        "Removed, has the others",
        "trial": TRIAL,
    },
    epilog=_EPILOG,
)
def eco() -> None:
    """Compare policies of compaction offloading for RocksDB, simulated."""
