"""A survey of a producer's batch finds the same as walking and decoding it."""

from __future__ import annotations

from random import Random
from types import SimpleNamespace

import numpy as np
import pytest

from octavo.errors import CorruptionError
from octavo.format.batches.batch import build_batch
from octavo.format.batches.decoder import Decoder
from octavo.format.batches.walker import walk
from octavo.format.compression import Codec
from octavo.format.record import Header, Record
from octavo.kernels import crc32c, layout
from octavo.kernels.layout import BATCH
from tests.kernels import implementations
from tests.kernels.hand_made import batch, message, record

RECORDS = [
    Record(0, 1_000, b"k", b"v"),
    Record(1, 900, None, b""),
    Record(2, 1_200, b"", None, (Header("h", b"x"), Header("n", None))),
]
ONE = record(0, b"k", b"v")
SOUND = {"max_timestamp": 0, "base_timestamp": 0, "last_offset_delta": 0, "base_offset": 0}


def surveyed(kernels: SimpleNamespace, data: bytes, *, check_crc: bool = True) -> tuple[int, int, int, bool] | None:
    table = np.zeros(1, BATCH)
    found: tuple[int, int, int, bool] | None = kernels.survey_produced(data, table, check_crc)
    if found is not None:
        assert table.tolist() == walk(data, check_crc=check_crc).table.tolist()
    return found


def test_a_survey_gives_the_times_and_null_keys_of_a_sound_batch(kernels: SimpleNamespace) -> None:
    assert surveyed(kernels, build_batch(RECORDS)) == (900, 1_200, 1, False)
    assert surveyed(kernels, build_batch(RECORDS[:1])) == (1_000, 1_000, 0, False)
    assert surveyed(kernels, batch(ONE, 1, **SOUND)) == (0, 0, 0, False)


@pytest.mark.parametrize(
    "changed",
    [{"base_offset": 1}, {"last_offset_delta": 1}, {"max_timestamp": 1}, {"producer_id": 5, "base_sequence": -1},
     {"attributes": layout.LOG_APPEND_TIME}, {"attributes": layout.CONTROL}, {"attributes": int(Codec.GZIP)},
     {"base_timestamp": -2, "max_timestamp": -2}],
)  # fmt: skip
def test_an_unusual_header_is_left_to_the_caller(kernels: SimpleNamespace, changed: dict[str, int]) -> None:
    assert surveyed(kernels, batch(ONE, 1, **SOUND | changed)) is None


def test_the_header_of_a_transactional_producer_is_usual(kernels: SimpleNamespace) -> None:
    fields = SOUND | {"producer_id": 5, "producer_epoch": 0, "base_sequence": 0, "attributes": layout.TRANSACTIONAL}
    assert surveyed(kernels, batch(ONE, 1, **fields)) == (0, 0, 0, True)


def test_anything_but_one_whole_batch_is_left_to_the_caller(kernels: SimpleNamespace) -> None:
    data = build_batch(RECORDS)
    for other in (b"", data[:-1], data + b"\0", data + data, data[:60], message(0, b"k", b"v")):
        assert surveyed(kernels, other) is None
    assert surveyed(kernels, build_batch(RECORDS, codec=Codec.GZIP)) is None
    for count in (0, -1, 2):
        assert surveyed(kernels, batch(ONE, count, **SOUND | {"last_offset_delta": count - 1})) is None


def test_a_wrong_crc_is_seen_if_it_is_checked(kernels: SimpleNamespace) -> None:
    data = bytearray(build_batch(RECORDS))
    data[layout.CRC_POSITION] ^= 1
    assert surveyed(kernels, bytes(data)) is None
    assert surveyed(kernels, bytes(data), check_crc=False) == (900, 1_200, 1, False)


def test_without_a_row_for_the_batch_there_is_no_survey(kernels: SimpleNamespace) -> None:
    assert kernels.survey_produced(build_batch(RECORDS), np.zeros(0, BATCH), True) is None


def test_damage_is_found_if_a_decode_finds_it(kernels: SimpleNamespace) -> None:
    random, sound = Random(9), bytearray(build_batch(RECORDS))
    decoder, outcomes = Decoder(), set()
    for _ in range(3_000):
        data = bytearray(sound)
        for _ in range(random.randint(1, 2)):
            data[random.randrange(layout.BATCH_OVERHEAD, len(data))] = random.choice((0, 1, 2, 127, 128, 255))
        data[layout.CRC_POSITION : layout.ATTRIBUTES_POSITION] = crc32c(data[layout.ATTRIBUTES_POSITION :]).to_bytes(4)
        expected = None
        try:
            columns = decoder.decode_one(data, walk(data).table[0])
        except CorruptionError:
            pass
        else:
            times = columns.timestamp[: columns.rows]
            if int(times.max()) == 1_200:  # as the header says
                expected = int(times.min()), 1_200, 0 if columns.key is None else columns.key.nulls, False
        assert surveyed(kernels, bytes(data)) == expected
        outcomes.add(expected is None)
    assert outcomes == {True, False}


def test_both_agree_about_any_damage() -> None:
    random, sound = Random(2), build_batch(RECORDS)
    compiled, reference = implementations.both()
    for _ in range(2_000):
        data = bytearray(sound)
        data[random.randrange(len(data))] = random.choice((0, 1, 2, 3, 127, 128, 255))
        assert surveyed(compiled, bytes(data), check_crc=False) == surveyed(reference, bytes(data), check_crc=False)
