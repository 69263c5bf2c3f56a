"""edgejoule: measure, choose and run databases by the energy they cost."""

__version__ = "0.1.0"
