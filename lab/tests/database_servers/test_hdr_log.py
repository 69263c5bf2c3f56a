"""Histograms as HdrHistogram's own encoder writes them."""

from __future__ import annotations

import base64
import struct
import zlib

import pytest
from hdrh.histogram import HdrHistogram

from edgejoule.database_servers import hdr_log

RECORDED = {3: 7, 900: 2, 70_000: 1}


def coded(stated_highest: int | None = None) -> str:
    """stated_highest: what the header says, whatever is in it."""
    histogram = HdrHistogram(1, 3_600_000_000, 3)
    for value, times in RECORDED.items():
        histogram.record_value(value, times)
    text: bytes = histogram.encode()
    if stated_highest is not None:
        envelope = base64.b64decode(text)
        inner = bytearray(zlib.decompress(envelope[8:]))
        inner[24:32] = struct.pack(">q", stated_highest)
        packed = zlib.compress(inner)
        text = base64.b64encode(envelope[:4] + struct.pack(">i", len(packed)) + packed)
    return text.decode()


@pytest.mark.parametrize("stated_highest", [None, 4_000, 1 << 50])
def test_every_value_is_read_whatever_the_header_has_room_for(stated_highest: int | None) -> None:
    counts = dict(hdr_log.counts(coded(stated_highest)))
    assert sorted(counts.values()) == sorted(RECORDED.values())
    assert all(abs(value / known - 1) < 1e-3 for value, known in zip(sorted(counts), sorted(RECORDED), strict=True))


def test_the_library_alone_would_not_read_a_histogram_that_grew() -> None:
    with pytest.raises(IndexError):
        HdrHistogram.decode(coded(stated_highest=4_000).encode())
