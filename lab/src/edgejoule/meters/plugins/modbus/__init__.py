"""Meters that speak Modbus, RTU over a serial port or TCP, described by a profile. See README.md beside this file."""

from edgejoule.meters.plugins.modbus.meter import ModbusMeter

__all__ = ["ModbusMeter"]
