"""Mains plugs with the firmware Tasmota, asked by HTTP. See README.md beside this file."""

from edgejoule.meters.plugins.tasmota.meter import Tasmota

__all__ = ["Tasmota"]
