"""The leader epochs of batches compared with those of the checkpoint, and which of the two is reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from octavo.format.legacy.message_set import encode_message_set
from octavo.format.record import Record
from octavo.jobs.verify.finding import FindingKind, Severity
from tests.jobs.verify.verified import findings_of, shown
from tests.scanner.segments import write_segment
from tests.storage.batches import batch

CHECKPOINT, LOG = "leader-epoch-checkpoint", f"{0:020}.log"
SIZE = len(batch(0))


def verify(folder: Path, epochs: list[int], checkpoint: str) -> list[tuple[str, int | None]]:
    write_segment(folder, 0, *(batch(offset, epoch=epoch) for offset, epoch in enumerate(epochs)))
    (folder / CHECKPOINT).write_text(checkpoint)
    found = shown(findings_of(folder))
    assert all(line[2:] == (FindingKind.LEADER_EPOCH, Severity.PROBLEM) for line in found)
    return [line[:2] for line in found]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "orders-0"


@pytest.mark.parametrize(
    ("epochs", "checkpoint"),
    [
        ([0, 0, 0, 2, 2], "0\n2\n0 0\n2 3\n"),
        ([0, 0, 0, 2, 2], "0\n3\n0 0\n2 3\n4 5\n"),  # a leader that has not written yet
        ([7, 7, 7, 7, 7], "0\n1\n2 5\n"),  # the history was lost
        ([0, 0, 1, 1, 1], "0\n1\n1 3\n"),  # the log start is 3
        ([-1, -1, 0, 0, 0], "0\n1\n0 0\n"),  # the first two were converted from old formats
        ([5, 5, 5, 5, 5], ""),
        ([5, 5, 5, 5, 5], "0\n0\n"),
    ],
)
def test_sound_epochs_give_no_finding(folder: Path, epochs: list[int], checkpoint: str) -> None:
    assert verify(folder, epochs, checkpoint) == []


def test_a_first_entry_that_was_lost_is_found(folder: Path) -> None:
    epochs = [0, 0, 0, 2, 2]
    folder.mkdir()
    (folder.parent / ".kafka_cleanshutdown").write_text('{"version":0,"brokerEpoch":-1}')
    assert verify(folder, epochs, "0\n1\n2 3\n") == [(CHECKPOINT, None)]
    (folder.parent / "log-start-offset-checkpoint").write_text("0\n1\norders 0 3\n")
    assert verify(folder, epochs, "0\n1\n2 3\n") == []  # the log's start has moved


def test_records_deleted_since_the_log_start_was_last_written_are_a_note(folder: Path) -> None:
    """The epochs are written at once, log-start-offset-checkpoint once a minute: a crash may come in between."""
    write_segment(folder, 0, *(batch(offset, epoch=0) for offset in range(5)))
    (folder / CHECKPOINT).write_text("0\n1\n1 5\n")
    assert shown(findings_of(folder)) == [(CHECKPOINT, None, FindingKind.LEADER_EPOCH, Severity.INFO)]


def test_after_old_formats_the_epochs_begin_again(folder: Path) -> None:
    message = encode_message_set([Record(0, 1000, b"k", b"v")], 1)
    write_segment(folder, 0, message, batch(1, epoch=0), batch(2, epoch=2))
    (folder / CHECKPOINT).write_text("0\n1\n2 2\n")
    assert findings_of(folder) == []


def test_a_batch_of_another_epoch_is_found(folder: Path) -> None:
    assert verify(folder, [0, 9, 0, 2, 2], "0\n2\n0 0\n2 3\n") == [(LOG, SIZE)]


def test_an_entry_with_another_epoch_is_found(folder: Path) -> None:
    assert verify(folder, [0, 0, 0, 2, 2], "0\n2\n0 0\n3 3\n") == [(CHECKPOINT, None)]


def test_an_entry_with_another_start_is_found_and_so_is_its_batch(folder: Path) -> None:
    assert verify(folder, [0, 0, 0, 2, 2], "0\n2\n0 0\n2 4\n") == [(CHECKPOINT, None), (LOG, 3 * SIZE)]
    assert verify(folder, [0, 0, 0, 2, 2], "0\n2\n0 0\n2 2\n") == [(CHECKPOINT, None), (LOG, 2 * SIZE)]


def test_with_one_batch_both_may_be_wrong(folder: Path) -> None:
    assert verify(folder, [0, 0, 0, 0, 3], "0\n2\n0 0\n2 4\n") == [(CHECKPOINT, None), (LOG, 4 * SIZE)]


def test_a_wrong_entry_is_reported_once_for_all_segments(folder: Path) -> None:
    write_segment(folder, 5, batch(5), batch(6))
    assert verify(folder, [0, 0, 0, 0, 0], "0\n1\n1 0\n") == [(CHECKPOINT, None)]


@pytest.mark.parametrize(
    ("checkpoint", "problem"),
    [
        ("0\n2\n2 0\n2 3\n", FindingKind.ENTRY_ORDER),
        ("0\n2\n2 3\n3 3\n", FindingKind.ENTRY_ORDER),
        ("0\n1\n0 7\n", FindingKind.BEYOND_END),
        ("0\n2\n0 0\n", FindingKind.DAMAGED_FILE),
        ("1\n0\n", FindingKind.DAMAGED_FILE),
        ("0\n1\n0  0\n", FindingKind.DAMAGED_FILE),  # not as Kafka writes it
        ("0\n1\n0 00\n", FindingKind.DAMAGED_FILE),
        ("0\n1\n0 0", FindingKind.DAMAGED_FILE),
    ],
)
def test_a_wrong_checkpoint_is_found(folder: Path, checkpoint: str, problem: FindingKind) -> None:
    write_segment(folder, 0, *(batch(offset, epoch=-1) for offset in range(5)))
    (folder / CHECKPOINT).write_text(checkpoint)
    ((name, _, found, severity),) = shown(findings_of(folder))
    assert (name, found, severity) == (CHECKPOINT, problem, Severity.PROBLEM)
