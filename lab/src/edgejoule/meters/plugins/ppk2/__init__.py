"""Nordic's Power Profiler Kit II over its USB serial port. See README.md beside this file."""

from edgejoule.meters.plugins.ppk2.meter import Ppk2

__all__ = ["Ppk2"]
