"""USB testers UM24C, UM25C and UM34C by RDTech. See README.md beside this file."""

from edgejoule.meters.plugins.um25c.meter import Um25c

__all__ = ["Um25c"]
