"""Every index and small file of every golden archive decodes, and encodes to the same bytes again, except for damaged
ones that no encoder could write."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from octavo.errors import CorruptionError
from octavo.format import names
from octavo.format.indexes import offset_index, time_index, txn_index
from octavo.format.indexes.offset_index import OffsetIndex
from octavo.format.indexes.time_index import TimeIndex
from octavo.format.names import FileKind, FolderState, KRaftSnapshot, PartitionFolder, SegmentFile, Transient
from octavo.format.small_files import (
    checkpoint,
    clean_shutdown,
    leader_epochs,
    meta_properties,
    partition_metadata,
    producer_snapshot,
    quorum_state,
)
from octavo.format.small_files.producer_snapshot import ProducerEntry
from tests.golden import archives

ALL = pytest.mark.parametrize("archive", archives.archives())

# The damaged files whose content no encoder could write.
DAMAGED = {
    "index-last-below-base/00000000000000000230.index",
    "index-odd-length/00000000000000000000.index",
    "timeindex-odd-length/00000000000000000000.timeindex",
    "txnindex-cut/00000000000000000015.txnindex",
    "txnindex-version/00000000000000000015.txnindex",
    "snapshot-cut/00000000000000000015.snapshot",
    "snapshot-empty/00000000000000000015.snapshot",
    "snapshot-flip/00000000000000000015.snapshot",
    "snapshot-version/00000000000000000015.snapshot",
}


def segment_files(archive: str, kind: FileKind) -> list[tuple[SegmentFile, Path]]:
    """The archive's files of a kind, including `.deleted` ones, without those in `DAMAGED`."""
    root = archives.unpack(archive)
    parsed = ((SegmentFile.parse(path.name), path) for path in archives.files(archive))
    return [
        (file, path)
        for file, path in parsed
        if file is not None and file.kind is kind and str(path.relative_to(root)) not in DAMAGED
    ]


@ALL
def test_offset_indexes_are_read_and_written_again(archive: str) -> None:
    for file, path in segment_files(archive, FileKind.OFFSET_INDEX):
        data = path.read_bytes()
        index = OffsetIndex.decode(data, file.base_offset)
        index.sanity_check()
        used = index.used()
        encoded = offset_index.encode(used.offsets(), used.positions(), file.base_offset)
        assert encoded + bytes(len(data) - len(encoded)) == data, path
        assert all(used.lookup(entry.offset) == entry for entry in used)


@ALL
def test_time_indexes_are_read_and_written_again(archive: str) -> None:
    for file, path in segment_files(archive, FileKind.TIME_INDEX):
        data = path.read_bytes()
        index = TimeIndex.decode(data, file.base_offset).used()
        encoded = time_index.encode(index.timestamps(), index.offsets(), file.base_offset)
        assert encoded + bytes(len(data) - len(encoded)) == data, path
        assert b"".join(time_index.encode_entry(entry, file.base_offset) for entry in index) == encoded
        if "timeindex-" not in str(path):
            index.sanity_check()
            assert all(index.lookup(entry.timestamp) == entry for entry in index)


def test_pre_sized_indexes_show_their_unused_slots() -> None:  # I6
    folder = archives.unpack("v431-killed") / "crash.big-index-0"
    index = OffsetIndex.decode((folder / "00000000000000000000.index").read_bytes(), 0)
    assert len(index) == 10485760 // 8
    assert 0 < len(index.used()) < 10000
    assert index.last() == (0, 0)
    times = TimeIndex.decode((folder / "00000000000000000000.timeindex").read_bytes(), 0)
    assert len(times) == 10485756 // 12
    assert times.used().last().timestamp > 0
    with pytest.raises(CorruptionError, match="timestamp 0, expected"):
        times.sanity_check()


