"""Compares two hosts' clocks and aligns traces with them."""
