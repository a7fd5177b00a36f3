"""What real brokers stored, converted: only what a magic cannot hold is lost, and their own conversions are
reproduced."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import pytest

from octavo.format.batches.batch import BatchTraits, decode_batch
from octavo.format.batches.convert import down_convert, rewrite_as_v2, up_convert
from octavo.format.batches.header import BatchHeader
from octavo.format.batches.walker import walk
from octavo.format.compression import Codec
from octavo.format.legacy.message_set import encode_message_set
from octavo.format.record import TimestampType
from tests.format.unpacked import records_of, unpacked
from tests.golden import archives

SOUND = [name for name in archives.archives() if name not in {"v431-corrupt", "v431-torn"}]


def batches(path: Path) -> Iterator[tuple[BatchHeader, bytes]]:
    found = walk(path.read_bytes())
    for row in found.table:
        header = BatchHeader.from_row(row)
        yield header, bytes(found.data[header.position : header.position + header.size])


def types_of(data: bytes) -> list[TimestampType]:
    return [BatchHeader.from_row(row).timestamp_type for row in walk(data).table]


# F16
@pytest.mark.parametrize("archive", SOUND)
def test_up_keeps_offsets_timestamps_keys_and_values(archive: str) -> None:
    for path in archives.files(archive, "*.log*"):
        for magic, group in groupby(batches(path), key=lambda batch: batch[0].magic):
            stored = list(group)
            if magic == 2:
                continue
            whole = b"".join(data for _, data in stored)
            rewritten = rewrite_as_v2(whole)
            assert {header.magic for header, _ in unpacked(rewritten)} == {2}
            assert records_of(rewritten) == records_of(whole)
            kept = [TimestampType.CREATE_TIME if magic == 0 else header.timestamp_type for header, _ in stored]
            assert types_of(rewritten) == kept
            for header, data in stored:
                header_2, records_2 = decode_batch(up_convert(data, 2))
                assert (header_2.magic, header_2.codec_id) == (2, header.codec_id)
                if header.timestamp_type is not TimestampType.LOG_APPEND_TIME:
                    assert records_2 == records_of(data)


# F16
@pytest.mark.parametrize("archive", SOUND)
def test_up_makes_one_batch_of_plain_messages(archive: str) -> None:
    for path in archives.files(archive, "*.log*"):
        for (magic, codec), group in groupby(batches(path), key=lambda batch: (batch[0].magic, batch[0].codec_id)):
            if magic < 2 and codec == Codec.NONE:
                whole = b"".join(data for _, data in group)
                (header, _), records = unpacked(up_convert(whole, 2))[0], records_of(whole)
                assert (header.base_offset, header.last_offset, header.count) == (
                    records[0].offset,
                    records[-1].offset,
                    len(records),
                )


# F16
@pytest.mark.parametrize("archive", SOUND)
def test_down_loses_only_what_the_magic_cannot_hold(archive: str) -> None:
    for path in archives.files(archive, "*.log*"):
        stored = [batch for batch in batches(path) if batch[0].magic == 2 and batch[0].codec_id != Codec.ZSTD]
        whole = b"".join(data for _, data in stored)
        data_batches = [(header, data) for header, data in stored if header.count and not header.is_control]
        records = [record._replace(headers=()) for record in records_of(b"".join(data for _, data in data_batches))]
        v1, v0 = down_convert(whole, 1), down_convert(whole, 0)
        assert records_of(v1) == records
        assert records_of(v0) == [record._replace(timestamp=-1) for record in records]
        codecs = [codec for codec, _ in groupby(header.codec_id for header, _ in data_batches)]
        assert [codec for codec, _ in groupby(header.codec_id for header, _ in unpacked(v1))] == codecs
        assert [codec for codec, _ in groupby(header.codec_id for header, _ in unpacked(v0))] == codecs
        types = [kind for kind, _ in groupby(header.timestamp_type for header, _ in data_batches)]
        assert [kind for kind, _ in groupby(types_of(v1))] == types


# F16
def test_old_messages_become_the_batches_that_a_4_3_1_cleaner_made() -> None:
    compared = 0
    for folder in {path.parent for path in archives.files("v431-legacy-pass1", "*.log.deleted")}:
        originals = [batch for path in folder.glob("*.log.deleted") for batch in batches(path)]
        old = b"".join(data for header, data in originals if header.magic < 2)
        rewritten = {header.base_offset: (header, content) for header, content in unpacked(rewrite_as_v2(old))}
        for path in folder.glob("*.log"):
            for header, content in unpacked(path.read_bytes()):
                before, _ = rewritten.get(header.base_offset, (None, b""))
                # The cleaner changed more in a batch whose records were not all kept, or that got a horizon.
                kept = before is not None and (before.last_offset, before.count) == (header.last_offset, header.count)
                if kept and header.delete_horizon_ms is None:
                    assert (header, content) == rewritten[header.base_offset]
                    compared += 1
    assert compared == 35


# F16
def test_an_old_producers_sets_become_the_batches_that_a_1_0_0_broker_made() -> None:
    seen = 0
    for path in archives.files("seed-004-log-format", "*.log"):
        for header, stored in batches(path):
            records = records_of(stored)
            produced = encode_message_set([record._replace(offset=at) for at, record in enumerate(records)], 1)
            traits = BatchTraits(partition_leader_epoch=header.partition_leader_epoch)
            assert up_convert(produced, 2, traits, header.base_offset) == stored
            seen += 1
    assert seen == 24
