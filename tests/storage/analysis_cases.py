"""The checks of whole batches before the log is locked: one row per check, with what real Kafka answers to each origin.

`interop/test_validation_with_kafka.py` appends every row to a log of real Kafka; `storage/test_append_info.py` holds
Octavo to it without a JVM.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from octavo.format.batches.batch import build_batch
from octavo.format.compression import Codec
from octavo.format.record import Record
from octavo.storage.append_origin import AppendOrigin
from tests.storage.produced_sets import NOW, changed, old_set
from tests.storage.validation_case import CORRUPT, ILLEGAL, INVALID

EPOCH = 12
TOO_LARGE = "RecordTooLargeException"
OUT_OF_ORDER = "OffsetsOutOfOrderException"
NOTHING = 0, -1

Answers = dict[str, str | tuple[int, int]]


class AnalysisCase(NamedTuple):
    """Batches from one origin; `answer` is Kafka's exception, or the end of what is appended and its last offset."""

    name: str
    data: bytes
    origin: AppendOrigin
    answer: str | tuple[int, int]
    configs: dict[str, str]

    def __str__(self) -> str:
        return f"{self.origin.name.lower()}: {self.name}"


def batch(first: int = 0, count: int = 3, epoch: int = EPOCH, codec: Codec = Codec.NONE) -> bytes:
    records = [Record(first + number, NOW + number, b"key", b"value" * 9) for number in range(count)]
    return build_batch(records, codec=codec, partition_leader_epoch=epoch)


SOUND = batch()
SIZE = len(SOUND)
SMALL = {"max.message.bytes": str(SIZE - 1)}
ALL = tuple(origin.name for origin in AppendOrigin)
ASSIGNING = "CLIENT", "COORDINATOR"
GIVEN = ("REPLICATION",)


def every(answer: str | tuple[int, int], origins: tuple[str, ...] = ALL) -> Answers:
    return dict.fromkeys(origins, answer)


def with_byte(data: bytes, position: int, value: int) -> bytes:
    return data[:position] + bytes([value]) + data[position + 1 :]


def rows() -> Iterator[tuple[str, bytes, Answers, dict[str, str]]]:
    damaged = with_byte(SOUND, SIZE - 1, 1)
    yield "a batch", SOUND, every((SIZE, 2)), {}
    yield "nothing", b"", every(NOTHING), {}
    yield "11 bytes", bytes(11), every(NOTHING), {}
    yield "an incomplete batch", SOUND[:-1], every(NOTHING), {}

    yield "base offset 5", batch(5), every((SIZE, 7)) | {"CLIENT": INVALID, "COORDINATOR": (SIZE, 2)}, {}
    yield "an earlier leader epoch", batch(epoch=EPOCH - 1), every((SIZE, 2)), {}
    yield "a later leader epoch", batch(epoch=EPOCH + 1), every((SIZE, 2)) | {"REPLICATION": NOTHING}, {}
    # A follower accepts it here; the leader epoch cache then refuses it.
    yield "no leader epoch", batch(epoch=-1), every((SIZE, 2), ASSIGNING), {}
    then_later = SOUND + batch(3, epoch=EPOCH + 1) + batch(6)
    yield "a later leader epoch after another", then_later, {"REPLICATION": (SIZE, 2)}, {}
    yield "damage after a later leader epoch", then_later + damaged, {"REPLICATION": (SIZE, 2)}, {}
    unknown = then_later + with_byte(batch(9), 16, 3)
    yield "an unknown magic after a later leader epoch", unknown, {"REPLICATION": CORRUPT}, {}
    message = old_set([Record(0, NOW, b"key", b"value")], 1)
    yield "a v1 message", message, {"REPLICATION": (len(message), 0)}, {}

    yield "as large as may be", SOUND, every((SIZE, 2)), {"max.message.bytes": str(SIZE)}
    yield "too large", SOUND, every(TOO_LARGE) | {"REPLICATION": (SIZE, 2)}, SMALL
    yield "too large and damaged", damaged, every(TOO_LARGE) | {"REPLICATION": CORRUPT}, SMALL
    yield "too large, and not from 0", batch(5), every(TOO_LARGE) | {"CLIENT": INVALID, "REPLICATION": (SIZE, 7)}, SMALL
    packed = batch(count=50, codec=Codec.GZIP)
    unpacking = {"compression.type": "uncompressed", "max.message.bytes": str(len(packed))}
    yield "too large once it is unpacked", packed, every(TOO_LARGE, ASSIGNING), unpacking

    yield "a wrong CRC", damaged, every(CORRUPT), {}
    yield "a wrong CRC after a sound batch", SOUND + with_byte(batch(3), SIZE - 1, 1), every(CORRUPT, GIVEN), {}
    short = SOUND[:8] + (40).to_bytes(4) + SOUND[12:52]
    yield "shorter than a header", short, every(CORRUPT), {}
    for magic in (3, 0xFF):
        yield f"magic {magic}", with_byte(SOUND, 16, magic), every(CORRUPT), {}
    yield "a size of 13", SOUND[:8] + (13).to_bytes(4) + SOUND[12:], every(CORRUPT), {}
    yield "a negative size", SOUND[:8] + b"\xff" * 4 + SOUND[12:], every(CORRUPT), {}
    yield "an unknown codec", changed(SOUND, attributes=5), every(ILLEGAL), {}
    yield (
        "an unknown codec and base offset 5",
        changed(batch(5), attributes=5),
        every(ILLEGAL) | {"CLIENT": INVALID},
        {},
    )

    yield "a batch and 11 bytes", SOUND + bytes(11), every((SIZE, 2)), {}
    yield "a batch and a part of the next", SOUND + batch(3)[:-1], every((SIZE, 2)), {}
    yield "a batch and zeros", SOUND + bytes(12), every(CORRUPT), {}
    yield "a batch and 16 bytes of another", SOUND + batch(3)[:16], every((SIZE, 2)), {}
    yield "a batch and a part with an unknown magic", SOUND + with_byte(batch(3), 16, 7)[:17], every(CORRUPT), {}

    yield "two batches", SOUND + batch(3), every((2 * SIZE, 5), GIVEN) | {"CLIENT": INVALID, "COORDINATOR": INVALID}, {}
    yield "two batches with a gap", SOUND + batch(9), every((2 * SIZE, 11), GIVEN), {}
    yield "offsets that overlap", SOUND + batch(2), every((2 * SIZE, 4), GIVEN), {}
    yield "offsets that go back", SOUND + batch(0), every(OUT_OF_ORDER, GIVEN), {}
    yield "an offset below 0", changed(batch(), last_offset_delta=-1), every(OUT_OF_ORDER, GIVEN), {}
    yield "offsets that go back, and damage", SOUND + damaged, every(CORRUPT, GIVEN), {}


def cases() -> Iterator[AnalysisCase]:
    for name, data, answers, configs in rows():
        for origin, answer in answers.items():
            yield AnalysisCase(name, data, AppendOrigin[origin], answer, configs)


CASES = {str(case): case for case in cases()}
