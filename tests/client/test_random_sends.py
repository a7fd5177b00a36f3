"""Random sends, flushes, restarts and lost answers, compared with what a scan of the directory reads."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.client.producer.future import RecordFuture
from octavo.config import Given
from octavo.errors import KafkaStorageError
from octavo.format.record import Header
from octavo.storage.append.append import AppendResult
from octavo.storage.partition_log import PartitionLog
from tests.client.stores import Store

CONTENT = st.none() | st.binary(max_size=20)
SENDS = st.tuples(
    st.sampled_from(["t", "u"]),
    CONTENT,
    CONTENT,
    st.lists(st.tuples(st.text(max_size=3), CONTENT), max_size=2),
    st.none() | st.integers(0, 1),
)
STEPS = st.lists(SENDS | st.sampled_from(["flush", "restart", "linger", "lose", "lose"]), max_size=40)


@settings(max_examples=15)
@given(
    steps=STEPS,
    batch_size=st.sampled_from([1, 100, 300]),
    codec=st.sampled_from(["none", "none", "gzip", "snappy", "lz4", "zstd"]),
)
def test_a_scan_reads_what_was_sent(steps: list[Any], batch_size: int, codec: str) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        store = Store(Path(folder))
        store.logs.create_topic("t", 2)
        store.logs.create_topic("u", 2)
        sent: list[tuple[RecordFuture, Any]] = []
        lost = 0
        append = PartitionLog.append_as_leader

        def lose_answers(*given: Any, **named: Any) -> AppendResult:
            nonlocal lost
            result = append(*given, **named)
            if lost:
                lost -= 1
                raise KafkaStorageError("the answer is lost")
            return result

        patch.setattr(PartitionLog, "append_as_leader", lose_answers)
        configs: dict[str, Given] = {"batch.size": batch_size, "compression.type": codec, "retry.backoff.ms": 0}
        producer = store.logs.producer(configs)
        for step in steps:
            if step == "flush":
                producer.flush()
            elif step == "linger":
                store.world.scheduler.advance(10)
            elif step == "lose":
                lost += 1
            elif step == "restart":
                producer.close()
                producer = store.reopen().producer(configs)
            else:
                topic, value, key, headers, partition = step
                sent.append((producer.send(topic, value, key, headers, partition), step))
        producer.close()
        expected = {
            (topic, future.partition, future.offset): (value, key, tuple(Header(*header) for header in headers))
            for future, (topic, value, key, headers, _) in sent
        }
        found = {
            (record.topic, record.partition, record.offset): (record.value, record.key, record.headers)
            for topic in ("t", "u")
            for record in store.records(topic)
        }
        assert found == expected and len(expected) == len(sent)
        for future, (*_, partition) in sent:
            assert partition is None or future.partition == partition
        store.logs.close()
