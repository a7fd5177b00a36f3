"""What is a problem, and what is only info, because a crash or a deletion normally leaves it."""

from __future__ import annotations

from pathlib import Path

import pytest

import octavo
from octavo.format.legacy.message_set import encode_message_set
from octavo.format.names import FileKind
from octavo.format.record import Record
from octavo.format.small_files import producer_snapshot
from octavo.format.small_files.producer_snapshot import ProducerEntry
from octavo.jobs.verify.finding import FindingKind, Severity
from tests.jobs.verify.verified import findings_of, flipped, shown
from tests.scanner.segments import path, write_segment
from tests.storage.batches import batch

BATCHES = [batch(number, timestamp=1000 + number) for number in range(10)]
SIZE = sum(map(len, BATCHES))
INFO, PROBLEM = Severity.INFO, Severity.PROBLEM
LOG, INDEX, TIMES = (f"{0:020}{suffix}" for suffix in (".log", ".index", ".timeindex"))

TAILS = [
    (batch(10)[:50], FindingKind.INCOMPLETE_BATCH),
    (batch(10)[:11], FindingKind.INCOMPLETE_BATCH),
    (bytes(5000), FindingKind.ZEROS),
    (bytes(7), FindingKind.ZEROS),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "orders-0"


def test_a_sound_segment_is_quiet(folder: Path) -> None:
    write_segment(folder, 0, *BATCHES)
    assert findings_of(folder.parent) == []


def test_untrimmed_indexes_of_the_last_segment_are_info(folder: Path) -> None:
    write_segment(folder, 0, *BATCHES, closed=False)
    zero_entries = [(INDEX, 32, FindingKind.ZERO_ENTRIES, INFO), (TIMES, 48, FindingKind.ZERO_ENTRIES, INFO)]
    assert shown(findings_of(folder.parent)) == zero_entries


@pytest.mark.parametrize(("tail", "problem"), TAILS)
def test_a_torn_end_is_info_while_the_indexes_are_untrimmed(folder: Path, tail: bytes, problem: FindingKind) -> None:
    write_segment(folder, 0, *BATCHES, closed=False, tail=tail)
    assert (LOG, SIZE, problem, INFO) in shown(findings_of(folder.parent))
    assert all(found.severity is INFO for found in findings_of(folder.parent))


@pytest.mark.parametrize(("tail", "problem"), TAILS)
def test_a_torn_end_is_a_problem_with_trimmed_indexes(folder: Path, tail: bytes, problem: FindingKind) -> None:
    write_segment(folder, 0, *BATCHES, tail=tail)
    assert shown(findings_of(folder.parent)) == [(LOG, SIZE, problem, PROBLEM)]


@pytest.mark.parametrize(("tail", "problem"), TAILS)
def test_a_torn_end_is_a_problem_without_indexes_but_does_not_stop_a_scan(
    folder: Path, tail: bytes, problem: FindingKind
) -> None:
    """A log alone, as in an incomplete copy, does not show that there was a crash. A scan still reads it."""
    write_segment(folder, 0, *BATCHES, closed=False, tail=tail)
    path(folder, 0, FileKind.OFFSET_INDEX).unlink()
    assert (LOG, SIZE, problem, INFO) in shown(findings_of(folder.parent))  # the time index still shows it
    path(folder, 0, FileKind.TIME_INDEX).unlink()
    assert shown(findings_of(folder.parent)) == [(LOG, SIZE, problem, PROBLEM)]
    assert octavo.scan(folder).to_table().num_rows == len(BATCHES)


@pytest.mark.parametrize(("tail", "problem"), TAILS)
def test_a_torn_end_is_a_problem_after_a_clean_shutdown(folder: Path, tail: bytes, problem: FindingKind) -> None:
    write_segment(folder, 0, *BATCHES, closed=False, tail=tail)
    (folder.parent / ".kafka_cleanshutdown").write_text('{"version":0,"brokerEpoch":-1}')
    found = shown(findings_of(folder.parent))
    assert (LOG, SIZE, problem, PROBLEM) in found
    assert (INDEX, 32, FindingKind.ZERO_ENTRIES, PROBLEM) in found
    assert all(severity is PROBLEM for *_, severity in found)


@pytest.mark.parametrize(("tail", "problem"), TAILS)
def test_a_torn_end_is_a_problem_before_the_last_segment(folder: Path, tail: bytes, problem: FindingKind) -> None:
    write_segment(folder, 0, *BATCHES, closed=False, tail=tail)
    write_segment(folder, 10, batch(10), closed=False)
    found = [line for line in shown(findings_of(folder.parent)) if line[0] in (LOG, INDEX, TIMES)]
    assert (LOG, SIZE, problem, PROBLEM) in found
    assert all(severity is PROBLEM for *_, severity in found)


def test_garbage_is_a_problem_everywhere(folder: Path) -> None:
    write_segment(folder, 0, *BATCHES, closed=False, tail=bytes(8) + b"\0\0\0\7" + bytes(8))
    assert (LOG, SIZE, FindingKind.NO_BATCH, PROBLEM) in shown(findings_of(folder.parent))


def test_a_whole_batch_with_a_wrong_crc_is_a_problem_even_as_the_last_one(folder: Path) -> None:
    log = write_segment(folder, 0, *BATCHES, closed=False)
    flipped(log, SIZE - 5)
    last = SIZE - len(BATCHES[-1])
    assert (LOG, last, FindingKind.CRC_MISMATCH, PROBLEM) in shown(findings_of(folder.parent))


def test_a_length_that_hides_sound_batches_is_not_a_torn_end(folder: Path) -> None:
    log = write_segment(folder, 0, *BATCHES, closed=False)
    flipped(log, 3 * len(BATCHES[0]) + 8, 0x40)
    (found,) = [line for line in shown(findings_of(folder.parent)) if line[0] == LOG]
    assert found == (LOG, 3 * len(BATCHES[0]), FindingKind.NO_BATCH, PROBLEM)


def test_what_is_on_its_way_out_is_info(folder: Path) -> None:
    write_segment(folder, 0, *BATCHES)
    gone = folder.parent / f"gone-0.{'0' * 32}-delete"
    write_segment(gone, 0, batch(0), closed=False, tail=b"rubbish")
    stray = folder.parent / f"stray-0.{'0' * 32}-stray"
    write_segment(stray, 0, batch(0))
    for kind in (FileKind.LOG, FileKind.OFFSET_INDEX):
        path(folder, 0, kind).with_name(f"{5:020}{kind}.deleted").write_bytes(b"rubbish")
    assert shown(findings_of(folder.parent)) == [
        (f"{5:020}.index.deleted", None, FindingKind.ON_ITS_WAY_OUT, INFO),
        (f"{5:020}.log.deleted", None, FindingKind.ON_ITS_WAY_OUT, INFO),
        (gone.name, None, FindingKind.ON_ITS_WAY_OUT, INFO),
        (stray.name, None, FindingKind.ON_ITS_WAY_OUT, INFO),
    ]


def test_a_stray_folder_is_verified_all_the_same(tmp_path: Path) -> None:
    log = write_segment(tmp_path / f"stray-0.{'0' * 32}-stray", 0, *BATCHES)
    flipped(log, 70)
    assert (LOG, 0, FindingKind.CRC_MISMATCH, PROBLEM) in shown(findings_of(tmp_path))


def test_offset_gaps_and_absent_partitions_are_sound(folder: Path) -> None:
    write_segment(folder, 5, batch(7), batch(20))
    write_segment(folder, 40, batch(50))
    lines = "0\n2\norders 0 51\nabsent 3 1000\n"
    folder.parent.joinpath("recovery-point-offset-checkpoint").write_text(lines)
    folder.parent.joinpath("cleaner-offset-checkpoint").write_text("0\n0\n")
    folder.parent.joinpath("log-start-offset-checkpoint").write_text("")
    assert findings_of(folder.parent) == []


def test_old_directories_have_no_time_index(folder: Path) -> None:
    """0.10.0 wrote timestamps, but no time index yet: 0.10.1 gave such segments empty ones."""
    for base_offset in (0, 4):
        records = [Record(offset, 1000 + offset, b"k", b"v") for offset in range(base_offset, base_offset + 4)]
        write_segment(folder, base_offset, encode_message_set(records, 1))
    path(folder, 0, FileKind.TIME_INDEX).unlink()
    assert findings_of(folder.parent) == []
    path(folder, 0, FileKind.TIME_INDEX).touch()
    assert findings_of(folder.parent) == []


def test_a_time_index_that_was_lost_is_a_problem(folder: Path) -> None:
    write_segment(folder, 0, *BATCHES)
    write_segment(folder, 10, batch(10, timestamp=2000))
    path(folder, 0, FileKind.TIME_INDEX).unlink()
    path(folder, 10, FileKind.TIME_INDEX).unlink()  # a broker creates it when it is first needed
    assert shown(findings_of(folder.parent)) == [(TIMES, None, FindingKind.MISSING_FILE, PROBLEM)]
    path(folder, 0, FileKind.TIME_INDEX).touch()
    assert shown(findings_of(folder.parent)) == [(TIMES, 0, FindingKind.MISSING_ENTRY, PROBLEM)]
    (folder.parent / ".kafka_cleanshutdown").write_text('{"version":0,"brokerEpoch":-1}')
    last = (f"{10:020}.timeindex", None, FindingKind.MISSING_FILE, PROBLEM)
    assert shown(findings_of(folder.parent)) == [(TIMES, 0, FindingKind.MISSING_ENTRY, PROBLEM), last]


def test_without_timestamps_there_is_nothing_to_find_by_time(folder: Path) -> None:
    write_segment(folder, 0, batch(0, timestamp=-1))
    write_segment(folder, 1, batch(1, timestamp=-1))
    path(folder, 0, FileKind.TIME_INDEX).unlink()
    assert findings_of(folder.parent) == []


def test_a_last_segment_that_was_opened_again_and_appended_to_names_an_older_time(folder: Path) -> None:
    """A stop had trimmed its indexes; an append makes room for entries only when one is due."""
    write_segment(folder, 0, *BATCHES)
    log = path(folder, 0, FileKind.LOG)
    log.write_bytes(log.read_bytes() + batch(10, timestamp=9000))
    points = folder.parent / "recovery-point-offset-checkpoint"
    points.write_text("0\n1\norders 0 10\n")
    (found,) = shown(findings_of(folder.parent))
    assert found[0::2] == (TIMES, FindingKind.MISSING_ENTRY)
    assert found[3] is INFO
    points.write_text("0\n1\norders 0 11\n")  # all of it was flushed, but recovery still checks the segment
    (found,) = shown(findings_of(folder.parent))
    assert found[3] is INFO
    points.write_text("0\n1\nother 0 11\n")  # the partition was created after the checkpoint was written
    (found,) = shown(findings_of(folder.parent))
    assert found[3] is INFO
    (folder.parent / ".kafka_cleanshutdown").write_text('{"version":0,"brokerEpoch":-1}')
    (found,) = shown(findings_of(folder.parent))
    assert found[3] is PROBLEM


@pytest.mark.parametrize("tail", [batch(11)[:-9], bytes(70)])
def test_a_torn_end_after_what_was_not_flushed_is_info(folder: Path, tail: bytes) -> None:
    write_segment(folder, 0, *BATCHES, tail=tail)
    points = folder.parent / "recovery-point-offset-checkpoint"
    points.write_text("0\n1\norders 0 8\n")
    assert [severity for *_, severity in shown(findings_of(folder.parent))] == [INFO]
    points.write_text("0\n1\norders 0 10\n")  # all whole batches were flushed; the crash came during an append
    assert [severity for *_, severity in shown(findings_of(folder.parent))] == [INFO]
    points.unlink()
    assert [severity for *_, severity in shown(findings_of(folder.parent))] == [PROBLEM]
    (folder.parent / "meta.properties").write_text("version=1\nnode.id=1\ncluster.id=abcdefghijklmnopqrstuv\n")
    assert [severity for *_, severity in shown(findings_of(folder.parent))] == [INFO]  # a crash before the first flush


@pytest.mark.parametrize("trimmed", [FileKind.OFFSET_INDEX, FileKind.TIME_INDEX])
@pytest.mark.parametrize("rolled", [False, True])
def test_a_roll_that_was_killed_between_two_steps_is_info(folder: Path, trimmed: FileKind, rolled: bool) -> None:
    write_segment(folder, 0, *BATCHES)
    content = path(folder, 0, trimmed).read_bytes()
    write_segment(folder, 0, *BATCHES, closed=False, tail=bytes(100))
    path(folder, 0, trimmed).write_bytes(content)
    if rolled:
        path(folder, 10, FileKind.LOG).touch()
    found = shown(findings_of(folder.parent))
    assert {problem for _, _, problem, _ in found} == {FindingKind.ZERO_ENTRIES, FindingKind.ZEROS}
    assert all(severity is INFO for *_, severity in found)
    (folder.parent / ".kafka_cleanshutdown").write_text('{"version":0,"brokerEpoch":-1}')
    assert {severity for *_, severity in shown(findings_of(folder.parent))} == {PROBLEM}


def test_a_preallocated_log_that_was_just_made_is_info(folder: Path) -> None:
    """If the disk is full there is not even an index next to it."""
    write_segment(folder, 0, *BATCHES)
    path(folder, 10, FileKind.LOG).write_bytes(bytes(4096))
    name = f"{10:020}.log"
    assert shown(findings_of(folder.parent)) == [(name, 0, FindingKind.ZEROS, INFO)]
    (folder.parent / ".kafka_cleanshutdown").write_text('{"version":0,"brokerEpoch":-1}')
    assert shown(findings_of(folder.parent)) == [(name, 0, FindingKind.ZEROS, PROBLEM)]


@pytest.mark.parametrize(
    "content", [b"", producer_snapshot.encode([ProducerEntry(1, 0, 1, 4, 0, 1000, 0, -1)])[:-3]], ids=len
)
def test_the_newest_snapshot_may_be_torn_after_a_crash(folder: Path, content: bytes) -> None:
    write_segment(folder, 0, *BATCHES)
    newest, older = (path(folder, offset, FileKind.PRODUCER_SNAPSHOT) for offset in (10, 9))
    points = folder.parent / "recovery-point-offset-checkpoint"
    points.write_text("0\n1\norders 0 8\n")
    for name in (newest, older):
        name.write_bytes(content)
    assert [(name, severity) for name, _, _, severity in shown(findings_of(folder.parent))] == [
        (older.name, PROBLEM),
        (newest.name, INFO),
    ]
    older.unlink()
    newest.write_bytes(bytes([0, 1, *range(4), 0, 0, 0, 0]))  # complete, but with a wrong CRC
    assert [severity for *_, severity in shown(findings_of(folder.parent))] == [PROBLEM]
    newest.write_bytes(content)
    (folder.parent / ".kafka_cleanshutdown").write_text('{"version":0,"brokerEpoch":-1}')
    assert [severity for *_, severity in shown(findings_of(folder.parent))] == [PROBLEM]


def test_indexes_whose_log_is_on_its_way_out_are_info(folder: Path) -> None:
    """A deletion that was killed between two renames."""
    write_segment(folder, 0, *BATCHES)
    write_segment(folder, 10, batch(10))
    log = path(folder, 0, FileKind.LOG)
    log.rename(log.with_name(f"{log.name}.deleted"))
    assert shown(findings_of(folder.parent)) == [
        (f"{LOG}.deleted", None, FindingKind.ON_ITS_WAY_OUT, INFO),
        (INDEX, None, FindingKind.MISSING_FILE, INFO),
        (TIMES, None, FindingKind.MISSING_FILE, INFO),
    ]
    log.with_name(f"{log.name}.deleted").unlink()
    assert shown(findings_of(folder.parent)) == [
        (INDEX, None, FindingKind.MISSING_FILE, PROBLEM),
        (TIMES, None, FindingKind.MISSING_FILE, PROBLEM),
    ]
