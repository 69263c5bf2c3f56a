"""Power analysers that speak SCPI over TCP or a serial port, described by a profile. See README.md beside this file."""

from edgejoule.meters.scpi.meter import ScpiMeter

__all__ = ["ScpiMeter"]
