"""The markers of many control batches at once."""

from __future__ import annotations

import numpy as np
import pytest

from octavo.errors import CorruptionError, InvalidRecordError
from octavo.format.batches.batch import Origin, build_batch, frame_batch, read_header
from octavo.format.batches.control import ControlType, EndTransactionMarker, build_marker_batch, decode_control
from octavo.format.batches.marker_table import EMPTIED, control_types, decode_markers
from octavo.format.batches.walker import walk
from octavo.format.compression import Codec
from octavo.format.record import Record
from tests.format.exact_batches import empty_batch
from tests.golden import archives

KEY, VALUE = b"\0\0\0\1", b"\0\0\0\0\0\7"  # COMMIT by a coordinator of epoch 7
BY_PRODUCER = Origin(producer_id=5, producer_epoch=1, is_transactional=True, is_control=True)


def marker(offset: int, kind: ControlType = ControlType.COMMIT, coordinator_epoch: int = 3) -> bytes:
    return build_marker_batch(
        EndTransactionMarker(kind, coordinator_epoch),
        offset=offset,
        timestamp=1000 + offset,
        producer_id=5,
        producer_epoch=1,
    )


def control(key: bytes | None, value: bytes | None, origin: Origin = BY_PRODUCER, codec: Codec = Codec.NONE) -> bytes:
    return build_batch([Record(9, 50, key, value)], origin=origin, codec=codec)


def found_in(*batches: bytes) -> tuple[list[tuple[int, ...]], int, CorruptionError | None]:
    """Offset, timestamp, type and coordinator epoch of each marker."""
    log = walk(b"".join(batches))
    markers, rows, damage = decode_markers(log.data, log.table)
    return markers[["offset", "timestamp", "type", "coordinator_epoch"]].tolist(), rows, damage


def test_markers_among_other_batches_are_found() -> None:
    data = build_batch([Record(0, 5, None, b"v")], origin=Origin(producer_id=5, producer_epoch=1, base_sequence=0))
    kraft = control(b"\0\0\0\2", b"", Origin(is_control=True))
    batches = data, marker(1, ControlType.ABORT, 8), kraft, data, marker(4), empty_batch(read_header(marker(5)))
    assert found_in(*batches) == ([(1, 1001, 0, 8), (4, 1004, 1, 3), (5, 0, -1, 0)], 6, None)


def test_a_log_may_have_no_markers() -> None:
    assert found_in() == ([], 0, None)
    assert found_in(build_batch([Record(0, 5, None, b"v")])) == ([], 1, None)


@pytest.mark.parametrize("codec", list(Codec))
def test_a_marker_may_be_compressed(codec: Codec) -> None:
    assert found_in(control(KEY, VALUE, codec=codec)) == ([(9, 50, 1, 7)], 1, None)


def test_later_versions_are_read_as_the_first() -> None:
    assert found_in(control(b"\0\5\0\0more", b"\0\6\0\0\0\7more"))[0] == [(9, 50, 0, 7)]


def test_the_first_record_counts() -> None:
    both = build_batch([Record(9, 50, KEY, VALUE), Record(10, 60, b"\0\0\0\0", VALUE)], origin=BY_PRODUCER)
    assert found_in(both, marker(11))[0] == [(9, 50, 1, 7), (11, 1011, 1, 3)]


def test_the_time_of_the_append_overrules_the_records() -> None:
    stamped = build_batch([Record(9, 50, KEY, VALUE)], origin=BY_PRODUCER, log_append_time=7777)
    assert found_in(stamped)[0] == [(9, 7777, 1, 7)]


def without_records(count: int) -> bytes:
    batch = np.array(walk(control(KEY, VALUE)).table)
    batch["count"] = count
    return frame_batch(read_header(control(KEY, VALUE)).from_row(batch[0]), b"")


@pytest.mark.parametrize(
    ("broken", "problem"),
    [
        (control(b"\0\0\0", VALUE), "key of 3 bytes, expected at least 4"),
        (control(None, VALUE), "key of null"),
        (control(b"\xff\xff\0\0", VALUE), "version -1 of a control record's key"),
        (control(KEY, b"\0\0\0\0\0"), "value of 5 bytes, expected at least 6"),
        (control(KEY, None), "value of null"),
        (control(KEY, b"\xff\xff\0\0\0\0"), "version -1 of a control record's value"),
        (control(b"\0\0\0\2", VALUE), "a control record of type 2 in a producer's batch, expected ABORT or COMMIT"),
        (control(b"\0\0\0\x63", VALUE), "a control record of type 99 in a producer's batch"),
        (without_records(-2), "-2"),
        (without_records(2), "2 records"),
    ],
)
def test_damage_ends_the_table_before_its_batch(broken: bytes, problem: str) -> None:
    before = empty_batch(read_header(marker(5))), marker(6)
    markers, rows, damage = found_in(*before, broken, marker(10), broken)
    assert ([found[0] for found in markers], rows) == ([5, 6], 2)
    assert isinstance(damage, InvalidRecordError) and problem in damage.problem
    start = sum(map(len, before))
    assert damage.position is not None and start <= damage.position <= start + len(broken)


def test_the_types_of_any_control_batches_are_found() -> None:
    kraft, unknown = control(b"\0\0\0\2", b"", Origin(is_control=True)), control(b"\0\0\xff\xfe", None)
    both = build_batch([Record(9, 50, KEY, VALUE), Record(10, 60, b"\0\0\0\0", VALUE)], origin=BY_PRODUCER)
    emptied = empty_batch(read_header(marker(5)))
    log = walk(b"".join([kraft, both, emptied, unknown, marker(12, ControlType.ABORT)]))
    expected = [ControlType.LEADER_CHANGE, ControlType.COMMIT, EMPTIED, ControlType.UNKNOWN, ControlType.ABORT]
    assert control_types(log.data, log.table).tolist() == expected
    broken = walk(marker(4) + control(b"\0\0\0", VALUE))
    with pytest.raises(InvalidRecordError, match="key of 3 bytes"):
        control_types(broken.data, broken.table)


@pytest.mark.parametrize("archive", ["v431-clean", "v392", "v01103"])
def test_markers_of_real_brokers_are_read(archive: str) -> None:
    """Each is read as `decode_control` reads it from its record."""
    count = 0
    for path in archives.files(archive, "*.log"):
        log = walk(path.read_bytes())
        markers, rows, damage = decode_markers(log.data, log.table)
        assert damage is None and rows == len(log.table)
        for found in markers:
            key, value = key_and_value(log.data, log.table[log.table["base_offset"] == found["offset"]][0])
            expected = EndTransactionMarker(ControlType(int(found["type"])), int(found["coordinator_epoch"]))
            assert decode_control(key, value) == expected
        count += len(markers)
    assert count > 10


def key_and_value(data: memoryview, batch: np.void) -> tuple[bytes, bytes]:
    """Split an uncompressed marker, which ends with both: a key of 4 bytes, a length, a value of 6, no headers."""
    assert batch["size"] == 78
    end = int(batch["position"] + batch["size"])
    return bytes(data[end - 12 : end - 8]), bytes(data[end - 7 : end - 1])
