"""Internal topics of real brokers: each record reads as Kafka's dump tool printed it, and is written back."""

from __future__ import annotations

import re
import struct
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from octavo.format.batches.decoder import Decoder
from octavo.format.batches.row_columns import to_records
from octavo.format.batches.walker import walk
from octavo.format.messages.cluster_metadata import decode_metadata_record
from octavo.format.messages.consumer_offsets import GROUP_METADATA, decode_consumer_offsets_record
from octavo.format.messages.consumer_protocol import decode_assignment, decode_subscription, encode_assignment
from octavo.format.messages.control import decode_kraft_control
from octavo.format.messages.record_json import key_json, kraft_control_json, metadata_json, value_json
from octavo.format.messages.records import CoordinatorRecord, decode_record, encode_key, encode_versioned
from octavo.format.messages.share_group_state import SHARE_GROUP_STATE_TYPES
from octavo.format.messages.transaction_state import decode_transaction_state_record
from octavo.format.record import Record
from octavo.kernels.layout import CONTROL
from tests.format.messages.encoded import encode_kraft_control, encode_metadata, encode_subscription
from tests.golden import archives

COORDINATOR_DECODERS: dict[str, Callable[[bytes, bytes | None], CoordinatorRecord]] = {
    "--offsets-decoder": decode_consumer_offsets_record,
    "--transaction-log-decoder": decode_transaction_state_record,
    "--share-group-state-decoder": partial(decode_record, SHARE_GROUP_STATE_TYPES),
}
KRAFT_CONTROL = {2: "LeaderChange: ", 3: "SnapshotHeader ", 4: "SnapshotFooter ", 5: "KRaftVersion ", 6: "KRaftVoters "}
RECORD_LINE = re.compile(r"\| offset: (\d+) .*? (?:headerKeys: \[.*?\]|crc: \d+) ?(.*)")


def records_of(path: Path) -> Iterator[tuple[Record, bool]]:
    """The records of a log file, each with whether it is a control record."""
    found = walk(path.read_bytes())
    decoder = Decoder()
    for batch in found.table:
        for record in to_records(decoder.decode_one(found.data, batch)):
            yield record, bool(batch["attributes"] & CONTROL)


def dumped(archive: str) -> Iterator[tuple[str, Path, dict[int, str]]]:
    """The decoder, the file, and what the tool printed for each offset."""
    for run in archives.dumps(archive):
        decoder = next((option for option in run["args"] if option.endswith("-decoder")), None)
        if decoder is None or "--skip-record-metadata" in run["args"]:
            continue
        matches = [RECORD_LINE.fullmatch(line) for line in run["stdout"].splitlines() if line.startswith("| ")]
        texts = {int(match[1]): match[2] for match in matches if match is not None}
        assert len(texts) == len(matches)
        yield decoder, archives.unpack(archive) / run["args"][run["args"].index("--files") + 1], texts


def printed(decoder: str, record: Record, is_control: bool) -> str:
    """What the tool prints after a record's header keys."""
    if is_control:
        assert record.key is not None and record.value is not None
        _, type_id = struct.unpack(">hh", record.key)
        if type_id not in KRAFT_CONTROL:
            epoch = struct.unpack_from(">hi", record.value)[1]
            return f"endTxnMarker: {('ABORT', 'COMMIT')[type_id]} coordinatorEpoch: {epoch}"
        return KRAFT_CONTROL[type_id] + kraft_control_json(type_id, decode_kraft_control(type_id, record.value))
    if decoder == "--cluster-metadata-decoder":
        assert record.value is not None
        return f"payload: {metadata_json(decode_metadata_record(record.value))}"
    assert record.key is not None
    decoded = COORDINATOR_DECODERS[decoder](record.key, record.value)
    return f"key: {key_json(decoded.key)} payload: {value_json(decoded) or '<DELETE>'}"


@pytest.mark.parametrize("archive", archives.archives())
def test_records_read_as_kafka_printed_them(archive: str) -> None:
    for decoder, path, texts in dumped(archive):
        found = {record.offset: printed(decoder, record, is_control) for record, is_control in records_of(path)}
        assert {offset: found[offset] for offset in texts} == texts, path


@pytest.mark.parametrize("archive", archives.archives())
def test_records_are_written_back(archive: str) -> None:
    for decoder, path, _ in dumped(archive):
        for record, is_control in records_of(path):
            assert written_back(decoder, record, is_control) == (record.key, record.value), (path, record.offset)


def written_back(decoder: str, record: Record, is_control: bool) -> tuple[bytes | None, bytes | None]:
    if is_control:
        assert record.key is not None and record.value is not None
        type_id = struct.unpack(">hh", record.key)[1]
        if type_id not in KRAFT_CONTROL:
            return record.key, record.value
        return record.key, encode_kraft_control(type_id, decode_kraft_control(type_id, record.value))
    if decoder == "--cluster-metadata-decoder":
        assert record.value is not None
        return record.key, encode_metadata(*decode_metadata_record(record.value))
    assert record.key is not None
    decoded = COORDINATOR_DECODERS[decoder](record.key, record.value)
    check_members(decoded)
    value = None if decoded.value is None else encode_versioned(decoded.key.type.value, *decoded.value)
    return encode_key(*decoded.key), value


def check_members(record: CoordinatorRecord) -> None:
    """The members of a classic group contain encoded messages, which must be written back too."""
    if (
        record.key.type is GROUP_METADATA
        and record.value is not None
        and record.value.data["protocolType"] == "consumer"
    ):
        for member in record.value.data["members"]:
            assert encode_subscription(*decode_subscription(member["subscription"])) == member["subscription"]
            assert encode_assignment(*decode_assignment(member["assignment"])) == member["assignment"]


def test_the_archives_hold_many_kinds() -> None:
    seen: Counter[str] = Counter()
    for archive in archives.archives():
        for decoder, _, texts in dumped(archive):
            seen.update({decoder: len(texts)})
            types = (re.match(r'(?:key|payload): \{"type":"(\w+)"', text) for text in texts.values())
            seen.update(f"{decoder} {match[1]}" for match in types if match is not None)
    assert seen["--offsets-decoder"] == 133
    assert seen["--transaction-log-decoder"] == 774
    assert seen["--share-group-state-decoder"] == 14
    assert seen["--cluster-metadata-decoder"] == 1552
    assert sum(kind.startswith("--offsets-decoder ") for kind in seen) == 13
    assert sum(kind.startswith("--cluster-metadata-decoder ") for kind in seen) == 15
