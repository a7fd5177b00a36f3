"""A small topic on disk, for tests of the readers: `orders`, with 80 records in partition 0 and 10 in partition 1."""

from __future__ import annotations

from pathlib import Path

from tests.scanner.segments import write_segment
from tests.storage.batches import batch

TEN = [batch(10 * number, 10, timestamp=1000 * number) for number in range(10)]


def write_orders(root: Path) -> Path:
    write_segment(root / "orders-0", 0, *TEN[:5])
    write_segment(root / "orders-0", 50, *TEN[5:8], closed=False)
    write_segment(root / "orders-1", 0, *TEN[:1])
    return root
