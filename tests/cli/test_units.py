"""Human units next to exact numbers."""

from __future__ import annotations

import pytest

from octavo.cli.units import with_units


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("67108864 bytes went", "67108864 bytes (64 MiB) went"),
        ("66973280 bytes", "66973280 bytes (63.9 MiB)"),
        ("t-0 (5 records, 66973280 bytes)", "t-0 (5 records, 66973280 bytes = 63.9 MiB)"),
        ("10239 bytes, 1 byte", "10239 bytes, 1 byte"),
        ("94841507957 ms old", "94841507957 ms (3.0 years) old"),
        ("8000 ms old", "8000 ms old"),
        ("retention.ms is 604800000; retention.bytes is -1", "retention.ms is 604800000 (7 d); retention.bytes is -1"),
        ("by max.compaction.lag.ms 90000", "by max.compaction.lag.ms 90000 (1.5 min)"),
        ("retention.bytes is 1073741824", "retention.bytes is 1073741824 (1 GiB)"),
        ("retention.bytes: 1073741824 bytes", "retention.bytes: 1073741824 bytes (1 GiB)"),
        ("offset 604800000", "offset 604800000"),
        ("flush.ms is 9223372036854775807", "flush.ms is 9223372036854775807"),  # never
    ],
)
def test_large_numbers_get_their_units(line: str, shown: str) -> None:
    assert with_units(line) == shown
