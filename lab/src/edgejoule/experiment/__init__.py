"""The experiment that a user writes, and its plan of runs."""
