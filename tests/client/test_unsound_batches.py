"""A batch that a consumer cannot read: an error that names it, by the same rule as everywhere."""

from __future__ import annotations

from pathlib import Path

import pytest

import octavo
from octavo.errors import CorruptRecordError
from octavo.format.names import TopicPartition
from tests.format.crafted import crafted
from tests.scan.segments import write_segment
from tests.storage.batches import batch


@pytest.mark.parametrize("fields", [{"recordsCount": -1}, {"magic": 3}])
@pytest.mark.parametrize("check_crcs", [True, False])
def test_a_consumer_says_which_batch_it_cannot_read(tmp_path: Path, fields: dict[str, int], check_crcs: bool) -> None:
    write_segment(tmp_path / "orders-0", 0, crafted(batch(0), **fields), batch(1))
    with octavo.LogDir(tmp_path, background=False) as logs:
        consumer = logs.consumer("orders", check_crcs=check_crcs)
        with pytest.raises(CorruptRecordError, match="the batch at offset 0 is damaged; seek past it to go on"):
            next(iter(consumer))
        consumer.seek(TopicPartition("orders", 0), 1)
        assert next(iter(consumer)).offset == 1
