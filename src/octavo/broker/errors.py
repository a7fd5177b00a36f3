"""Errors as sent to clients: a code, and a sentence."""

from __future__ import annotations

import logging

from octavo.coordinator.errors import RequestError as RequestError
from octavo.errors import ConfigError, CorruptionError, KafkaError
from octavo.format.messages.schema import Row
from octavo.format.protocol.error_codes import ErrorCode

_MOST_CHARACTERS = 8000  # a string has at most 32,767 bytes, and a character up to four
_log = logging.getLogger(__name__)


def code_of(error: Exception) -> int:
    """The code that Kafka would answer with. An unforeseen error is logged, and becomes UNKNOWN_SERVER_ERROR."""
    if isinstance(error, RequestError | KafkaError):
        return int(error.code)
    if isinstance(error, ConfigError):
        return ErrorCode.INVALID_CONFIG
    if isinstance(error, CorruptionError):
        return ErrorCode.KAFKA_STORAGE_ERROR
    _log.error("a request failed", exc_info=error)
    return ErrorCode.UNKNOWN_SERVER_ERROR


def producer_error(error: ErrorCode, *, knows_fenced: bool) -> ErrorCode:
    """The error as a producer understands it: old producers do not know PRODUCER_FENCED."""
    if error is ErrorCode.PRODUCER_FENCED and not knows_fenced:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return error


def error_fields(error: Exception) -> Row:
    """An error as the fields errorCode and errorMessage of a response."""
    sentence = error.problem if isinstance(error, RequestError) else str(error)
    return {"errorCode": code_of(error), "errorMessage": sentence and sentence[:_MOST_CHARACTERS]}
