"""Jetperch's Joulescopes JS110, JS220 and JS320 through pyjoulescope_driver. See README.md beside this file."""

from edgejoule.meters.plugins.joulescope.meter import Joulescope

__all__ = ["Joulescope"]
