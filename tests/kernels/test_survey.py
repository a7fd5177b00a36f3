"""A survey of a batch's records finds the same as decoding them."""

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
from octavo.kernels import layout
from octavo.kernels.layout import BATCH
from tests.kernels import implementations

RECORDS = [
    Record(0, 1_000, b"k", b"v"),
    Record(1, 900, None, b""),
    Record(2, 1_200, b"", None, (Header("h", b"x"), Header("n", None))),
]


def test_sound_records(kernels: SimpleNamespace) -> None:
    data = build_batch(RECORDS)
    assert kernels.survey_records(data, walk(data).table, 0) == (900, 1_200, 1, True)
    two = data + build_batch(RECORDS[:1])
    assert kernels.survey_records(two, walk(two).table, 1) == (1_000, 1_000, 0, True)


def test_other_offsets(kernels: SimpleNamespace) -> None:
    data = build_batch([Record(0, 5, None, b""), Record(2, 5, None, b"")])
    assert kernels.survey_records(data, walk(data).table, 0) == (5, 5, 2, False)
    data = build_batch([Record(7, 5, None, b"")])
    assert kernels.survey_records(data, walk(data).table, 0) == (5, 5, 1, False)


@pytest.mark.parametrize(
    ("column", "value"),
    [("count", 0), ("count", -1), ("count", 2), ("count", 4), ("magic", 1), ("size", 60), ("size", 10_000),
     ("position", -1), ("position", 10_000), ("position", 2**63 - 1), ("attributes", layout.LOG_APPEND_TIME)],
)  # fmt: skip
def test_what_it_leaves_to_a_decode(kernels: SimpleNamespace, column: str, value: int) -> None:
    data = build_batch(RECORDS)
    table = walk(data).table.copy()
    table[0][column] = value
    assert kernels.survey_records(data, table, 0) is None


def test_compressed_records_and_missing_rows(kernels: SimpleNamespace) -> None:
    data = build_batch(RECORDS, codec=Codec.GZIP)
    table = walk(data).table
    assert kernels.survey_records(data, table, 0) is None
    assert kernels.survey_records(data, table, 1) is kernels.survey_records(data, table, -1) is None


def test_damage_is_found_where_a_decode_finds_it(kernels: SimpleNamespace) -> None:
    random, sound = Random(9), bytearray(build_batch(RECORDS))
    table, decoder, outcomes = walk(sound).table, Decoder(), set()
    for _ in range(3_000):
        data = bytearray(sound)
        for _ in range(random.randint(1, 2)):
            data[random.randrange(layout.BATCH_OVERHEAD, len(data))] = random.choice((0, 1, 2, 127, 128, 255))
        try:
            columns = decoder.decode_one(data, table[0])
        except CorruptionError:
            expected = None
        else:
            times, offsets = columns.timestamp[: columns.rows], columns.offset[: columns.rows]
            nulls = 0 if columns.key is None else columns.key.nulls
            is_numbered = np.array_equal(offsets, np.arange(columns.rows))
            expected = (int(times.min()), int(times.max()), nulls, is_numbered)
        assert kernels.survey_records(data, table, 0) == expected
        outcomes.add(expected is None)
    assert outcomes == {True, False}


def test_both_agree_about_any_row() -> None:
    random, data = Random(2), build_batch(RECORDS)
    compiled, reference = implementations.load("compiled"), implementations.load("reference")
    for _ in range(500):
        table = np.frombuffer(bytearray(random.randbytes(BATCH.itemsize)), BATCH)
        table["position"], table["size"] = random.choice((0, 1, 3)), random.choice((61, 70, len(data)))
        table["magic"], table["attributes"] = 2, random.choice((0, 0x10, 8))
        table["count"] = random.choice((1, 3, 5))
        assert compiled.survey_records(data, table, 0) == reference.survey_records(data, table, 0)
