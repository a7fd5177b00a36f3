"""Every record that a real client read from a golden archive is what we decode. Encoded again, uncompressed batches
have the same bytes, and compressed ones the same records."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from octavo.format.batches.batch import decode_batch
from octavo.format.batches.decoder import Decoder
from octavo.format.batches.header import BatchHeader
from octavo.format.batches.row_columns import to_records
from octavo.format.batches.walker import walk
from octavo.format.compression import CODECS
from octavo.format.legacy.message_set import encode_message
from octavo.kernels.layout import Flaw
from tests.format.exact_batches import encode_batch
from tests.golden import archives
from tests.golden.client_records import WITH_RECORDS, text
from tests.golden.encoding import encode_compressed

DAMAGED = {"v431-corrupt", "v431-torn"}
SOUND = [name for name in archives.archives() if name not in DAMAGED]

Seen = tuple[int, str, str | None, str | None, list[list[str | None]]]


def batches(path: Path) -> Iterator[tuple[bytes, BatchHeader]]:
    found = walk(path.read_bytes())
    for row in found.table:
        yield bytes(found.data), BatchHeader.from_row(row)


def as_client_shows(archive: str) -> dict[tuple[str, int], dict[int, Seen]]:
    """All data records in the archive's partition folders: topic, partition → offset → record."""
    partitions: dict[tuple[str, int], dict[int, Seen]] = defaultdict(dict)
    decoder = Decoder()
    for path in archives.files(archive, "*.log"):
        topic, _, partition = path.parent.name.rpartition("-")
        if not partition.isdigit():
            continue  # a folder being deleted
        found = walk(path.read_bytes())
        for row in found.table:
            header = BatchHeader.from_row(row)
            if header.is_control:
                continue
            for record in to_records(decoder.decode_one(found.data, row)):
                headers = [[name, text(value)] for name, value in record.headers]
                shown = record.timestamp, str(header.timestamp_type), text(record.key), text(record.value), headers
                partitions[topic, int(partition)][record.offset] = shown
    return partitions


def as_client_read(row: dict[str, Any]) -> Seen:
    timestamp, kind = row.get("timestamp", -1), row.get("timestampType", "NoTimestampType")
    return timestamp, kind, row["key"], row["value"], [list(header) for header in row.get("headers") or []]


@pytest.mark.parametrize("archive", WITH_RECORDS)
def test_each_batch_decodes_to_what_a_real_client_read(archive: str) -> None:
    # F1 F4 F5 F6 F8 F9
    ours = as_client_shows(archive)
    read: dict[tuple[str, int], dict[int, Seen]] = defaultdict(dict)
    for row in archives.records(archive):
        if row.get("isolation", "read_uncommitted") == "read_uncommitted":
            read[row["topic"], row["partition"]][row["offset"]] = as_client_read(row)
    assert read
    for partition, theirs in read.items():
        # A client starts at the log start offset; earlier records may still be on disk.
        begin = min(theirs)
        assert {offset: seen for offset, seen in ours[partition].items() if offset >= begin} == theirs, partition


@pytest.mark.parametrize("archive", SOUND)
def test_plain_batches_encode_to_the_same_bytes_from_their_fields_alone(archive: str) -> None:
    seen = 0
    for path in archives.files(archive, "*.log*"):
        for data, header in batches(path):
            assert header.flaws == Flaw(0), path
            if header.codec_id:
                continue
            stored = data[header.position : header.position + header.size]
            _, records = decode_batch(data, header.position, stored_timestamps=True)
            if header.magic == 2:
                again = encode_batch(header, records)
            else:
                (record,) = records
                again = encode_message(record, header.magic, header.attributes)
            assert again == stored, (path, header.position)
            seen += 1
    assert seen


def test_the_archives_have_each_codec_in_each_magic_that_allows_it() -> None:
    found = {
        (header.magic, header.codec_id)
        for archive in SOUND
        for path in archives.files(archive, "*.log*")
        for _, header in batches(path)
    }
    assert found == {(magic, codec) for codec, row in CODECS.items() for magic in range(row.min_magic, 3)}


@pytest.mark.parametrize("archive", SOUND)
def test_compressed_batches_encode_to_a_stream_of_the_same_records(archive: str) -> None:
    for path in archives.files(archive, "*.log*"):
        for data, header in batches(path):
            if not header.codec_id:
                continue
            _, records = decode_batch(data, header.position, stored_timestamps=True)
            again, decoded = decode_batch(encode_compressed(header, records), stored_timestamps=True)
            assert decoded == records
            assert (again.attributes, again.count, again.last_offset) == (
                header.attributes,
                header.count,
                header.last_offset,
            )
