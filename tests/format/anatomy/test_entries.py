"""The anatomy of indexes and snapshots."""

from __future__ import annotations

import pytest

from octavo.format.anatomy import Node
from octavo.format.anatomy.entries import describe_entries
from octavo.format.indexes import offset_index, time_index, txn_index
from octavo.format.indexes.txn_index import AbortedTxn
from octavo.format.names import FileKind
from octavo.format.small_files import producer_snapshot
from octavo.format.small_files.producer_snapshot import ProducerEntry

INDEX = offset_index.encode([100, 120], [0, 519], 100)
TIMES = time_index.encode([1700000000000, 1700000000586], [100, 120], 100)
ABORTED = txn_index.encode([AbortedTxn(1001, 31, 38, 28)])
PRODUCERS = producer_snapshot.encode(
    [ProducerEntry(1000, 9, -1, -1, 0, 5, 0, -1), ProducerEntry(1003, 0, 1, 178, 1, 5, -1, 177)]
)


def describe(kind: FileKind, data: bytes) -> list[Node]:
    return list(describe_entries(kind, memoryview(data), 100))


@pytest.mark.parametrize(
    ("kind", "data", "meaning"),
    [
        (FileKind.OFFSET_INDEX, INDEX, "offset 120 is in or after the batch at position 519"),
        (FileKind.TIME_INDEX, TIMES, "up to offset 120 no timestamp is later than 2023-11-14 22:13:20.586 UTC"),
        (FileKind.TXN_INDEX, ABORTED, "producer 1001 aborted offsets 31 to 38; the last stable offset was 28"),
        (
            FileKind.PRODUCER_SNAPSHOT,
            PRODUCERS,
            "producer 1003, epoch 0: sequences 0 to 1 up to offset 178, open transaction since offset 177",
        ),
    ],
)
def test_every_byte_is_in_its_place(kind: FileKind, data: bytes, meaning: str) -> None:
    nodes = describe(kind, data)
    assert nodes[-1].meaning == meaning
    assert b"".join(child.raw for node in nodes for child in node.children) == data
    assert not any(problem for node in nodes for problem in node.problems())


def test_zeros_of_a_file_that_was_not_closed_are_unused() -> None:
    nodes = describe(FileKind.OFFSET_INDEX, INDEX + bytes(80))
    assert [(node.name, node.position, node.length) for node in nodes] == [
        ("entry 0", 0, 8), ("entry 1", 8, 8), ("unused", 16, 80),
    ]  # fmt: skip
    assert nodes[-1].meaning.startswith("10 entries of zeros")
    assert describe(FileKind.OFFSET_INDEX, INDEX + bytes(8))[-1].meaning.startswith("1 entry of zeros")
    assert [node.name for node in describe(FileKind.TIME_INDEX, bytes(24))] == ["unused"]


def test_a_time_index_may_consist_of_an_entry_of_zeros() -> None:
    (entry,) = describe(FileKind.TIME_INDEX, bytes(12))
    assert entry.meaning == "up to offset 100 no timestamp is later than 1970-01-01 00:00:00.000 UTC"


def test_an_entry_that_is_cut_off_is_a_problem() -> None:
    *_, rest = describe(FileKind.TIME_INDEX, TIMES[:-1])
    assert (rest.name, rest.problem) == ("rest", "11 bytes, expected an entry of 12")
    assert describe(FileKind.OFFSET_INDEX, INDEX + b"\1")[-1].problem == "1 byte, expected an entry of 8"
    *_, unused, rest = describe(FileKind.OFFSET_INDEX, INDEX + bytes(19))
    assert (unused.length, rest.length) == (16, 3)


def test_a_wrong_crc_of_a_snapshot_is_a_problem() -> None:
    header, *_ = describe(FileKind.PRODUCER_SNAPSHOT, PRODUCERS[:-1] + b"\x01")
    (bad,) = header.problems()
    assert bad.name == "crc"
    (short,) = describe(FileKind.PRODUCER_SNAPSHOT, PRODUCERS[:7])
    assert short.problem == "7 bytes, expected at least 10"
