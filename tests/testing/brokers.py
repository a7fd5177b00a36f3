"""Helpers that several tests of a broker share."""

from __future__ import annotations

from octavo.testing import Kafka


def values(kafka: Kafka, topic: str) -> list[bytes | None]:
    return [record.value for record in kafka.records(topic)]


def address(kafka: Kafka) -> tuple[str, int]:
    host, _, port = kafka.bootstrap_servers.rpartition(":")
    return host, int(port)
