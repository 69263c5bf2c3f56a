"""The histograms of the real YCSB's log (HdrHistogram's interval log, version 2 of its encoding)."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Iterator

from hdrh.histogram import HdrHistogram

_ENVELOPE_BYTES = 8  # cookie, and length of the compressed part
_HIGHEST_AT = 24  # offset in the header, bytes: the highest value that the histogram can hold
_HIGHEST_US = 3_600_000_000


def counts(encoded: str) -> Iterator[tuple[int, int]]:
    """Yields each value in µs with its count.

    Java's recorder grows while it is read and then reports too low a maximum; the maximum is raised to one hour.
    """
    envelope = base64.b64decode(encoded)
    histogram = bytearray(zlib.decompress(envelope[_ENVELOPE_BYTES:]))
    (highest_us,) = struct.unpack_from(">q", histogram, _HIGHEST_AT)
    struct.pack_into(">q", histogram, _HIGHEST_AT, max(highest_us, _HIGHEST_US))
    packed = zlib.compress(histogram)
    roomy = base64.b64encode(envelope[:4] + struct.pack(">i", len(packed)) + packed)
    for item in HdrHistogram.decode(roomy).get_recorded_iterator():
        yield int(item.value_iterated_to), int(item.count_at_value_iterated_to)
