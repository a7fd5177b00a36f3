"""A log is stopped at every operation on its files: what was flushed is there again, and recovery is idempotent."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from octavo.format.batches.control import ControlType
from octavo.format.names import FileKind, SegmentFile
from tests.crash.fault_filesystem import SAMPLES, Crash, FaultFileSystem, Loss
from tests.crash.life import FOLDER, Life, check_found

COMMIT, ABORT = ControlType.COMMIT, ControlType.ABORT


def appends_and_rolls(life: Life) -> None:
    life.open()
    for number in range(9):
        life.append()
        if number % 3 == 1:
            life.flush()
        if number % 4 == 2:
            life.scheduler.run_due()
            life.checkpoint()


def transactions(life: Life) -> None:
    """The first segment is flushed before it gets a transaction index."""
    life.open()
    life.append(1)
    life.flush()
    life.checkpoint()
    for kind in (ABORT, COMMIT, ABORT):
        life.transact(kind)
        life.append(1)
        life.scheduler.run_due()
        life.checkpoint()
    life.flush()
    life.checkpoint()
    life.transact(ABORT)


def retention(life: Life) -> None:
    appends_and_rolls(life)
    life.flush()
    life.log.delete_records(9)
    life.forget(before=9)
    life.log_start_offset = 9
    life.log.retain()
    life.checkpoint()
    life.scheduler.advance(60_000)
    life.append()
    life.flush()


def truncation(life: Life) -> None:
    appends_and_rolls(life)
    life.flush()
    life.forget(behind=6)
    life.log.truncate_to(6)
    life.checkpoint()
    life.sequences = dict.fromkeys(life.sequences, 6)
    life.append(1)
    life.flush()
    life.scheduler.advance(60_000)
    life.forget(behind=2)
    life.log.truncate_to(2)


def truncation_of_transactions(life: Life) -> None:
    """The part that is cut has a marker: the transaction that it ended is ongoing again, and its entry in the
    transaction index disappears."""
    life.open()
    life.transact(ABORT, batches=3)
    life.append()
    life.flush()
    life.checkpoint()
    life.forget(behind=6)
    life.log.truncate_to(6)
    life.checkpoint()
    life.flush()


def full_truncation(life: Life) -> None:
    appends_and_rolls(life)
    life.flush()
    life.checkpoint()
    life.forget(behind=0)
    life.log.truncate_fully(40)
    life.checkpoint()
    life.append()
    life.flush()
    life.scheduler.advance(60_000)


def clean_stop(life: Life) -> None:
    """Nothing is rebuilt after it, so everything it left must be on disk."""
    life.open()
    life.append(1)
    life.flush()
    life.checkpoint()
    life.transact(ABORT)
    life.append()
    life.close()
    life.open()
    life.append()
    life.flush()


def lost_index(life: Life) -> None:
    """A flushed segment's offset index is gone: the segment, which has an aborted transaction, is rebuilt."""
    life.open()
    life.transact(ABORT)
    for _ in range(6):
        life.append()
    life.close()
    for entries in (life.filesystem.entries, life.filesystem.synced_entries):
        del entries[FOLDER / SegmentFile(0, FileKind.OFFSET_INDEX).name]
    life.open()


SCENARIOS: list[Callable[[Life], None]] = [
    appends_and_rolls,
    transactions,
    retention,
    truncation,
    truncation_of_transactions,
    full_truncation,
    clean_stop,
    lost_index,
]


# These begin with appends_and_rolls. The test does not stop them there again, since that is a scenario of its own.
BEGUN_WITH_APPENDS = retention, truncation, full_truncation


def number_of_operations(scenario: Callable[[Life], None]) -> int:
    life = Life(FaultFileSystem())
    scenario(life)
    return life.filesystem.operations


@pytest.mark.parametrize("loss", Loss, ids=lambda loss: loss.name)
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_what_was_promised_is_there_after_a_crash_at_every_operation(
    scenario: Callable[[Life], None], loss: Loss
) -> None:
    total = number_of_operations(scenario)
    assert total > 30
    begun = number_of_operations(appends_and_rolls) if scenario in BEGUN_WITH_APPENDS else 0
    for stop_at in range(begun + 1, total + 1):
        life = Life(FaultFileSystem(stop_at))
        with pytest.raises(Crash):
            scenario(life)
        for sample in range(SAMPLES[loss]):
            found = life.filesystem.after_crash(loss, seed=stop_at * 100 + sample)
            try:
                check_found(life, found)
            except AssertionError as error:
                raise AssertionError(f"crash at operation {stop_at} of {total}, sample {sample}: {error}") from error
