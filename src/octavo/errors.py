"""The errors that Octavo raises on purpose, under one root."""

from __future__ import annotations

from typing import ClassVar


class OctavoError(Exception):
    """The root: `except OctavoError` catches whatever this library raises on purpose."""


class CorruptionError(OctavoError):
    """Bytes that are not what Kafka writes.

    Every decoder accepts its input or raises this error. `position` is the byte where the problem was seen,
    counted from the start of the buffer that the decoder was given (or of the file, once `path` is set).
    """

    def __init__(self, problem: str, *, position: int | None = None, path: str | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.position = position
        self.path = path

    def at(self, *, position: int | None = None, path: str | None = None) -> CorruptionError:
        """The same error with its place, as an outer layer knows it."""
        self.position = self.position if position is None else position
        self.path = self.path if path is None else path
        return self

    def __str__(self) -> str:
        place = [f"position {self.position}"] if self.position is not None else []
        place = [self.path, *place] if self.path is not None else place
        return f"{', '.join(place)}: {self.problem}" if place else self.problem


class CorruptRecordError(CorruptionError):
    """A batch or message whose length or checksum is wrong (Kafka's CorruptRecordException)."""


class InvalidRecordError(CorruptionError):
    """A batch whose checksum may be right but whose records break the format (Kafka's InvalidRecordException)."""


class DecompressionLimitError(CorruptionError):
    """A compressed batch that would unpack to more bytes than the caller allows."""


class EncodingError(OctavoError, ValueError):
    """Values that the format cannot hold: nothing was written."""


class UnsupportedCompressionTypeError(EncodingError):
    """A codec that the wanted magic does not know (Kafka's UnsupportedCompressionTypeException)."""


class ScanError(OctavoError):
    """What was asked for cannot be read: no such place, topic or partition, or it went away while it was read."""


class ConfigError(OctavoError, ValueError):
    """A config that Kafka does not know, or a value that it may not have."""


class AppendRejected(OctavoError):
    """Batches that Kafka would not append either, for a reason that its clients know: nothing was written."""

    kafka_name: ClassVar[str]
    code: ClassVar[int]


class OutOfOrderSequenceError(AppendRejected):
    """A producer's batch that does not follow its last one."""

    kafka_name = "OUT_OF_ORDER_SEQUENCE_NUMBER"
    code = 45


class InvalidProducerEpochError(AppendRejected):
    """A batch or marker of an epoch that the producer has left behind."""

    kafka_name = "INVALID_PRODUCER_EPOCH"
    code = 47


class InvalidTxnStateError(AppendRejected):
    """A batch outside the transaction that its producer has open, or that it would have to begin first."""

    kafka_name = "INVALID_TXN_STATE"
    code = 48


class TransactionCoordinatorFencedError(AppendRejected):
    """A marker of a transaction coordinator that another one has replaced."""

    kafka_name = "TRANSACTION_COORDINATOR_FENCED"
    code = 52
