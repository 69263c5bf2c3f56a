"""Power analysers that speak SCPI over TCP or a serial port, described by a profile. See README.md beside this file."""

from edgejoule.meters.plugins.scpi.meter import ScpiMeter

__all__ = ["ScpiMeter"]
