"""Records as values, when a filling has more rows than are converted at a time."""

from __future__ import annotations

from pathlib import Path

import pytest

import octavo
from octavo.format.batches.batch import build_batch
from octavo.format.record import Header, Record
from tests.scanner.segments import write_segment


@pytest.mark.parametrize("start", [0, 5, 1023, 1024, 2500])
def test_nulls_and_headers_stay_with_their_records(tmp_path: Path, start: int) -> None:
    records = [
        Record(
            number,
            number,
            None if number % 3 == 0 else b"%d" % number,
            None if number % 7 == 0 else bytes(number % 5),
            tuple(Header(f"h{number}", None if number % 2 else b"x") for _ in range(number % 4)),
        )
        for number in range(3000)
    ]
    write_segment(tmp_path / "t-0", 0, build_batch(records))
    found = list(octavo.scan(tmp_path / "t-0", from_offset=start))
    shown = [Record(record.offset, record.timestamp, record.key, record.value, record.headers) for record in found]
    assert shown == records[start:]
