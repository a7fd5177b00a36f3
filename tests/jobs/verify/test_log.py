"""The check of the log: checksums, order, bounds, records, and what lies between batches."""

from __future__ import annotations

from pathlib import Path

import pytest

from octavo.format.batches.batch import build_batch, read_header
from octavo.format.compression import Codec
from octavo.format.legacy.message_set import encode_message_set
from octavo.format.record import Record
from octavo.jobs.verify.finding import MOST_FINDINGS, FindingCollector, FindingKind, Severity
from tests.format.crafted import crafted
from tests.format.exact_batches import encode_batch
from tests.jobs.verify.verified import findings_of, flipped
from tests.scanner.segments import write_segment
from tests.storage.batches import batch


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "orders-0"


def log_findings(folder: Path) -> list[tuple[int | None, FindingKind]]:
    return [(found.position, found.problem) for found in findings_of(folder) if found.path.endswith(".log")]


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("recordsCount", -1, FindingKind.INVALID_BATCH),
        ("recordsCount", 9, FindingKind.INVALID_BATCH),  # more records than offsets
        ("recordsCount", 2, FindingKind.INVALID_RECORDS),  # fewer than there are
        ("lastOffsetDelta", -1, FindingKind.INVALID_BATCH),
        ("lastOffsetDelta", 1, FindingKind.INVALID_BATCH),
        ("magic", 3, FindingKind.INVALID_BATCH),
        ("attributes", 7, FindingKind.INVALID_RECORDS),  # no codec has this number
    ],
)
def test_wrong_fields_under_a_right_crc_are_found(folder: Path, field: str, value: int, problem: FindingKind) -> None:
    whole = [batch(0, 3), batch(3, 3), batch(6, 3)]
    write_segment(folder, 0, whole[0], crafted(whole[1], **{field: value}), whole[2])
    found = log_findings(folder)
    assert problem in {kind for _, kind in found}
    assert all(place is not None and len(whole[0]) <= place <= len(whole[0]) + len(whole[1]) for place, _ in found)


def test_offsets_that_do_not_increase_are_found(folder: Path) -> None:
    write_segment(folder, 0, batch(0, 3), batch(2, 3), batch(9), batch(9))
    sizes = [len(batch(0, 3)), len(batch(2, 3)), len(batch(9))]
    expected = [(sizes[0], FindingKind.OFFSET_ORDER), (sum(sizes), FindingKind.OFFSET_ORDER)]
    assert log_findings(folder) == expected


def test_an_offset_outside_the_segment_is_reported_at_its_batch(folder: Path) -> None:
    log = write_segment(folder, 5, batch(5), batch(5), batch(12), batch(6))
    flipped(log, 7)
    write_segment(folder, 10, batch(10))
    size = len(batch(0))
    assert log_findings(folder) == [(0, FindingKind.OFFSET_ORDER), (2 * size, FindingKind.OFFSET_ORDER)]


def test_an_offset_that_an_index_cannot_hold_is_found(folder: Path) -> None:
    write_segment(folder, 0, batch(0))
    with (folder / f"{0:020}.log").open("ab") as log:
        log.write(batch(2**31))
    assert log_findings(folder) == [(len(batch(0)), FindingKind.OFFSET_ORDER)]


def test_records_outside_their_batch_are_found(folder: Path) -> None:
    records = [Record(offset, 0, None, b"v") for offset in (0, 1, 5)]
    header = read_header(build_batch(records))
    short = encode_batch(header, [Record(0, 0, None, b"v"), Record(9, 0, None, b"v")])
    twice = encode_batch(header, [Record(2, 0, None, b"v"), Record(2, 0, None, b"v")])
    write_segment(folder, 0, short)
    assert log_findings(folder) == [(0, FindingKind.INVALID_RECORDS)]
    write_segment(folder, 0, twice)
    assert log_findings(folder) == [(0, FindingKind.INVALID_RECORDS)]


