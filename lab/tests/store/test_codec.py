"""A second of readings as a blob: what goes in comes out, bit by bit where that is promised."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgejoule.errors import StoreError
from edgejoule.store.codec import pack, pack_integers, unpack, unpack_integers


@given(
    steps=st.lists(st.integers(0, 2**40), min_size=1, max_size=50),
    values=st.lists(st.floats(width=64), min_size=50, max_size=50),
)
def test_without_a_resolution_readings_survive_bit_by_bit(steps: list[int], values: list[float]) -> None:
    t_ns = np.cumsum(np.array(steps, dtype=np.int64))
    value = np.array(values[: len(steps)])
    blob, kept = pack(t_ns, value, 0.0)
    t_back, value_back = unpack(blob, len(steps))
    np.testing.assert_array_equal(kept, value_back)
    np.testing.assert_array_equal(t_back, t_ns)
    np.testing.assert_array_equal(np.isnan(value_back), np.isnan(value))
    good = ~np.isnan(value)
    np.testing.assert_array_equal(value_back[good].view(np.uint64), value[good].view(np.uint64))


@given(
    steps=st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=50),
    resolution=st.floats(1e-9, 10.0),
    failed=st.integers(0, 49),
)
def test_whole_steps_of_the_resolution_survive_bit_by_bit(steps: list[int], resolution: float, failed: int) -> None:
    value = np.array(steps) * resolution
    value[failed:] = np.nan
    t_ns = np.arange(len(steps), dtype=np.int64) * 200_000
    blob, kept = pack(t_ns, value, resolution)
    _, back = unpack(blob, len(steps))
    np.testing.assert_array_equal(kept.view(np.uint64), back.view(np.uint64))
    np.testing.assert_array_equal(back[:failed].view(np.uint64), value[:failed].view(np.uint64))
    assert np.isnan(back[failed:]).all()


@given(values=st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=50), resolution=st.floats(1e-6, 1.0))
def test_other_values_move_by_at_most_half_a_sixteenth_of_the_resolution(
    values: list[float], resolution: float
) -> None:
    t_ns = np.arange(len(values), dtype=np.int64)
    blob, kept = pack(t_ns, np.array(values), resolution)
    _, back = unpack(blob, len(values))
    np.testing.assert_array_equal(kept.view(np.uint64), back.view(np.uint64))
    assert np.max(np.abs(back - values)) <= resolution / 32 * (1 + 1e-9) + 1e-9
    again = unpack(pack(t_ns, back, resolution)[0], len(values))[1]
    assert np.max(np.abs(again - back)) <= 1e-9 * resolution  # packing it again changes nothing more


def test_a_truncated_blob_is_refused() -> None:
    blob, _ = pack(np.arange(4, dtype=np.int64), np.ones(4), 0.0)
    with pytest.raises(StoreError, match="5 samples"):
        unpack(blob, 5)
    with pytest.raises(StoreError, match="damaged"):
        unpack(blob[:20], 4)
    with pytest.raises(StoreError, match="damaged"):
        unpack(blob[:5], 4)


def test_integers_survive() -> None:
    numbers = np.cumsum(np.random.default_rng(1).integers(0, 2**40, (100, 2)), axis=0)
    np.testing.assert_array_equal(unpack_integers(pack_integers(numbers), 2), numbers)
    with pytest.raises(StoreError, match="damaged"):
        unpack_integers(b"no zlib", 2)
