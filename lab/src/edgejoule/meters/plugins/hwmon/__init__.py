"""Power monitor chips on a board's rails, read from Linux's hwmon tree. See README.md beside this file."""

from edgejoule.meters.plugins.hwmon.meter import Hwmon

__all__ = ["Hwmon"]
