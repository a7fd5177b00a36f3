"""One case of append validation: a set, a topic's configs, an origin, and what real Kafka answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from octavo.config import LogConfig
from octavo.format.batches.walker import walk
from octavo.format.compression import Codec
from octavo.kernels import layout
from octavo.storage.append_origin import AppendOrigin
from octavo.storage.log.validation_settings import ValidationSettings

FIRST_OFFSET = 7000
LEADER_EPOCH = 12
DEFAULTS: Mapping[str, str] = MappingProxyType({})

INVALID = "InvalidRecordException"
TIMESTAMP = "InvalidTimestampException"
CORRUPT = "CorruptRecordException"
# What Kafka does not foresee: its clients get UNKNOWN_SERVER_ERROR.
ILLEGAL = "IllegalArgumentException"
UNSUPPORTED = "UnsupportedOperationException"
BROKEN = "KafkaException"
NULL = "NullPointerException"
UNFORESEEN = {ILLEGAL, UNSUPPORTED, BROKEN, NULL}


class Answer(NamedTuple):
    """What became of a set: the exception's name and the records it blames, or the batches to write."""

    refused: str | None
    at: tuple[int, ...] = ()
    data: bytes = b""
    max_timestamp: int = -1
    next_offset: int = -1
    is_rebuilt: bool = False  # in Kafka's answer: the records' bytes may differ from the producer's


class Row(NamedTuple):
    """A set, and the exception that a client and a coordinator get for it, or None.

    `at` are the records to blame. `ours` is the exception that Octavo raises instead, if any;
    docs/decisions/0006-appends.md says why.
    """

    name: str
    data: bytes
    client: str | None = None
    coordinator: str | None = None
    at: tuple[int, ...] = ()
    configs: Mapping[str, str] = DEFAULTS
    ours: str | None = None

    def cases(self) -> Iterator[Case]:
        for origin, refused in ((AppendOrigin.CLIENT, self.client), (AppendOrigin.COORDINATOR, self.coordinator)):
            at = self.at if refused else ()
            yield Case(self.name, self.data, origin, self.configs, refused, at, self.ours)


def accepted(name: str, data: bytes, configs: Mapping[str, str] = DEFAULTS, *, ours: str | None = None) -> Row:
    return Row(name, data, configs=configs, ours=ours)


def refused(
    name: str,
    data: bytes,
    exception: str,
    configs: Mapping[str, str] = DEFAULTS,
    *,
    at: tuple[int, ...] = (),
    ours: str | None = None,
) -> Row:
    """A set that is refused, whoever appends it."""
    return Row(name, data, exception, exception, at, configs, ours)


class Case(NamedTuple):
    """One set for one origin."""

    name: str
    data: bytes
    origin: AppendOrigin
    configs: Mapping[str, str] = DEFAULTS
    refused: str | None = None
    at: tuple[int, ...] = ()
    ours: str | None = None

    @property
    def settings(self) -> ValidationSettings:
        return ValidationSettings.of(LogConfig.of(self.configs))

    @property
    def source_codec(self) -> Codec:
        """The codec of the last compressed batch, as the analysis of an append finds it."""
        codecs = [int(row["attributes"]) & layout.CODEC_MASK for row in walk(self.data).table]
        return Codec(next((codec for codec in reversed(codecs) if codec), Codec.NONE))

    @property
    def our_refusal(self) -> str | None:
        """Kafka's name for the exception that Octavo raises."""
        if self.ours is not None:
            return self.ours
        return "UnknownServerException" if self.refused in UNFORESEEN else self.refused

    def __str__(self) -> str:
        return f"{self.origin.name.lower()}: {self.name}"