def test_after_a_damaged_batch_the_check_continues(folder: Path) -> None:
    whole = [batch(number, 3) for number in range(0, 30, 3)]
    log = write_segment(folder, 0, *whole)
    size = len(whole[0])
    flipped(log, 2 * size + 70)
    flipped(log, 6 * size + 70)
    assert log_findings(folder) == [(2 * size, FindingKind.CRC_MISMATCH), (6 * size, FindingKind.CRC_MISMATCH)]


@pytest.mark.parametrize("byte", range(8, 12))
def test_after_a_wrong_length_the_next_sound_batch_is_found(folder: Path, byte: int) -> None:
    whole = [batch(number, 3) for number in range(0, 30, 3)]
    log = write_segment(folder, 0, *whole)
    size = len(whole[0])
    flipped(log, 2 * size + byte, 0x10)
    flipped(log, 8 * size + 70)
    found = log_findings(folder)
    assert found[0][0] == 2 * size
    assert found[-1] == (8 * size, FindingKind.CRC_MISMATCH)
    assert len(found) <= 3


def test_garbage_between_batches_is_found(folder: Path) -> None:
    first, second = batch(0), batch(1)
    write_segment(folder, 0, first, second)
    (folder / f"{0:020}.log").write_bytes(first + b"rubbish" * 1000 + second)
    assert log_findings(folder) == [(len(first), FindingKind.NO_BATCH)]


def test_wrong_offsets_of_old_formats_are_found(folder: Path) -> None:
    records = [Record(offset, 5, b"k", b"v") for offset in range(4)]
    wrapped = encode_message_set(records, 0, codec=Codec.GZIP)
    plain = encode_message_set([Record(4, 5, None, b"v"), Record(5, 5, None, b"v")], 1)
    write_segment(folder, 0, wrapped, plain)
    assert log_findings(folder) == []
    # A message's CRC does not cover its own offset, but a wrapper's CRC covers the offsets of the messages inside.
    log = folder / f"{0:020}.log"
    flipped(log, 7, 8)
    assert (0, FindingKind.INVALID_RECORDS) in log_findings(folder)
    flipped(log, 7, 8)
    flipped(log, len(wrapped) + 7, 2)
    # The first plain message now has offset 6, so the next one, 5, comes too late.
    assert log_findings(folder) == [(len(wrapped) + len(plain) // 2, FindingKind.OFFSET_ORDER)]


def test_a_file_full_of_damage_is_reported_in_bounded_space(folder: Path) -> None:
    whole = [bytearray(batch(number)) for number in range(MOST_FINDINGS + 50)]
    for content in whole:
        content[-1] ^= 1
    log = write_segment(folder, 0, *map(bytes, whole))
    found = [line for line in findings_of(folder) if line.path == str(log)]
    assert len(found) == MOST_FINDINGS + 1
    assert found[-1].problem is FindingKind.MORE
    assert found[-1].detail.startswith("50 more")


def test_what_is_left_out_keeps_its_severity() -> None:
    findings = FindingCollector()
    for position in range(MOST_FINDINGS + 2):
        findings.add("log", position, FindingKind.ZEROS, "zeros", Severity.INFO)
    assert not findings.has_problem()
    findings.add("log", 0, FindingKind.NO_BATCH, "bytes")
    assert [(found.detail, found.severity) for found in findings.all()[MOST_FINDINGS:]] == [
        ("1 more finding in this file", Severity.PROBLEM),
        ("2 more findings in this file", Severity.INFO),
    ]


def test_a_segment_that_went_away_is_not_a_finding(folder: Path) -> None:
    from octavo.jobs.verify.plan import plan

    write_segment(folder, 0, batch(0))
    write_segment(folder, 1, batch(1))
    (planned,) = plan([folder.parent])
    for path in folder.glob(f"{0:020}.*"):
        path.unlink()
    first, second = (task.run() for task in planned.partitions[0].segments)
    assert (first.findings, first.next_offset) == ([], None)
    assert second.next_offset == 2
