"""Every schema compared with Kafka 4.3.1: its definitions, the bytes of its generated classes, the JSON of its
converters."""

from __future__ import annotations

from collections import Counter
from functools import cache
from random import Random
from types import ModuleType
from typing import Any

import pytest

from octavo.errors import CorruptionError
from octavo.format.messages.cluster_metadata import METADATA_TYPES
from octavo.format.messages.codec import decode, decode_prefix, encode
from octavo.format.messages.json_form import json_text, json_value
from octavo.format.messages.schema import Array, Field, MessageSchema, Struct, Type
from tests.format.messages.random_rows import random_row
from tests.format.messages.tables import COORDINATOR_TOPICS, MESSAGES
from tests.interop.broker import KAFKA_VERSION
from tests.interop.definitions import Definition, definitions
from tests.interop.jars import kafka_jars

pytestmark = pytest.mark.kafka

SAMPLES = 6
MUTATIONS = 40


@cache
def kafka_definitions() -> tuple[Definition, ...]:
    return tuple(definitions(kafka_jars(KAFKA_VERSION)))


def effective(fields: tuple[Field, ...], message: MessageSchema) -> list[Any]:
    """What the fields mean in each valid version: two spellings of one schema give the same."""
    return [
        (
            part.name,
            _type(part.type, message),
            [
                (
                    version in part.versions,
                    version in part.nullable and version in part.versions,
                    part.tag if version in part.tagged else None,
                    version in (message.flexible if part.flexible is None else part.flexible),
                )
                for version in message.versions
            ],
            part.ignorable,
            part.default(),
        )
        for part in fields
    ]


def _type(kind: Type, message: MessageSchema) -> Any:
    if isinstance(kind, Array):
        return ["array", _type(kind.element, message)]
    return [kind.name, effective(kind.fields, message)] if isinstance(kind, Struct) else kind.name


def test_tables_are_kafkas_definitions() -> None:
    known = {definition.message.name: definition.message for definition in kafka_definitions()}
    for message in MESSAGES:
        theirs = known[message.name]
        assert message.versions == theirs.versions, message.name
        assert [version in message.flexible for version in message.versions] == [
            version in theirs.flexible for version in theirs.versions
        ], message.name
        assert effective(message.fields, message) == effective(theirs.fields, theirs), message.name


def test_tables_are_complete() -> None:
    for name, types in COORDINATOR_TOPICS.items():
        found = {
            (definition.api_key, definition.message.name)
            for definition in kafka_definitions()
            if definition.jar == f"kafka-{name}-coordinator"
        }
        assert found == {(kind.id, part.name) for kind in types.values() for part in (kind.key, kind.value)}
    found = {
        (definition.api_key, definition.message.name)
        for definition in kafka_definitions()
        if definition.jar == "kafka-metadata"
    }
    assert found == {(kind.id, kind.message.name) for kind in METADATA_TYPES.values()}


def test_type_names_are_kafkas(jvm: ModuleType) -> None:
    for name, types in COORDINATOR_TOPICS.items():
        theirs = jvm.JClass(f"org.apache.kafka.coordinator.{name}.generated.CoordinatorRecordType")
        assert {kind.id: kind.name for kind in types.values()} == {int(t.id()): str(t.name()) for t in theirs.values()}
    theirs = jvm.JClass("org.apache.kafka.common.metadata.MetadataRecordType")
    assert {kind.id: kind.name for kind in METADATA_TYPES.values()} == {
        int(t.id()): str(t.name()) for t in theirs.values()
    }


class JavaSide:
    """One generated class and its converter, spoken to in bytes and text."""

    def __init__(self, jvm: ModuleType, java_class: str) -> None:
        self._jvm = jvm
        self._class = jvm.JClass(java_class)
        self._converter = jvm.JClass(f"{java_class}JsonConverter")
        self._accessor = jvm.JClass("org.apache.kafka.common.protocol.ByteBufferAccessor")
        self._message_util = jvm.JClass("org.apache.kafka.common.protocol.MessageUtil")

    def read(self, version: int, encoded: bytes) -> tuple[bytes, str, int]:
        """The message written again, as JSON, and how many bytes it left unread."""
        buffer = self._jvm.JClass("java.nio.ByteBuffer").wrap(self._jvm.JArray(self._jvm.JByte)(encoded))
        short = self._jvm.JShort(version)
        message = self._class(self._accessor(buffer), short)
        written = bytes(self._message_util.toByteBufferAccessor(message, short).buffer().array())
        return written, str(self._converter.write(message, short, False).toString()), int(buffer.remaining())


@pytest.mark.parametrize(
    ("jar", "messages"), [("coordinator", 50), ("kafka-metadata", 26), ("kafka-raft", 1), ("kafka-clients", 190)]
)
def test_bytes_and_json_are_kafkas(jvm: ModuleType, jar: str, messages: int) -> None:
    """Also for the whole wire protocol; a schema that Octavo does not have is taken from Kafka's definitions."""
    compared = 0
    for definition in kafka_definitions():
        if jar not in definition.jar:
            continue
        ours = _ours(definition)
        java = JavaSide(jvm, definition.java_class)
        random = Random(ours.name)
        for version in ours.versions:
            for _ in range(SAMPLES):
                encoded = encode(ours, version, random_row(random, ours, version, unknown_tags=True))
                decoded = decode(ours, version, encoded)
                assert encode(ours, version, decoded) == encoded
                printed = json_text(json_value(ours, version, decoded))
                assert java.read(version, encoded) == (encoded, printed, 0), f"{ours} v{version} {encoded.hex()}"
        compared += 1
    assert compared == messages


def test_what_is_read_from_damaged_bytes_is_what_kafka_reads(jvm: ModuleType) -> None:
    """Where Kafka guesses (a string that is not UTF-8, a length below -1) the bytes are refused instead."""
    outcomes: Counter[str] = Counter()
    for definition in kafka_definitions():
        if definition.jar == "kafka-clients" or definition.message.name == "ClientQuotaRecord":
            continue  # the wire protocol is compared above; a quota is a double: Java before 19 prints too many digits
        ours = _ours(definition)
        java = JavaSide(jvm, definition.java_class)
        random = Random(ours.name)
        for version in ours.versions:
            for _ in range(MUTATIONS):
                damaged = bytearray(encode(ours, version, random_row(random, ours, version)))
                if not damaged:
                    continue
                damaged[random.randrange(len(damaged))] = random.choice([0, 1, 2, 127, 128, 255, random.randrange(256)])
                outcomes["all"] += 1
                try:
                    decoded, end = decode_prefix(ours, version, damaged)
                except CorruptionError:
                    continue
                outcomes["accepted"] += 1
                printed = json_text(json_value(ours, version, decoded))
                expected = (encode(ours, version, decoded), printed, len(damaged) - end)
                assert java.read(version, bytes(damaged)) == expected, f"{ours} v{version} {damaged.hex()}"
    assert 0.2 < outcomes["accepted"] / outcomes["all"] < 0.95


def _ours(definition: Definition) -> MessageSchema:
    return next((message for message in MESSAGES if message.name == definition.message.name), definition.message)
