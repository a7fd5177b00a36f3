"""Records of the internal topics that cannot be decoded are skipped, but not in silence."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

import octavo
from octavo.coordinator.transactions.log import TRANSACTION_LOG
from octavo.format.batches.batch import build_batch
from octavo.format.messages.consumer_offsets import CONSUMER_OFFSETS_TYPES
from octavo.format.messages.records import encode_key, encode_versioned
from octavo.format.names import TopicPartition
from octavo.format.record import Record
from octavo.jobs.describe.cluster import DescribedCluster
from octavo.jobs.describe.groups import DescribedGroups
from octavo.storage.append_origin import AppendOrigin

CONFIGS = {"offsets.topic.num.partitions": 1, "transaction.state.log.num.partitions": 1}
UNKNOWN_TYPE = struct.pack(">h", 99)
COMMIT = encode_key(CONSUMER_OFFSETS_TYPES[1], {"group": "g", "topic": "t", "partition": 1})
UNKNOWN_STATUS = encode_versioned(
    TRANSACTION_LOG.value,
    0,
    {
        "producerId": 1, "producerEpoch": 0, "transactionTimeoutMs": 1, "transactionStatus": 77,
        "transactionPartitions": None, "transactionLastUpdateTimestampMs": 0, "transactionStartTimestampMs": 0,
    },
)  # fmt: skip


@pytest.fixture
def logs(tmp_path: Path) -> Iterator[octavo.LogDir]:
    with octavo.LogDir(tmp_path / "logs", configs=CONFIGS) as logs:
        logs.create_topic("t", 2)
        with logs.producer(transactional_id="x") as producer, producer.transaction():
            producer.send_offsets_to_transaction({TopicPartition("t", 0): 0}, "g")
        yield logs


def append(logs: octavo.LogDir, topic: str, key: bytes, value: bytes) -> int:
    log = logs.log(topic, 0)
    data = bytearray(build_batch([Record(0, 1, key, value)]))
    log.append_as_leader(data, leader_epoch=log.leader_epoch, origin=AppendOrigin.COORDINATOR)
    return log.log_end_offset - 1


def test_offsets(logs: octavo.LogDir, caplog: pytest.LogCaptureFixture) -> None:
    append(logs, "__consumer_offsets", UNKNOWN_TYPE, b"")
    offset = append(logs, "__consumer_offsets", COMMIT, b"\x00")
    found = DescribedGroups(logs.paths)
    assert [commit.topic_partition for commit in found.groups[0].offsets] == [TopicPartition("t", 0)]
    (note,) = found.notes
    assert note.path.endswith("/__consumer_offsets-0") and found.damage_count == 1
    assert note.sentence.startswith(f"offset {offset}: a record that cannot be decoded: ")
    logs.consumer("t", group="g").poll()
    (warning,) = caplog.messages
    assert warning.startswith(f"__consumer_offsets-0, offset {offset}: a record that cannot be decoded is skipped: ")


@pytest.mark.parametrize("value", [b"\x00", UNKNOWN_STATUS])
def test_states_of_transactions(logs: octavo.LogDir, caplog: pytest.LogCaptureFixture, value: bytes) -> None:
    append(logs, "__transaction_state", UNKNOWN_TYPE, b"")
    offset = append(logs, "__transaction_state", encode_key(TRANSACTION_LOG, {"transactionalId": "y"}), value)
    found = DescribedCluster(logs.paths)
    assert found.transactions() == []
    (note,) = found.notes
    assert note.path.endswith("/__transaction_state-0") and found.damage_count == 1
    assert note.sentence.startswith(f"offset {offset}: a record that cannot be decoded: ")
    logs.close()
    with octavo.LogDir(logs.paths) as again:
        again.producer(transactional_id="x").close()
    (warning,) = caplog.messages
    assert warning.startswith(f"__transaction_state-0, offset {offset}: a record that cannot be decoded is skipped: ")
