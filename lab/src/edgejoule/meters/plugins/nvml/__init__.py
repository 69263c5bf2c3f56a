"""Graphics cards by NVIDIA, asked through NVML. See README.md beside this file."""

from edgejoule.meters.plugins.nvml.meter import Nvml

__all__ = ["Nvml"]
