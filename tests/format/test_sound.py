"""The rule for sound batches: which batches end a log for recovery, and which ones only stop readers."""

from __future__ import annotations

import numpy as np
import pytest

from octavo.format.batches.batch_summary import summarize
from octavo.format.batches.chunk_walk import Chunk
from octavo.format.batches.sound import are_readable, broken, flaw_of, sound_part, unreadable
from octavo.format.batches.walker import walk
from octavo.kernels.layout import Stop
from tests.format.crafted import crafted
from tests.storage.batches import batch

SOUND = batch(5, 2)
CASES = {
    "sound": (SOUND, False, False, None),
    "emptied by compaction": (crafted(SOUND, recordsCount=0), False, False, None),
    "magic 3": (crafted(SOUND, magic=3), False, True, "magic 3 at offset 5, expected 0, 1 or 2"),
    "-1 records": (crafted(SOUND, recordsCount=-1), False, True, "offset 5 of -1 records"),
    "ends before it begins": (crafted(SOUND, lastOffsetDelta=-1), False, True, "last offset delta -1, expected 0"),
    "wrong CRC": (SOUND[:-1] + b"x", True, True, "CRC does not match the stored"),
    "too short": (SOUND[:8] + (40).to_bytes(4) + SOUND[12:52], True, True, "52 bytes at offset 5, too short"),
}


@pytest.mark.parametrize("check_crc", [True, False])
@pytest.mark.parametrize("name", CASES)
def test_a_batch_is_broken_or_unreadable(name: str, check_crc: bool) -> None:
    content, is_broken, is_unreadable, sentence = CASES[name]
    if name == "wrong CRC" and not check_crc:
        is_broken = is_unreadable = False
    table = walk(SOUND + content + SOUND, check_crc=check_crc).table
    assert broken(table).tolist() == [False, is_broken, False]
    assert unreadable(table).tolist() == [False, is_unreadable, False]
    assert are_readable(summarize(table)) is (name in ("sound", "wrong CRC")[: 2 - check_crc])
    if sentence is not None and is_unreadable:
        assert sentence in str(flaw_of(table[1]))


def chunk_of(*batches: bytes) -> Chunk:
    found = walk(b"".join(batches))
    return Chunk(found.data, found.table.view(np.uint8).data, 0, found.stop, found.next_position)


@pytest.mark.parametrize(
    ("offset", "stays"),
    [(3, True), (5, True), (4 + 2**31 - 2, True), (2, False), (4 + 2**31, False)],
    ids=["begins before", "inside", "last that fits", "ends before", "too far, and offsets go back"],
)
def test_offsets_decide_whether_a_batch_belongs_to_a_segment(offset: int, stays: bool) -> None:
    """The segment's base offset is 4, and the batch has two offsets."""
    part = sound_part(chunk_of(batch(4), crafted(SOUND, baseOffset=offset), batch(6)), 4)
    assert len(part.table) == (3 if stays else 1)
    assert part.problem == (
        None if stays else f"batch with base offset {offset}: it does not belong to the segment with base offset 4"
    )


def test_offsets_that_only_go_up_may_go_too_far() -> None:
    part = sound_part(chunk_of(batch(4), batch(4 + 2**31), batch(6 + 2**31)), 4)
    assert (len(part.table), part.problem) == (3, None)


def test_what_follows_the_last_batch_is_named() -> None:
    part = sound_part(chunk_of(batch(4), batch(5)[:-1]), 4)
    assert (len(part.table), part.found.end, part.problem) == (1, len(batch(4)), "an incomplete batch")
    found = walk(bytes(40))
    assert found.stop is Stop.SIZE_TOO_SMALL
    assert sound_part(chunk_of(bytes(40)), 4).problem == "bytes that are not a batch"
    assert np.array_equal(sound_part(chunk_of(batch(4)), 4).table, walk(batch(4)).table)
