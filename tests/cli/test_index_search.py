"""Kafka's search in an index: correct if the entries are sorted, and Kafka's answer if they are not."""

from __future__ import annotations

from bisect import bisect_right

import numpy as np
import pytest

from octavo.cli.dump_log.time_index import last_slot_up_to


@pytest.mark.parametrize("length", [0, 1, 2, 5, 1024, 1025, 1026, 3000])
def test_sorted_entries(length: int) -> None:
    keys = np.arange(0, 3 * length, 3, dtype=np.int32)
    for target in [-1, 0, 1, 2, 3, 3 * length // 2, 3 * length - 4, 3 * length - 3, 3 * length, 10**9]:
        assert last_slot_up_to(keys, target, 8) == bisect_right(keys.tolist(), target) - 1


def test_in_the_zeros_of_an_untrimmed_file_the_search_ends_at_the_last_slot() -> None:
    keys = np.zeros(5000, np.int32)
    keys[:10] = np.arange(1, 11)
    assert last_slot_up_to(keys, 5, 8) == 4999
    assert last_slot_up_to(keys[:600], 5, 8) == 599
    assert last_slot_up_to(keys[:12], 5, 8) == 4


def test_the_search_ends_in_damaged_entries_too() -> None:
    generator = np.random.default_rng(1)
    for _ in range(200):
        keys = generator.integers(-(2**31), 2**31 - 1, generator.integers(1, 50), np.int32)
        slot = last_slot_up_to(keys, int(generator.integers(-(2**31), 2**31 - 1)), 8)
        assert -1 <= slot < len(keys)