def test_indexes_of_the_published_experiment_are_read() -> None:  # I8
    folder = archives.unpack("seed-004-log-format") / "log-format-1"
    offsets = {
        path.name: OffsetIndex.decode(path.read_bytes(), names.base_offset_of(path.name))
        for path in sorted(folder.glob("*.index"))
    }
    assert list(offsets) == [SegmentFile(base, FileKind.OFFSET_INDEX).name for base in (0, 93, 184)]
    first, second, active = offsets.values()
    assert list(first) == [(80, 4384)]
    assert list(second) == []
    assert active[0] == (184, 0)  # what the old tools print for it
    assert active.zero_tail() == len(active) == 1310720
    times = TimeIndex.decode((folder / "00000000000000000184.timeindex").read_bytes(), 184)
    assert times.zero_tail() == len(times) == 873813


@ALL
def test_transaction_indexes_are_read_and_written_again(archive: str) -> None:
    for file, path in segment_files(archive, FileKind.TXN_INDEX):
        data = path.read_bytes()
        index = txn_index.decode(data)
        assert index.cut_bytes == 0
        assert txn_index.encode(index.aborted) == data, path
        if "txnindex-below-base" not in str(path):
            txn_index.sanity_check(index.aborted, file.base_offset)


@ALL
def test_producer_snapshots_are_read_and_written_again(archive: str) -> None:
    for _, path in segment_files(archive, FileKind.PRODUCER_SNAPSHOT):
        data = path.read_bytes()
        assert producer_snapshot.encode(producer_snapshot.decode(data)) == data, path


@ALL
def test_offset_checkpoints_are_read_and_written_again(archive: str) -> None:
    for path in archives.files(archive, "*-offset-checkpoint"):
        assert path.name in names.OFFSET_CHECKPOINTS
        data = path.read_bytes()
        offsets = checkpoint.decode_offsets(data)
        assert checkpoint.encode_offsets(offsets) == (data or b"0\n0\n"), path
        assert all(offset >= 0 for offset in offsets.values())


@ALL
def test_leader_epochs_are_read_and_written_again(archive: str) -> None:
    for path in archives.files(archive, names.LEADER_EPOCH_CHECKPOINT):
        data = path.read_bytes()
        entries = leader_epochs.decode(data)
        assert leader_epochs.encode(entries) == (data or b"0\n0\n"), path
        assert entries == sorted(entries)


@ALL
def test_partition_metadata_is_read_and_written_again(archive: str) -> None:
    for path in archives.files(archive, names.PARTITION_METADATA):
        data = path.read_bytes()
        assert partition_metadata.encode(partition_metadata.decode(data)) == data, path


@ALL
def test_meta_properties_are_read_and_written_again(archive: str) -> None:
    for path in archives.files(archive, names.META_PROPERTIES):
        data = path.read_bytes()
        date = data.decode().splitlines()[1]
        written = datetime.strptime(date, "#%a %b %d %H:%M:%S UTC %Y").replace(tzinfo=UTC)
        meta = meta_properties.decode(data)
        assert meta.node_id == 1
        assert meta_properties.encode(meta, written) == data, path


@ALL
def test_clean_shutdown_and_quorum_state_are_read_and_written_again(archive: str) -> None:
    for path in archives.files(archive, names.CLEAN_SHUTDOWN):
        data = path.read_bytes()
        epoch = clean_shutdown.decode(data)
        assert (b"" if epoch is None else clean_shutdown.encode(epoch)) == data, path
    for path in archives.files(archive, names.QUORUM_STATE):
        data = path.read_bytes()
        assert quorum_state.encode(quorum_state.decode(data)) == data, path


@ALL
def test_names_are_parsed(archive: str) -> None:  # L1, L2, L3
    root_files = {
        *names.OFFSET_CHECKPOINTS,
        names.META_PROPERTIES,
        names.CLEAN_SHUTDOWN,
        names.LOCK,
        names.BOOTSTRAP_CHECKPOINT,
    }
    partition_files = {names.LEADER_EPOCH_CHECKPOINT, names.PARTITION_METADATA, names.QUORUM_STATE}
    for path in archives.files(archive):
        segment_file, snapshot = SegmentFile.parse(path.name), KRaftSnapshot.parse(path.name)
        if segment_file is not None:
            assert segment_file.name == path.name
            assert names.base_offset_of(path.name) == segment_file.base_offset
        if archive == "v431-corrupt":
            continue  # its folders are named after the damage
        if segment_file is not None or snapshot is not None or path.name in partition_files:
            assert PartitionFolder.parse(path.parent.name).name == path.parent.name
        else:
            assert path.name in root_files, path


