"""Random segments, indexed by the rules of each era of Kafka or across an upgrade: verify finds nothing.

| era | offset entry | decided |
|---|---|---|
| up to 1.1 | first offset of the append | once per append |
| 2.0 to 4.0.0 | last offset of the append (cleaner: of the last record that it kept) | once per append |
| later | last offset of the batch | for each batch |
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from pathlib import Path

import pytest

from octavo.format.batches.batch import build_batch, decode_batch
from octavo.format.compression import Codec
from octavo.format.indexes import offset_index, time_index
from octavo.format.names import FileKind
from octavo.format.record import Record
from tests.format.exact_batches import encode_batch
from tests.jobs.verify.verified import findings_of
from tests.scanner.segments import path, write_segment

SEEDS = range(30)


class Era(IntEnum):
    FIRST = 0
    LAST = 1
    EACH_BATCH = 2


@dataclass
class Indexed:
    """A batch, and what its append passes to the indexes."""

    data: bytes
    first_offset: int
    last_offset: int  # after an old cleaner, that of the last record
    timestamp: int
    offset_of_timestamp: int


@dataclass
class Writer:
    """Kafka's LogSegment.append, as it was in each era."""

    interval_bytes: int
    batches: list[bytes] = field(default_factory=list)
    offsets: list[tuple[int, int]] = field(default_factory=list)
    times: list[tuple[int, int]] = field(default_factory=list)
    position: int = 0
    since: int = 0
    largest: tuple[int, int] = (-1, 0)

    def append(self, batches: Sequence[Indexed], era: Era) -> None:
        if era is Era.EACH_BATCH and len(batches) > 1:
            for one in batches:
                self.append([one], era)
            return
        for one in batches:
            if one.timestamp > self.largest[0]:
                self.largest = one.timestamp, one.offset_of_timestamp
        if self.since > self.interval_bytes:
            named = batches[0].first_offset if era is Era.FIRST else batches[-1].last_offset
            self.offsets.append((named, self.position))
            self.close()
            self.since = 0
        for one in batches:
            self.batches.append(one.data)
            self.position += len(one.data)
            self.since += len(one.data)

    def close(self) -> None:
        """Add the time index entry that goes with an offset index entry, or with the closing of the segment."""
        if self.largest[0] > (self.times[-1][0] if self.times else -1):
            self.times.append(self.largest)

    def write(self, folder: Path) -> None:
        self.close()
        write_segment(folder, 0, *self.batches)
        offsets = offset_index.encode([entry[0] for entry in self.offsets], [entry[1] for entry in self.offsets], 0)
        times = time_index.encode([entry[0] for entry in self.times], [entry[1] for entry in self.times], 0)
        path(folder, 0, FileKind.OFFSET_INDEX).write_bytes(offsets)
        path(folder, 0, FileKind.TIME_INDEX).write_bytes(times)


class Batches:
    """Random batches whose timestamps go up, back, or stand still."""

    def __init__(self, draw: random.Random) -> None:
        self.draw, self.offset, self.timestamp = draw, 0, 10_000
        self.steps = draw.choice([(0, 5), (-40, 45), (0, 0)])

    def make(self, era: Era) -> Indexed:
        draw, records = self.draw, []
        for _ in range(draw.choice([1, 1, 2, 3, 8])):
            self.timestamp = max(self.timestamp + draw.randint(*self.steps), 0)
            records.append(Record(self.offset, self.timestamp, b"k", bytes(draw.randrange(60))))
            self.offset += 1
        self.offset += draw.random() < 0.1
        codec = draw.choice([Codec.NONE, Codec.NONE, Codec.LZ4])
        largest = max(record.timestamp for record in records)
        named = records[-1].offset
        if era < Era.EACH_BATCH and codec is Codec.NONE and draw.random() < 0.5:  # by a leader up to 3.6
            named = next(record.offset for record in records if record.timestamp == largest)
        return Indexed(build_batch(records, codec=codec), records[0].offset, records[-1].offset, largest, named)

    def clean(self, one: Indexed, era: Era) -> Indexed | None:
        """The batch after the era's cleaner: unchanged, with fewer records, or emptied; None if it was removed."""
        header, records = decode_batch(one.data)
        chance = self.draw.random()
        left = [record for record in records if self.draw.random() < chance]
        if len(left) == len(records):
            return replace(one, offset_of_timestamp=one.last_offset)
        if left:
            largest = max(record.timestamp for record in left)
            data = encode_batch(replace(header, max_timestamp=largest), left)
            last = left[-1].offset if era is Era.LAST else one.last_offset
            return Indexed(data, one.first_offset, last, largest, one.last_offset)
        if chance < 0.5:
            return None
        counted = -1 if era is Era.FIRST else header.max_timestamp
        return Indexed(encode_batch(header, []), one.first_offset, one.last_offset, counted, one.last_offset)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_brokers_of_one_era_or_several_append_is_sound(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    writer, batches = Writer(draw.choice([50, 300, 900])), Batches(draw)
    eras = sorted(draw.choices(list(Era), k=draw.choice([1, 2])))
    for number in range(40):
        era = eras[number * len(eras) // 40]
        writer.append([batches.make(era) for _ in range(draw.choice([1, 1, 2, 5]))], era)
    writer.write(tmp_path / "orders-0")
    assert findings_of(tmp_path) == []


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("era", Era)
def test_what_the_cleaner_of_an_era_leaves_is_sound(seed: int, era: Era, tmp_path: Path) -> None:
    draw = random.Random(seed)
    writer, batches = Writer(draw.choice([50, 300, 900])), Batches(draw)
    for _ in range(20):
        chunk = [batches.clean(batches.make(era), era) for _ in range(draw.choice([1, 4, 9]))]
        left = [one for one in chunk if one is not None]
        if left:
            writer.append(left, era)
    writer.write(tmp_path / "orders-0")
    assert findings_of(tmp_path) == []
