"""This machine: what a study sets on it and restores."""
