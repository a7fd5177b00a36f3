"""Transactions and idempotent producers of a partition's log."""

from __future__ import annotations

from pathlib import Path

import pytest

from octavo.format.batches.batch import Origin
from octavo.format.batches.control import ControlType
from octavo.storage.log.read import AbortedTransaction, Isolation
from tests.storage.batches import batch
from tests.storage.open_logs import SMALL, end_transaction, fill, offsets_read, open_log
from tests.storage.worlds import NOW_MS, World


class TestTransactions:
    ORIGIN = Origin(producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True)

    def test_open_transaction_holds_readers_of_committed_records_back(self, world: World, tmp_path: Path) -> None:
        log = open_log(world, tmp_path)
        fill(log, 1)
        log.append_as_leader(batch(0, 2, origin=self.ORIGIN), leader_epoch=0)
        fill(log, 1)
        assert (log.high_watermark, log.last_stable_offset) == (6, 2)
        assert offsets_read(log, isolation=Isolation.READ_COMMITTED) == [0]
        end_transaction(log, 7, ControlType.COMMIT)
        assert log.last_stable_offset == 7
        assert offsets_read(log, isolation=Isolation.READ_COMMITTED) == [0, 2, 4, 6]
        assert log.read(0, 1 << 20, Isolation.READ_COMMITTED).aborted == ()

    def test_aborted_transaction_is_named_also_after_a_crash(self, world: World, tmp_path: Path) -> None:
        log = open_log(world, tmp_path)
        log.append_as_leader(batch(0, 2, origin=self.ORIGIN), leader_epoch=0)
        end_transaction(log, 7, ControlType.ABORT)
        expected = (AbortedTransaction(7, 0),)
        assert log.read(0, 1 << 20, Isolation.READ_COMMITTED).aborted == expected
        again = open_log(world, tmp_path, clean=False)
        assert again.read(0, 1 << 20, Isolation.READ_COMMITTED).aborted == expected
        assert again.last_stable_offset == 3

    def test_duplicate_is_answered_with_its_offsets(self, world: World, tmp_path: Path) -> None:
        log = open_log(world, tmp_path)
        idempotent = Origin(producer_id=9, producer_epoch=0, base_sequence=0)
        first = log.append_as_leader(batch(0, 2, origin=idempotent), leader_epoch=0)
        fill(log, 1)
        again = log.append_as_leader(batch(0, 2, origin=idempotent), leader_epoch=0)
        assert (again.first_offset, again.last_offset, again.is_duplicate) == (*first[:2], True)
        assert log.log_end_offset == 4

    @pytest.mark.parametrize("kind", ["CreateTime", "LogAppendTime"])
    def test_duplicate_is_answered_with_the_batchs_timestamp(self, world: World, tmp_path: Path, kind: str) -> None:
        """Whatever the topic's timestamp type is, as in Kafka."""
        log = open_log(world, tmp_path, {**SMALL, "message.timestamp.type": kind})
        idempotent = Origin(producer_id=9, producer_epoch=0, base_sequence=0)
        log.append_as_leader(batch(0, 2, timestamp=1000, origin=idempotent), leader_epoch=0)
        world.clock.advance(500)
        again = log.append_as_leader(batch(0, 2, timestamp=1000, origin=idempotent), leader_epoch=0)
        assert again.log_append_time == {"CreateTime": 1001, "LogAppendTime": NOW_MS}[kind]

    def test_open_transaction_survives_restarts(self, world: World, tmp_path: Path) -> None:
        log = open_log(world, tmp_path)
        log.append_as_leader(batch(0, 2, origin=self.ORIGIN), leader_epoch=0)
        log.close()
        for clean in (True, False):
            assert open_log(world, tmp_path, clean=clean).last_stable_offset == 0
