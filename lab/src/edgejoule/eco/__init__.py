"""Federations of eco on this machine, and sweeps of its simulator."""
