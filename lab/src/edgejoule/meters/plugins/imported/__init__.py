"""Power traces that another program recorded, as CSV. See README.md beside this file."""

from edgejoule.meters.plugins.imported.columns import Mapping, guess
from edgejoule.meters.plugins.imported.read import Recorded, read_csv
from edgejoule.meters.plugins.imported.trace import METER, Recorder, trace_of

__all__ = ["METER", "Mapping", "Recorded", "Recorder", "guess", "read_csv", "trace_of"]
