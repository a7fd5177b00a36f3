"""Forked children: the parent's clients refuse every use, wait for nothing, and change nothing of the parent's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import octavo
from octavo.format.names import PRODUCER_ID_STORE
from tests.storage.forked import in_child


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_cannot_use_its_parents_clients(tmp_path: Path) -> None:
    with octavo.LogDir(tmp_path, background=False) as logs:
        logs.create_topic("t", 1)
        producer, transactional = logs.producer(), logs.producer(transactional_id="x")
        consumer = logs.consumer("t", group="g")
        consumer.poll()
        waiting = producer.send("t", b"the parent's")
        queue = producer._topics["t"].queues[0]
        refused: list[Callable[[], object]] = [
            lambda: producer.send("t", b"the child's"),
            lambda: producer.send_table("t", pa.table({"value": [b"the child's"]})),
            producer.flush,
            transactional.begin_transaction,
            lambda: transactional.transaction().__enter__(),
            consumer.poll,
            lambda: next(iter(consumer)),
            consumer.commit,
            lambda: consumer.committed(("t", 0)),
            logs.producer,
            logs.consumer,
        ]
        harmless: list[Callable[[], object]] = [producer.close, transactional.close, consumer.close, logs.close]
        with producer._lock, queue.lock, logs._clients._lock:  # threads of the parent may hold these when it forks
            for use in refused:
                answer = in_child(use)
                assert answer.startswith("IllegalStateError: ") and "forked" in answer
            for close in harmless:
                assert in_child(close) == "None"
            assert "forked" in in_child(waiting.result)
        assert waiting.result(10).offset == 0
        assert [record.value for record in consumer] == [b"the parent's"]


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_that_waits_for_a_record_takes_no_producer_id(tmp_path: Path) -> None:
    with octavo.LogDir(tmp_path, background=False) as logs:
        logs.create_topic("t", 1)
        waiting = logs.producer().send("t", b"the parent's")
        assert "forked" in in_child(waiting.result)
        assert not (tmp_path / PRODUCER_ID_STORE).exists()
        assert waiting.result(10).offset == 0
