"""Runs of batches from columns: what a producer would cut, every codec, the facts that a commit relies on."""

from __future__ import annotations

import numpy as np
import pytest

from octavo.format.batches.batch import decode_batch
from octavo.format.batches.batch_run import BatchEncoder, BatchSettings, RunFacts
from octavo.format.batches.row_columns import from_records
from octavo.format.batches.walker import walk
from octavo.format.compression import Codec
from octavo.format.record import Header, Record


def encoded(
    records: list[Record], settings: BatchSettings, encoder: BatchEncoder | None = None
) -> tuple[memoryview, RunFacts]:
    """All records as one run."""
    columns = from_records(records)
    return (encoder or BatchEncoder()).encode_runs(columns, None, np.full(1, columns.rows), settings)[0]


def records(count: int, *, size: int = 100, headers: bool = False) -> list[Record]:
    some = (Header("h", b"1"), Header("h", None)) if headers else ()
    return [
        Record(7 * n, 1000 + n % 5, None if n % 7 == 3 else b"k%d" % n, bytes(size) + b"%d" % n, some if n % 3 else ())
        for n in range(count)
    ]


@pytest.mark.parametrize("codec", Codec)
def test_records_come_back_numbered_from_0_in_each_batch(codec: Codec) -> None:
    given = records(500, headers=True)
    data, facts = encoded(given, BatchSettings(4096, codec))
    found, walked = [], walk(data)
    assert walked.next_position == len(data) == facts.size
    assert not walked.table["flaws"].any()
    for row in walked.table:
        header, some = decode_batch(data, int(row["position"]))
        assert [record.offset for record in some] == list(range(header.count))
        assert (header.base_offset, header.last_offset_delta, header.producer_id) == (0, header.count - 1, -1)
        assert header.max_timestamp == max(record.timestamp for record in some)
        found += some
    assert [(r.timestamp, r.key, r.value, r.headers) for r in found] == [
        (r.timestamp, r.key, r.value, r.headers) for r in given
    ]
    largest = int(walked.table["size"].max())
    assert facts == RunFacts(len(data), 500, largest, 1000, 1004, codec, has_null_keys=True)


def test_batches_are_filled_and_not_larger_than_asked_for() -> None:
    data, facts = encoded(records(1000), BatchSettings(4096))
    sizes = walk(data).table["size"]
    assert facts.largest_batch == sizes.max() <= 4096
    assert sizes[:-1].min() > 3500


def test_a_record_that_is_larger_has_a_batch_of_its_own() -> None:
    given = [*records(2), Record(0, 0, b"k", bytes(9000)), *records(2)]
    data, _ = encoded(given, BatchSettings(1000))
    assert walk(data).table["count"].tolist() == [2, 1, 2]


def test_an_encoder_can_be_used_again() -> None:
    encoder, default = BatchEncoder(), BatchSettings()
    first = bytes(encoded(records(300), default, encoder)[0])
    encoded(records(10), default, encoder)
    assert bytes(encoded(records(300), default, encoder)[0]) == first


def test_facts_of_two_runs_add_up() -> None:
    one, two = RunFacts(10, 2, 6, 3, 5, 0, has_null_keys=False), RunFacts(20, 3, 4, 2, 9, 0, has_null_keys=True)
    assert one + two == RunFacts(30, 5, 6, 2, 9, 0, has_null_keys=True)
    assert RunFacts() + one == one


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4])
def test_runs_may_take_rows_in_any_order(codec: Codec) -> None:
    given = records(200, headers=True)
    order = np.random.default_rng(5).permutation(200).astype(np.int32)
    encoder, ends, small = BatchEncoder(), np.array([0, 50, 50, 51, 200]), BatchSettings(1000, codec)
    runs = [(bytes(data), facts) for data, facts in encoder.encode_runs(from_records(given), order, ends, small)]
    assert ends.tolist() == [0, 50, 50, 51, 200]
    first = 0
    for (data, facts), end in zip(runs, ends.tolist(), strict=True):
        chosen = [given[row] for row in order[first:end]]
        alone, alone_facts = encoded(chosen, small, encoder)
        assert data == bytes(alone)
        assert (facts.size, facts.records, facts.largest_batch) == (len(alone), end - first, alone_facts.largest_batch)
        assert facts.max_timestamp == alone_facts.max_timestamp
        first = end


@pytest.mark.parametrize("batch_size", [0, 1, 61, 62, 100])
def test_a_tiny_batch_size_makes_batches_of_one_record(batch_size: int) -> None:
    data, _ = encoded(records(9), BatchSettings(batch_size))
    assert walk(data).table["count"].tolist() == [1] * 9
    data, facts = encoded([], BatchSettings(batch_size))
    assert (bytes(data), facts) == (b"", RunFacts())
