"""Decodes the records of Kafka's internal topics to JSON, as Kafka's own tools print them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from octavo.cli.cat.text import JsonBytes
from octavo.errors import CorruptionError
from octavo.format.messages.cluster_metadata import decode_metadata_record
from octavo.format.messages.consumer_offsets import CONSUMER_OFFSETS_TYPES
from octavo.format.messages.record_json import key_json, metadata_json, value_json
from octavo.format.messages.records import RecordType, decode_record
from octavo.format.messages.share_group_state import SHARE_GROUP_STATE_TYPES
from octavo.format.messages.transaction_state import TRANSACTION_STATE_TYPES
from octavo.format.names import CLUSTER_METADATA_TOPIC
from octavo.scanner.reading.records import ConsumerRecord, DecodeRecord


def decoded(records: Iterable[ConsumerRecord]) -> Iterator[ConsumerRecord]:
    """The same records; keys and values of internal topics become `JsonBytes`. What cannot be decoded stays
    unchanged."""
    for record in records:
        decode = DECODERS.get(record.topic)
        try:
            yield record if decode is None else decode(record)
        except CorruptionError:  # also a type that only a newer broker knows
            yield record


def _coordinator(types: dict[int, RecordType]) -> DecodeRecord:
    def decode(record: ConsumerRecord) -> ConsumerRecord:
        found = decode_record(types, record.key or b"", record.value)
        value = value_json(found)
        return record._replace(key=_json(key_json(found.key)), value=None if value is None else _json(value))

    return decode


def _cluster_metadata(record: ConsumerRecord) -> ConsumerRecord:
    """Decode a metadata record; these have no keys."""
    return record._replace(value=_json(metadata_json(decode_metadata_record(record.value or b""))))


def _json(text: str) -> JsonBytes:
    return JsonBytes(text.encode())


DECODERS: dict[str, DecodeRecord] = {
    "__consumer_offsets": _coordinator(CONSUMER_OFFSETS_TYPES),
    "__transaction_state": _coordinator(TRANSACTION_STATE_TYPES),
    "__share_group_state": _coordinator(SHARE_GROUP_STATE_TYPES),
    CLUSTER_METADATA_TOPIC: _cluster_metadata,
}
