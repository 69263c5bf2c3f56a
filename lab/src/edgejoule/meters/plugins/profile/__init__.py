"""Modelled board power: a profile of the board, fed with utilisation. See README.md beside this file."""

from edgejoule.meters.plugins.profile.meter import BoardProfile

__all__ = ["BoardProfile"]
