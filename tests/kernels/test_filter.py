"""Compaction's filter: which records stay, and the bytes of the resulting batches."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from octavo.format.batches.batch import decode_batch
from octavo.format.batches.walker import walk
from octavo.format.sequence import last_sequence
from octavo.kernels.layout import BATCH, CONTROL, DELETE_HORIZON, LOG_APPEND_TIME, TRANSACTIONAL, Code
from octavo.kernels.offset_table import SLOT_BYTES, BatchVerdict, Fate, FilterRun, KeyHash, OffsetTable
from tests.kernels.hand_made import batch, record

NOW, HORIZON = 1_000, 5_000


class Filtered(NamedTuple):
    code: int
    row: int
    data: bytes
    table: NDArray[np.void]
    fates: list[int]
    state: list[int]


def latest(kernels: SimpleNamespace, data: bytes, latest_offset: int | None = None) -> OffsetTable:
    """A table of the keys in the data."""
    table = OffsetTable.empty(np.zeros(4096 * SLOT_BYTES, np.uint8), 0.9, KeyHash.SIPHASH, bytes(16))
    found = walk(data)
    kernels.map_batches(table, found.data, found.table, np.zeros(len(found.table), np.uint8), 0)
    if latest_offset is not None:
        table.latest_offset = latest_offset
    return table


def filtered(
    kernels: SimpleNamespace, data: bytes, verdict: int = 0, table: OffsetTable | None = None, room: int = 1 << 16
) -> Filtered:
    found = walk(data)
    verdicts, fates = np.full(len(found.table), verdict, np.uint8), np.full(len(found.table), 99, np.uint8)
    run = FilterRun.of(NOW, HORIZON)
    run.out, run.table = np.zeros(room, np.uint8), np.zeros(1 << 10, BATCH)
    table = latest(kernels, data) if table is None else table
    code, row, _, _ = kernels.filter_batches(table, run, found.data, found.table, verdicts, fates)
    return Filtered(
        code, row, run.out[: run.end_position].tobytes(), run.survivors(), fates.tolist(), run.state.tolist()
    )


def offsets(data: bytes) -> list[int]:
    return [r.offset for row in walk(data).table for r in decode_batch(data, int(row["position"]))[1]]


PAIR = batch(record(0, b"a", b"1", delta_ms=5) + record(3, b"b", b"2", delta_ms=9), 2, base_offset=10,
             last_offset_delta=4, base_timestamp=100, max_timestamp=109)  # fmt: skip
LATER = batch(record(0, b"a", b"3"), 1, base_offset=20, base_timestamp=200, max_timestamp=200)


def test_a_batch_that_stays_is_copied(kernels: SimpleNamespace) -> None:
    odd = batch(record(0, b"a", b"1"), 1, attributes=0x100, base_offset=7)  # not even an unknown bit is lost
    done = filtered(kernels, odd)
    assert (done.code, done.data, done.fates) == (Code.DONE, odd, [Fate.WHOLE])


def test_a_record_stays_if_its_offset_is_its_keys_last(kernels: SimpleNamespace) -> None:
    # C7
    done = filtered(kernels, PAIR + LATER)
    assert done.fates == [Fate.REBUILT, Fate.WHOLE]
    assert offsets(done.data) == [13, 20]
    assert done.state[4:] == [3, 2, 0]


def test_a_batch_keeps_its_offsets_and_takes_its_timestamps_from_what_stays(kernels: SimpleNamespace) -> None:
    # F14
    done = filtered(kernels, PAIR + LATER)
    header, records = decode_batch(done.data)
    assert (header.base_offset, header.last_offset, header.count) == (10, 14, 1)
    assert (header.base_timestamp, header.max_timestamp) == (109, 109)
    assert [(r.offset, r.timestamp, r.value) for r in records] == [(13, 109, b"2")]
    assert walk(done.data).table.tolist() == done.table.tolist()  # with its CRC


def test_the_max_timestamp_is_of_what_stays(kernels: SimpleNamespace) -> None:
    first = batch(record(0, b"a", b"1", delta_ms=50) + record(1, b"b", b"2", delta_ms=-3), 2, base_timestamp=100,
                  max_timestamp=150, last_offset_delta=1)  # fmt: skip
    header, _ = decode_batch(filtered(kernels, first + LATER).data)
    assert (header.base_timestamp, header.max_timestamp) == (97, 97)


def test_log_append_time_is_the_time_of_all_records(kernels: SimpleNamespace) -> None:
    first = batch(record(0, b"a", b"1", delta_ms=50) + record(1, b"b", b"2", delta_ms=-3), 2, base_timestamp=100,
                  max_timestamp=777, last_offset_delta=1, attributes=LOG_APPEND_TIME)  # fmt: skip
    data = filtered(kernels, first + LATER).data
    header, records = decode_batch(data, stored_timestamps=True)
    assert (header.base_timestamp, header.max_timestamp, records[0].timestamp) == (777, 777, 777)


def test_a_batch_with_nothing_left_is_removed(kernels: SimpleNamespace) -> None:
    done = filtered(kernels, LATER + batch(record(0, b"a", b"4"), 1, base_offset=30))
    assert (done.fates, offsets(done.data)) == ([Fate.GONE, Fate.WHOLE], [30])


def test_a_batch_may_stay_without_records(kernels: SimpleNamespace) -> None:
    # F14
    old = batch(record(0, b"a", b"4"), 1, base_offset=5, last_offset_delta=2, producer_id=9, producer_epoch=1,
                base_sequence=77, attributes=TRANSACTIONAL | LOG_APPEND_TIME, max_timestamp=8)  # fmt: skip
    done = filtered(kernels, old + LATER, BatchVerdict.RETAIN_EMPTY)
    header, _ = decode_batch(done.data)
    assert (done.fates[0], header.size, header.count) == (Fate.EMPTIED, 61, 0)
    assert (header.base_offset, header.last_offset) == (5, 7)
    assert last_sequence(header.base_sequence, header.last_offset_delta) == 79
    assert (header.base_timestamp, header.max_timestamp) == (-1, 8)
    assert header.attributes == TRANSACTIONAL | LOG_APPEND_TIME


def test_records_of_an_aborted_transaction_are_removed(kernels: SimpleNamespace) -> None:
    assert filtered(kernels, LATER, BatchVerdict.DISCARD_RECORDS).fates == [Fate.GONE]
    assert filtered(kernels, LATER, BatchVerdict.DISCARD_RECORDS | BatchVerdict.RETAIN_EMPTY).fates == [Fate.EMPTIED]


def test_records_without_a_key_are_removed(kernels: SimpleNamespace) -> None:
    # C14
    done = filtered(kernels, batch(record(0, None) + record(1), 2, last_offset_delta=1))
    assert (offsets(done.data), done.state[-1]) == ([1], 1)


def test_what_lies_after_the_last_offset_of_the_table_stays(kernels: SimpleNamespace) -> None:
    data = PAIR + batch(record(0, None), 1, base_offset=20)
    done = filtered(kernels, data, table=latest(kernels, LATER, latest_offset=10))
    assert offsets(done.data) == [13, 20]


TOMBSTONE = batch(record(0, b"t", None, delta_ms=3) + record(1, b"v", b"v"), 2, base_offset=40, last_offset_delta=1,
                  base_timestamp=100, max_timestamp=103)  # fmt: skip


def test_a_tombstone_gets_a_horizon(kernels: SimpleNamespace) -> None:
    # C11
    header, records = decode_batch(filtered(kernels, TOMBSTONE).data)
    assert (header.delete_horizon_ms, header.max_timestamp) == (HORIZON, 103)
    assert [(r.offset, r.timestamp, r.value) for r in records] == [(40, 103, None), (41, 100, b"v")]


@pytest.mark.parametrize(("horizon", "kept"), [(NOW - 1, [41]), (NOW, [41]), (NOW + 1, [40, 41])])
def test_a_tombstone_is_removed_past_its_horizon(kernels: SimpleNamespace, horizon: int, kept: list[int]) -> None:
    # C11
    data = batch(record(0, b"t", None) + record(1, b"v", b"v"), 2, base_offset=40, last_offset_delta=1,
                 attributes=DELETE_HORIZON, base_timestamp=horizon, max_timestamp=103)  # fmt: skip
    done = filtered(kernels, data)
    header, _ = decode_batch(done.data)
    assert (offsets(done.data), header.delete_horizon_ms) == (kept, horizon)
    assert done.fates == [Fate.WHOLE if len(kept) == 2 else Fate.REBUILT]


MARKER = batch(record(0, b"\0\0\0\1", b"\0\0\0\0\0\5"), 1, base_offset=50, attributes=CONTROL | TRANSACTIONAL,
               base_timestamp=70, max_timestamp=70, producer_id=4, producer_epoch=0)  # fmt: skip


def test_a_marker_stays_and_gets_a_horizon_when_nothing_of_its_transaction_is_left(kernels: SimpleNamespace) -> None:
    assert filtered(kernels, MARKER).data == MARKER
    header, records = decode_batch(filtered(kernels, MARKER, BatchVerdict.MARKER_OF_NOTHING).data)
    assert (header.delete_horizon_ms, header.attributes & CONTROL, records[0].timestamp) == (HORIZON, CONTROL, 70)


def test_varints_that_are_longer_than_needed_are_shortened(kernels: SimpleNamespace) -> None:
    # One header, whose value is null.
    tail = b"\x82\x00k" + b"\x82\x80\x00v" + b"\x82\x00" + b"\x82\x00h" + b"\x89\x80\x80\x80\x10"
    body = b"\x07" + b"\x80\x00" + b"\x84\x00" + tail
    odd = batch(record(0, b"a") + bytes([2 * len(body)]) + body, 2, last_offset_delta=2)
    done = filtered(kernels, odd + LATER)
    assert decode_batch(done.data)[1][0].headers == (("h", None),)
    wanted = batch(record(2, b"k", b"v", ((b"h", None),)), 1, last_offset_delta=2)
    assert done.data[: len(wanted)] == wanted


def test_a_batch_that_does_not_fit_is_left_for_the_next_call(kernels: SimpleNamespace) -> None:
    done = filtered(kernels, PAIR + LATER, room=61 + 30 + 2 * 14)
    assert (done.code, done.row, offsets(done.data)) == (Code.FULL, 1, [13])


def test_what_comes_before_damage_is_done(kernels: SimpleNamespace) -> None:
    damaged = batch(record() + b"\0", 1, base_offset=30)
    done = filtered(kernels, LATER + damaged, table=latest(kernels, LATER))
    assert (done.code, done.row, done.data) == (Code.TRAILING_BYTES, 1, LATER)


def test_records_may_be_unpacked_elsewhere(kernels: SimpleNamespace) -> None:
    """What stays whole is copied unchanged; the rest is written uncompressed, for the caller to compress."""
    plain = record(0, b"a", b"1") + record(1, b"b", b"2")
    packed = [batch(b"packed", 2, base_offset=base, attributes=3, last_offset_delta=1) for base in (0, 10)]
    found = walk(b"".join(packed))
    table = latest(kernels, batch(plain, 2, base_offset=10) + batch(record(0, b"b"), 1, base_offset=0))
    unpacked, starts, ends = plain + plain, np.array([0, len(plain)]), np.array([len(plain), 2 * len(plain)])
    run, fates = FilterRun.of(NOW, HORIZON), np.zeros(2, np.uint8)
    run.out, run.table = np.zeros(1 << 12, np.uint8), np.zeros(8, BATCH)
    table.latest_offset = 100
    code, *_ = kernels.filter_batches(
        table, run, found.data, found.table, np.zeros(2, np.uint8), fates, unpacked, starts, ends
    )
    assert (code, fates.tolist()) == (Code.DONE, [Fate.REBUILT, Fate.WHOLE])
    rebuilt, whole = run.survivors()
    start = int(rebuilt["position"]) + 61
    assert rebuilt["attributes"] == 3
    assert run.out[start : int(whole["position"])].tobytes() == record(1, b"b", b"2")
    assert run.out[int(whole["position"]) : run.end_position].tobytes() == packed[1]


def test_what_cannot_be_filtered_is_refused(kernels: SimpleNamespace) -> None:
    found, verdicts = walk(PAIR), np.zeros(1, np.uint8)
    table, run, fates = latest(kernels, PAIR), FilterRun.of(NOW, HORIZON), np.zeros(1, np.uint8)
    given = (found.table, verdicts, fates)
    with pytest.raises(ValueError, match="batch 0 does not lie inside its buffer"):
        kernels.filter_batches(table, run, PAIR[:-1], *given)
    with pytest.raises(ValueError, match="unpacked, starts and ends must be given together"):
        kernels.filter_batches(table, run, PAIR, *given, PAIR)
    run.state = run.state[:-1].copy()
    with pytest.raises(ValueError, match="the run's state has 6 values, expected 7"):
        kernels.filter_batches(table, run, PAIR, *given)


def test_both_agree_on_random_batches(both: tuple[SimpleNamespace, SimpleNamespace]) -> None:
    rng = random.Random(5)
    for _ in range(60):
        data, base = b"", 0
        for _ in range(rng.randrange(1, 12)):
            data += (made := _random_batch(rng, base))
            base += 1 + int(walk(made).table[0]["last_offset_delta"])
        verdict = rng.choice([0, 0, 1, 2, 3, 4])
        limit = rng.choice([None, base // 2])
        results = [filtered(kernels, data, verdict, latest(kernels, data, limit)) for kernels in both]
        assert results[0][:3] == results[1][:3] and results[0][4:] == results[1][4:]
        assert results[0].table.tolist() == results[1].table.tolist()


def _random_batch(rng: random.Random, base: int) -> bytes:
    count = rng.choice([0, 1, 2, 5, 20])
    deltas = sorted(rng.sample(range(count * 2 + 1), count))
    records = b"".join(
        record(
            delta,
            rng.choice([b"%d" % rng.randrange(9), None, b"k" * 100]),
            rng.choice([b"v" * rng.choice([0, 3, 70, 200]), None]),
            ((b"h", rng.choice([None, b"x"])),) * rng.randrange(3),
            delta_ms=rng.choice([0, 1, -5, 100_000]),
        )
        for delta in deltas
    )
    attributes = rng.choice([0, LOG_APPEND_TIME, TRANSACTIONAL, DELETE_HORIZON])
    return batch(records, count, base_offset=base, last_offset_delta=2 * count, attributes=attributes,
                 base_timestamp=rng.choice([50, NOW - 1, NOW + 1]), max_timestamp=100_050)  # fmt: skip


def marked(kernels: SimpleNamespace, data: bytes, end: int) -> OffsetTable:
    """A table of the keys in the data, with marks for their offsets."""
    table = OffsetTable.empty(np.zeros(4096 * SLOT_BYTES, np.uint8), 0.9, KeyHash.SIPHASH, bytes(16))
    table.mark_offsets(0, end)
    found = walk(data)
    kernels.map_batches(table, found.data, found.table, np.zeros(len(found.table), np.uint8), 0)
    kernels.settle_marks(table)
    return table


def foreseen(kernels: SimpleNamespace, table: OffsetTable, data: bytes, verdict: int = 0) -> list[int]:
    found = walk(data).table
    fates = np.empty(len(found), np.int8)
    kernels.foresee_fates(table, found, np.full(len(found), verdict, np.uint8), fates)
    return [int(fate) for fate in fates]


def test_marks_decide_about_whole_batches(kernels: SimpleNamespace) -> None:
    data = (
        batch(record(0, b"a") + record(1, b"b"), 2, base_offset=0, last_offset_delta=1)  # both come again later
        + batch(record(0, b"c") + record(1, b"a"), 2, base_offset=10, last_offset_delta=1)  # one of them
        + batch(record(0, b"a") + record(1, b"b"), 2, base_offset=20, last_offset_delta=4)
        + batch(record(0, b"t", None), 1, base_offset=30)
        + batch(record(0, None), 1, base_offset=40)
        + batch(b"", 0, base_offset=50)
        + MARKER
    )
    table = marked(kernels, data, 60)
    assert foreseen(kernels, table, data) == [Fate.GONE, -1, Fate.WHOLE, -1, -1, Fate.GONE, -1]
    assert foreseen(kernels, table, data, BatchVerdict.RETAIN_EMPTY)[0] == Fate.EMPTIED
    assert foreseen(kernels, table, data, BatchVerdict.DISCARD_RECORDS) == [Fate.GONE] * 7
    assert foreseen(kernels, latest(kernels, data), data) == [-1, -1, -1, -1, -1, Fate.GONE, -1]
    assert filtered(kernels, data, table=table)[:3] == filtered(kernels, data)[:3]
    table.latest_offset = 21  # what lies after the last known offset is not judged by its marks
    assert foreseen(kernels, table, data)[2] == -1


def test_a_batch_that_brought_no_keys_is_looked_up(kernels: SimpleNamespace) -> None:
    first = batch(record(0, b"a") + record(1, b"x") + record(2, b"b"), 3, base_offset=0, last_offset_delta=2)
    later = batch(record(0, b"a") + record(1, b"b"), 2, base_offset=10, last_offset_delta=1)
    table = OffsetTable.empty(np.zeros(99 * SLOT_BYTES, np.uint8), 0.9, KeyHash.SIPHASH, bytes(16))
    table.mark_offsets(0, 12)
    found = walk(first + later)
    kernels.map_batches(table, found.data, found.table, np.array([1, 0], np.uint8), 0)
    kernels.settle_marks(table)
    assert foreseen(kernels, table, first + later) == [-1, Fate.WHOLE]
    assert offsets(filtered(kernels, first + later, table=table).data) == [1, 10, 11]


def test_marks_do_not_change_what_stays(both: tuple[SimpleNamespace, SimpleNamespace]) -> None:
    rng = random.Random(11)
    for _ in range(60):
        data, base = b"", 0
        for _ in range(rng.randrange(1, 12)):
            data += (made := _random_batch(rng, base))
            base += 1 + int(walk(made).table[0]["last_offset_delta"])
        verdict = rng.choice([0, 0, 1, 2, 3])
        results = [filtered(kernels, data, verdict, marked(kernels, data, base)) for kernels in both]
        without = filtered(both[0], data, verdict)
        for result in results:
            assert (result.data, result.fates, result.state[4:]) == (without.data, without.fates, without.state[4:])
