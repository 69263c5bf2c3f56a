"""The processor's energy counters by way of perf events. See README.md beside this file."""

from edgejoule.meters.plugins.perf.meter import PerfEnergy

__all__ = ["PerfEnergy"]