def test_folders_of_a_log_dir_are_parsed() -> None:  # L1
    root = archives.unpack("v431-clean")
    folders = [PartitionFolder.parse(path.name) for path in sorted(root.iterdir()) if path.is_dir()]
    assert [folder.partition for folder in folders if folder.topic == "keyed.4p"] == [0, 1, 2, 3]
    deleted = [folder for folder in folders if folder.state is not FolderState.CURRENT]
    assert deleted == [("deleted.topic", 0, FolderState.DELETE, "801f58ccd1d24d9daf8e88e30d773573")]


def dumped_files(archive: str, kind: FileKind) -> Iterator[tuple[SegmentFile, bytes, str]]:
    """The files of a kind that Kafka's own dump-log printed without an exception, with its output."""
    for run in archives.dumps(archive):
        if run["args"][:-1] != ["--files"] or "," in run["args"][-1] or run["exit"] != 0:
            continue
        path = Path(run["args"][-1])
        file = SegmentFile.parse(path.name)
        if file is not None and file.kind is kind and file.transient is Transient.NONE:
            yield file, (archives.unpack(archive) / path).read_bytes(), run["stdout"]


@ALL
def test_indexes_hold_what_kafka_dumps(archive: str) -> None:  # I2, I3
    for file, data, text in dumped_files(archive, FileKind.OFFSET_INDEX):
        expected = re.findall(r"^offset: (-?\d+) position: (\d+)$", text, re.MULTILINE)
        found = list(OffsetIndex.decode(data, file.base_offset).used())
        # Kafka's tool takes the zeros of a pre-sized file without entries for one entry.
        assert found == [(int(offset), int(position)) for offset, position in expected] or (
            not found and expected == [(str(file.base_offset), "0")]
        )
    for file, data, text in dumped_files(archive, FileKind.TIME_INDEX):
        expected = re.findall(r"^timestamp: (-?\d+) offset: (-?\d+)$", text, re.MULTILINE)
        found_times = list(TimeIndex.decode(data, file.base_offset).used())
        assert found_times == [(int(timestamp), int(offset)) for timestamp, offset in expected] or (
            not found_times and expected == [("0", str(file.base_offset))]
        )


@ALL
def test_transactions_and_producers_are_what_kafka_dumps(archive: str) -> None:
    for _, data, text in dumped_files(archive, FileKind.TXN_INDEX):
        numbers = [re.findall(r"-?\d+", line)[1:] for line in text.splitlines() if line.startswith("version: ")]
        assert [list(map(str, txn)) for txn in txn_index.decode(data).aborted] == numbers
    for _, data, text in dumped_files(archive, FileKind.PRODUCER_SNAPSHOT):
        lines = [line for line in text.splitlines() if line.startswith("producerId: ")]
        try:
            producers = producer_snapshot.decode(data)
        except CorruptionError:
            assert lines == []
            continue
        assert [dumped_producer(producer) for producer in producers] == lines


def dumped_producer(producer: ProducerEntry) -> str:
    """A producer as Kafka's dump-log prints it."""
    txn = producer.current_txn_first_offset
    line = (
        f"producerId: {producer.producer_id} producerEpoch: {producer.epoch} "
        f"coordinatorEpoch: {producer.coordinator_epoch} "
        f"currentTxnFirstOffset: {'OptionalLong.empty' if txn < 0 else f'OptionalLong[{txn}]'} "
        f"lastTimestamp: {producer.timestamp}"
    )
    if not producer.has_batch:
        return line
    first_sequence = (producer.last_sequence - producer.offset_delta) % 2**31
    return line + (
        f" firstSequence: {first_sequence} lastSequence: {producer.last_sequence} "
        f"lastOffset: {producer.last_offset} offsetDelta: {producer.offset_delta} timestamp: {producer.timestamp}"
    )
