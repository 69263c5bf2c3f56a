"""Qoitech's Otii Arc and Ace through the TCP server of their application. See README.md beside this file."""

from edgejoule.meters.plugins.otii.meter import Otii

__all__ = ["Otii"]
