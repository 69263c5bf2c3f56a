"""Mains plugs and energy meters by Shelly, asked by HTTP. See README.md beside this file."""

from edgejoule.meters.plugins.shelly.meter import Shelly

__all__ = ["Shelly"]
