"""For all tests of lab: the width of the output is that of a pipe, as pytest-xdist sets COLUMNS in its workers."""

import os

os.environ.pop("COLUMNS", None)
