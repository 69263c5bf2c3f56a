"""The Raspberry Pi 5's power management chip, read by vcgencmd. See README.md beside this file."""

from edgejoule.meters.plugins.pmic.meter import Pmic

__all__ = ["Pmic"]
