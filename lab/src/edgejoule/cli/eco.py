"""`edgejoule eco`: policies of compaction offloading, simulated."""

from __future__ import annotations

import click

from edgejoule.cli.common import CommandsOnDemand, OnDemand
from edgejoule.experiment.removed import TRIAL

_EPILOG = """\b
Examples:
  edgejoule eco sweep experiments/eco-sweeps/links.toml
  edgejoule eco calibration measured.json -o calibration.toml

To compare policies by real runs: edgejoule run experiments/eco-demo. experiments/eco-real adds a network.
To run a federation with ecod and ecoctl: docs/tutorials/federation.md."""


@click.group(
    cls=CommandsOnDemand,
    on_demand={
        "sweep": OnDemand("eco_sweep:sweep", "Simulate every combination of a sweep file."),
        "calibration": OnDemand(
            "eco_calibration:calibration", "Fit the costs of RocksDB's operations to measurements."
        ),
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
    """Simulate policies of compaction offloading for RocksDB."""
