"""Prints records as text: JSON lines, CSV, or only their values."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable
from itertools import islice
from json.encoder import encode_basestring
from typing import BinaryIO

from octavo.cli.plain import plain_csv, plain_json
from octavo.scanner.reading.records import ConsumerRecord

# Turns a non-null key or value into JSON.
Show = Callable[[bytes], str]

_LINES_AT_ONCE = 4096
_CSV_HEADER = "topic,partition,offset,timestamp,timestampType,key,value,headers\n"


def _text(content: bytes) -> str:
    try:
        return encode_basestring(content.decode("utf-8"))
    except UnicodeDecodeError:
        return f'{{"base64":{_base64(content)}}}'


def _base64(content: bytes) -> str:
    return f'"{base64.b64encode(content).decode("ascii")}"'


class JsonBytes(bytes):
    """A key or value that is JSON already."""


def _json_or_text(content: bytes) -> str:
    return content.decode() if isinstance(content, JsonBytes) else _text(content)


SHOWN: dict[str, Show] = {"text": _text, "base64": _base64, "hex": lambda content: f'"{content.hex()}"'}


def write_text(
    records: Iterable[ConsumerRecord],
    sink: BinaryIO,
    form: str,
    shown: str,
    *,
    with_header: bool = True,
    internal: bool = False,
) -> None:
    """Write the records as lines: json, csv (after a line with the columns' names, if `with_header`) or raw.

    `internal`: some records may be from Kafka's internal topics; json and csv show these decoded if `shown` is text.
    """
    if form == "raw":
        values = ((record.value or b"") + b"\n" for record in records)
        while several := list(islice(values, _LINES_AT_ONCE)):
            sink.write(b"".join(several))
        return
    line, escaped = (csv_line, plain_csv) if form == "csv" else (json_line, plain_json)
    sink.write(_CSV_HEADER.encode() if form == "csv" and with_header else b"")
    show = SHOWN[shown]
    if internal and shown == "text":
        from octavo.cli.cat.internal_topics import decoded  # the schemas that it imports take long to load

        records, show = decoded(records), _text if form == "csv" else _json_or_text
    lines = (line(record, show) for record in records)
    while text := "".join(islice(lines, _LINES_AT_ONCE)):
        sink.write(escaped(text).encode())


def json_line(record: ConsumerRecord, show: Show) -> str:
    """A record as one JSON object."""
    key = "null" if record.key is None else show(record.key)
    value = "null" if record.value is None else show(record.value)
    return (
        f'{{"topic":{encode_basestring(record.topic)},"partition":{record.partition},"offset":{record.offset},'
        f'"timestamp":{record.timestamp},"timestampType":"{record.timestamp_type}",'
        f'"key":{key},"value":{value},"headers":{_headers(record, show)}}}\n'
    )


def csv_line(record: ConsumerRecord, show: Show) -> str:
    """A record as a row: null is empty, an empty value is `""`; headers are JSON."""
    fields = (record.topic, record.partition, record.offset, record.timestamp, record.timestamp_type)
    key, value = _csv_bytes(record.key, show), _csv_bytes(record.value, show)
    headers = _quoted(_headers(record, show)) if record.headers else ""
    return f"{','.join(map(str, fields))},{key},{value},{headers}\n"


def _headers(record: ConsumerRecord, show: Show) -> str:
    if not record.headers:
        return "[]"
    pairs = (
        f'{{"key":{encode_basestring(key)},"value":{"null" if value is None else show(value)}}}'
        for key, value in record.headers
    )
    return f"[{','.join(pairs)}]"


def _csv_bytes(content: bytes | None, show: Show) -> str:
    if content is None:
        return ""
    if show is not _text:
        return show(content)
    try:
        return _quoted(content.decode("utf-8"))
    except UnicodeDecodeError:
        return _quoted(_text(content))


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'
