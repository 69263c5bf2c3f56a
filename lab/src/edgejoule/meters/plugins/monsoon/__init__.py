"""Monsoon's power monitors, HVPM and LVPM, over USB. See README.md beside this file."""

from edgejoule.meters.plugins.monsoon.meter import Monsoon

__all__ = ["Monsoon"]
