"""Meters that speak Modbus, RTU over a serial port or TCP, described by a profile. See README.md beside this file."""

from edgejoule.meters.modbus.meter import ModbusMeter

__all__ = ["ModbusMeter"]
