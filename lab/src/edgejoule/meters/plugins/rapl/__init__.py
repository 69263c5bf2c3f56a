"""RAPL: the processor's own energy counters, read from Linux's powercap tree. See README.md beside this file."""

from edgejoule.meters.plugins.rapl.meter import Rapl

__all__ = ["Rapl"]
