"""The decoder: a table of any batches in any order, in fillings of bounded size, up to the damage."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from octavo.errors import CorruptionError, CorruptRecordError, DecompressionLimitError, InvalidRecordError
from octavo.format.batches import decoder as module
from octavo.format.batches.batch import build_batch, frame_batch, read_header
from octavo.format.batches.decoder import Decoder
from octavo.format.batches.row_columns import to_records
from octavo.format.batches.walker import walk
from octavo.format.compression import Codec, compress
from octavo.format.legacy.message_set import encode_message, encode_message_set
from octavo.format.record import Record
from octavo.kernels.layout import Column
from tests.golden import strings
from tests.kernels.hand_made import batch, content, raw_message
from tests.property.strategies import ENTRIES


def decode(data: bytes, rows: list[int] | None = None, decoder: Decoder | None = None) -> list[Record]:
    table = walk(data).table
    found = (decoder or Decoder()).decode(data, table if rows is None else table[rows])
    return [record for columns in found for record in to_records(columns)]


def each_alone(data: bytes, rows: list[int] | None = None) -> list[Record]:
    table = walk(data).table
    decoder = Decoder()
    chosen = table if rows is None else table[rows]
    return [record for row in chosen for record in to_records(decoder.decode_one(data, row))]


@given(st.lists(ENTRIES, min_size=1, max_size=6).map(b"".join), st.data())
def test_a_table_in_any_order_is_its_batches_one_by_one(log: bytes, data: st.DataObject) -> None:
    """In file order, mixed up, with rows left out and repeated."""
    count = len(walk(log).table)
    rows = data.draw(st.lists(st.integers(0, count - 1), max_size=12))
    assert decode(log) == each_alone(log)
    assert decode(log, rows) == each_alone(log, rows)


@pytest.fixture
def small_fillings(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    monkeypatch.setattr(module, "TARGET_BYTES", 200)
    monkeypatch.setattr(module, "UNPACK_BYTES", 100)
    yield 200


@given(st.lists(ENTRIES, min_size=1, max_size=8).map(b"".join))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_many_fillings_give_the_records_of_one(small_fillings: int, log: bytes) -> None:
    table = walk(log).table
    fillings = [to_records(columns) for columns in Decoder().decode(log, table)]
    assert [record for filling in fillings for record in filling] == each_alone(log)
    largest = int(table["size"].max())
    if not (table["attributes"] & 7).any():
        assert len(fillings) >= (len(log) - 61 * len(table)) // (2 * (small_fillings + largest))


@given(st.lists(ENTRIES, min_size=1, max_size=4).map(b"".join), st.integers(0, 63))
def test_projections_are_the_same_columns(log: bytes, wanted: int) -> None:
    table = walk(log).table
    stored = wanted & Column.STORED_TIMESTAMP
    (whole,) = (content(columns) for columns in Decoder(Column.ALL | Column(stored)).decode(log, table))
    (some,) = (content(columns, wanted) for columns in Decoder(Column(wanted)).decode(log, table))
    assert some.items() <= whole.items()


def test_memory_does_not_grow_with_what_a_chunk_unpacks_to() -> None:
    """64 batches of less than 1,000 bytes, each of which decompresses to 1 MiB."""
    value = bytes(1 << 20)
    log = b"".join(build_batch([Record(i, 0, None, value)], codec=Codec.ZSTD) for i in range(64))
    assert len(log) < 64 * 1000
    decoder = Decoder()
    offsets: list[int] = []
    fillings = 0
    for columns in decoder.decode(log, walk(log).table):
        offsets += columns.offset[: columns.rows].tolist()
        fillings += 1
        assert columns.value is not None and len(columns.value.data) <= 4 * module.TARGET_BYTES
    assert offsets == list(range(64))
    assert fillings >= (64 << 20) // (2 * module.TARGET_BYTES)


def test_the_buffers_are_used_again() -> None:
    log = strings.BATCHES["transactional"] * 3
    decoder = Decoder()
    (first,) = decoder.decode(log, walk(log).table)
    data = first.value.data if first.value else None
    (second,) = decoder.decode(log, walk(log).table)
    assert second.value is not None and second.value.data is data
    assert second.rows == 9


SOUND: dict[str, Callable[[int], bytes]] = {
    "plain": lambda offset: build_batch([Record(offset, 0, b"k", b"v")]),
    "packed": lambda offset: build_batch([Record(offset, 0, b"k", b"v")], codec=Codec.GZIP),
    "message": lambda offset: encode_message(Record(offset, 0, b"k", b"v"), 1),
    "wrapper": lambda offset: encode_message_set([Record(offset, 0, b"k", b"v")], 1, codec=Codec.SNAPPY),
}


def refill(entry: bytes, records: bytes) -> bytes:
    """The same batch with other bytes after its header."""
    return frame_batch(read_header(entry), records)


DAMAGED: dict[str, tuple[bytes, type[CorruptionError]]] = {
    "plain": (batch(b"\2" * 20, 1), InvalidRecordError),
    "packed": (refill(SOUND["packed"](0), b"no gzip"), InvalidRecordError),
    "packed, of nothing": (batch(b"", 1, attributes=2), InvalidRecordError),
    "unknown codec": (batch(b"abc", 1, attributes=7), InvalidRecordError),
    "message": (raw_message(9, 1, 0, b"\0" * 12), InvalidRecordError),
    "message with a long key": (raw_message(9, 0, 0, b"\0\0\1\0" + b"\0" * 9), InvalidRecordError),
    "wrapper": (raw_message(9, 1, 1, b"\0" * 8 + b"\xff" * 8), InvalidRecordError),
    "unknown magic": (batch(b"", 0, magic=4), CorruptRecordError),
    "too short": (batch(b"", 0, size=20)[:32], CorruptRecordError),
}


@pytest.mark.parametrize("before", SOUND)
@pytest.mark.parametrize("name", DAMAGED)
@pytest.mark.parametrize("count", [0, 1, 5])
def test_the_records_before_damage_are_handed_out(name: str, before: str, count: int) -> None:
    damaged, kind = DAMAGED[name]
    sound = b"".join(SOUND[before](i) for i in range(count))
    log = sound + damaged + SOUND["plain"](99)
    seen: list[int] = []
    with pytest.raises(kind) as caught:
        for columns in Decoder().decode(log, walk(log).table):
            seen += columns.offset[: columns.rows].tolist()
    assert seen == list(range(count))
    assert caught.value.position is not None
    assert len(sound) <= caught.value.position <= len(sound) + len(damaged)


def test_a_position_inside_unpacked_records_counts_from_its_batch() -> None:
    """Several batches are decompressed one after another; the position of the problem is relative to its own batch."""
    inner = bytes.fromhex("10 00 00 00 02 6b 02 76 00") + b"\x0c\x01\x00\x00\x00\x00"
    header = read_header(SOUND["packed"](0))
    log = SOUND["packed"](0) * 3
    broken = frame_batch(read_header(batch(b"", 2, attributes=header.attributes)), compress(1, inner))
    with pytest.raises(InvalidRecordError) as caught:
        decode(log + broken)
    assert caught.value.position == len(log)
    assert "at byte 9 of what the batch unpacks to" in str(caught.value)


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_a_bomb_is_stopped(codec: Codec) -> None:
    bomb = build_batch([Record(0, 0, None, bytes(3 << 20))], codec=codec)
    log = SOUND["packed"](5) + bomb
    seen = []
    with pytest.raises(DecompressionLimitError) as caught:
        for columns in Decoder(limit=1 << 20).decode(log, walk(log).table):
            seen.append(columns.rows)
    assert seen == [1]
    assert caught.value.position is not None and caught.value.position >= len(SOUND["packed"](5))
    assert decode(log, decoder=Decoder(limit=4 << 20))[-1].value == bytes(3 << 20)


def test_without_batches_there_are_no_records() -> None:
    assert decode(b"") == []
    assert [columns.rows for columns in Decoder().decode(b"", np.zeros(0, walk(b"").table.dtype))] == [0]
