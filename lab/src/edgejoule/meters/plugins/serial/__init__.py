"""A meter that sends frames over a serial port, described by a profile. See README.md beside this file."""

from edgejoule.meters.plugins.serial.meter import SerialMeter

__all__ = ["SerialMeter"]
