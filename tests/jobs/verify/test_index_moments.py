"""Index entries that only the version, the other entries or the other index distinguish from sound ones."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from octavo.format.batches.batch import build_batch, decode_batch
from octavo.format.compression import Codec
from octavo.format.indexes import offset_index, time_index
from octavo.format.legacy.message_set import encode_message_set
from octavo.format.names import FileKind
from octavo.format.record import Record
from octavo.jobs.verify.finding import FindingKind, Severity
from tests.format.exact_batches import encode_batch
from tests.golden.archives import unpack
from tests.jobs.verify.verified import findings_of, shown
from tests.scanner.segments import path, write_segment
from tests.storage.batches import batch

ONES = [batch(number, timestamp=1000 + number) for number in range(8)]
PAIRS = [batch(2 * number, 2, timestamp=1000 + 10 * number) for number in range(8)]
INDEX, TIMES, LOG = (f"{0:020}{suffix}" for suffix in (".index", ".timeindex", ".log"))
Pairs = Sequence[tuple[int, int]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "orders-0"


def write(folder: Path, batches: Sequence[bytes], offsets: Pairs, times: Pairs) -> None:
    """A segment with these entries; an offset entry is an offset and the number of a batch."""
    write_segment(folder, 0, *batches)
    positions = [sum(map(len, batches[:number])) for _, number in offsets]
    path(folder, 0, FileKind.OFFSET_INDEX).write_bytes(
        offset_index.encode([offset for offset, _ in offsets], positions, 0)
    )
    path(folder, 0, FileKind.TIME_INDEX).write_bytes(
        time_index.encode([timestamp for timestamp, _ in times], [offset for _, offset in times], 0)
    )


def kept(data: bytes, *offsets: int) -> bytes:
    """A batch in which the cleaner has left these records."""
    header, records = decode_batch(data)
    left = [record for record in records if record.offset in offsets]
    largest = max([record.timestamp for record in left], default=header.max_timestamp)
    return encode_batch(replace(header, max_timestamp=largest), left)


def test_an_append_of_two_batches_is_not_believed_without_its_time(folder: Path) -> None:
    """An entry has the offset of the second of two batches, while the time index knows only the first."""
    write(folder, ONES, [(3, 3)], [(1003, 3), (1007, 7)])
    assert findings_of(folder) == []
    write(folder, ONES, [(4, 3)], [(1004, 4), (1007, 7)])  # one append of two, up to 4.0.0
    assert findings_of(folder) == []
    write(folder, ONES, [(4, 3)], [(1003, 3), (1007, 7)])
    assert shown(findings_of(folder)) == [(INDEX, 0, FindingKind.WRONG_ENTRY, Severity.PROBLEM)]


def test_before_the_time_index_an_entry_named_the_first_message(folder: Path) -> None:
    messages = [encode_message_set([Record(number, -1, b"k", b"v")], 0) for number in range(8)]
    write(folder, messages, [(3, 3)], [])
    path(folder, 0, FileKind.TIME_INDEX).unlink()
    assert findings_of(folder) == []
    write(folder, messages, [(4, 3)], [])
    assert findings_of(folder) == []  # by a broker from 2.0 on, which received both in one append
    path(folder, 0, FileKind.TIME_INDEX).unlink()
    assert shown(findings_of(folder)) == [(INDEX, 0, FindingKind.WRONG_ENTRY, Severity.PROBLEM)]


@pytest.mark.parametrize(
    ("entries", "wrong"),
    [
        ([(2, 1), (4, 2), (7, 3), (9, 4)], []),  # first offsets, then last ones: an upgrade
        ([(3, 1), (4, 2), (7, 3)], [1]),
        ([(3, 1), (5, 2), (6, 3)], [2]),
        ([(2, 1), (5, 2), (6, 3), (8, 4)], [1]),
    ],
)
def test_first_offsets_come_before_last_ones(folder: Path, entries: Pairs, wrong: list[int]) -> None:
    times = [(1001 + 10 * number, 2 * number + 1) for _, number in [*entries, (0, 7)]]
    write(folder, PAIRS, entries, times)
    assert shown(findings_of(folder)) == [
        (INDEX, 8 * slot, FindingKind.WRONG_ENTRY, Severity.PROBLEM) for slot in wrong
    ]


def test_the_cleaner_took_the_offset_of_the_last_record_it_kept(folder: Path) -> None:
    """2.0 to 4.0.0: the batch keeps its last offset, while the entry has that of its last record."""
    batches = [*PAIRS[:3], kept(batch(6, 4, timestamp=1030), 6, 7), *PAIRS[5:]]
    times = [(1031, 9), (1071, 15)]
    write(folder, batches, [(7, 3)], times)
    assert findings_of(folder) == []
    write(folder, batches, [(7, 2)], times)  # the end of a chunk of two batches
    assert findings_of(folder) == []
    write(folder, batches, [(8, 3)], times)
    assert shown(findings_of(folder)) == [(INDEX, 0, FindingKind.WRONG_ENTRY, Severity.PROBLEM)]


def test_batches_that_the_cleaner_emptied_need_no_time_entry(folder: Path) -> None:
    """0.11 and 1.0 left out their timestamps; later versions count them."""
    batches = [kept(batch(0, 2, timestamp=5000)), *PAIRS[1:]]
    write(folder, batches, [], [(1071, 15)])
    assert findings_of(folder) == []
    write(folder, batches, [], [(5001, 1)])
    assert findings_of(folder) == []
    write(folder, [batches[0]], [], [])
    assert findings_of(folder) == []


@pytest.mark.parametrize(
    ("codec", "append_time", "offset", "is_sound"),
    [
        (Codec.NONE, None, 2, True),  # the last offset
        (Codec.NONE, None, 1, True),  # the first record with the largest timestamp: leaders from 0.11 to 3.6
        (Codec.NONE, None, 0, False),
        (Codec.GZIP, None, 2, True),
        (Codec.GZIP, None, 1, False),
        (Codec.NONE, 1005, 2, True),
        (Codec.NONE, 1005, 0, False),
    ],
)
def test_a_time_entry_names_the_record_that_some_version_names(
    folder: Path, codec: Codec, append_time: int | None, offset: int, is_sound: bool
) -> None:
    records = [Record(number, timestamp, b"k", b"v") for number, timestamp in enumerate((1000, 1005, 1005))]
    write(folder, [build_batch(records, codec=codec, log_append_time=append_time)], [], [(1005, offset)])
    wrong = [] if is_sound else [(TIMES, 0, FindingKind.WRONG_ENTRY, Severity.PROBLEM)]
    assert shown(findings_of(folder)) == wrong


def test_a_time_entry_is_of_the_first_batch_that_has_the_timestamp(folder: Path) -> None:
    batches = [batch(number, timestamp=1000) for number in range(3)]
    write(folder, batches, [], [(1000, 0)])
    assert findings_of(folder) == []
    write(folder, batches, [], [(1000, 2)])
    assert shown(findings_of(folder)) == [(TIMES, 0, FindingKind.WRONG_ENTRY, Severity.PROBLEM)]


def test_the_cleaner_of_0_10_1_named_the_message_that_it_wrote_last(folder: Path) -> None:
    sets = [
        encode_message_set([Record(first + n, time + n, b"k", b"v") for n in range(2)], 1, codec=Codec.GZIP)
        for first, time in ((0, 2000), (2, 1000))
    ]
    write(folder, sets, [], [(2001, 3)])
    assert findings_of(folder) == []


@pytest.mark.parametrize(("archive", "is_exact"), [("v431-clean", True), ("v392", False)])
def test_in_a_cluster_that_began_with_4_1_or_later_each_batch_counts_by_itself(
    folder: Path, archive: str, is_exact: bool
) -> None:
    """A single entry that only older versions write is wrong: for two batches, a first offset or a record inside."""
    batches = [*PAIRS[:3], batch(6, 2, timestamp=900), *PAIRS[4:]]
    times = [(1021, 5), (1071, 15)]
    for entries in ([(7, 2)], [(4, 2)]):
        write(folder, batches, entries, times)
        shutil.copy(unpack(archive) / "bootstrap.checkpoint", folder.parent)
        wrong = [(INDEX, 0, FindingKind.WRONG_ENTRY, Severity.PROBLEM)] if is_exact else []
        assert shown(findings_of(folder)) == wrong
    records = [Record(number, timestamp, b"k", b"v") for number, timestamp in enumerate((1000, 1005, 1005))]
    write(folder, [build_batch(records)], [], [(1005, 1)])
    wrong = [(TIMES, 0, FindingKind.WRONG_ENTRY, Severity.PROBLEM)] if is_exact else []
    assert shown(findings_of(folder)) == wrong


def test_a_folder_that_was_brought_from_an_older_cluster_may_have_first_offsets(folder: Path) -> None:
    times = [(1011, 3), (1041, 9), (1071, 15)]
    write(folder, PAIRS, [(2, 1), (8, 4)], times)  # first offsets, up to 1.1
    shutil.copy(unpack("v431-clean") / "bootstrap.checkpoint", folder.parent)
    assert findings_of(folder) == []
    write(folder, PAIRS, [(2, 1), (9, 4)], times)
    assert shown(findings_of(folder)) == [(INDEX, 0, FindingKind.WRONG_ENTRY, Severity.PROBLEM)]


def test_a_last_batch_whose_offset_has_jumped_is_named(folder: Path) -> None:
    """Nothing after it contradicts its offset; the closing entry of the time index does."""
    write_segment(folder, 0, *ONES)
    log = path(folder, 0, FileKind.LOG)
    position = sum(map(len, ONES[:-1]))
    content = log.read_bytes()
    log.write_bytes(content[:position] + (1007).to_bytes(8) + content[position + 8 :])
    assert (LOG, position, FindingKind.OFFSET_ORDER, Severity.PROBLEM) in shown(findings_of(folder))
