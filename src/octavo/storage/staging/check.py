"""Checks a commit before it is decided: topics must accept the staged batches, and the files must exist."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from octavo.config import LogConfig
from octavo.errors import InvalidBatchError, InvalidTimestampError, RecordTooLargeError, StagedFileLostError
from octavo.format.compression import CODECS, Codec
from octavo.format.record import TimestampType
from octavo.storage.log.validation_settings import ValidationSettings
from octavo.storage.staging.bring_in import find
from octavo.storage.staging.stage import StagedPart
from octavo.system.filesystem import FileSystem


def check_batches(staged: StagedPart, config: LogConfig, now_ms: int) -> None:
    """Refuse batches that break the topic's configs, or that an append would have to compress again."""
    facts, settings, name = staged.facts, ValidationSettings.of(config), staged.topic_partition
    if facts.largest_batch > config.max_message_bytes:
        expected = f"expected at most max.message.bytes, {config.max_message_bytes}"
        raise RecordTooLargeError(f"{name}: a batch of {facts.largest_batch} bytes, {expected}")
    if facts.has_null_keys and settings.is_compacted:
        raise InvalidBatchError(f"{name}: records without a key, which a compacted topic does not accept")
    if settings.codec is not None and settings.codec != facts.codec:
        expected = f"expected the topic's compression.type, {config.compression_type}"
        found = f"batches staged with codec {CODECS[Codec(facts.codec)].name}"
        raise InvalidBatchError(f"{name}: {found}, {expected}; write them again if it was changed meanwhile")
    first, last = now_ms - settings.timestamp_before_max_ms, now_ms + settings.timestamp_after_max_ms
    keeps_time = settings.timestamp_type is TimestampType.CREATE_TIME
    if keeps_time and not first <= facts.min_timestamp <= facts.max_timestamp <= last:
        found = f"timestamps from {facts.min_timestamp} to {facts.max_timestamp}"
        limits = "message.timestamp.before.max.ms and message.timestamp.after.max.ms"
        raise InvalidTimestampError(f"{name}: {found}, expected {first} to {last}, as {limits} say")


def check_presence(staged: StagedPart, filesystem: FileSystem, folders: Sequence[Path]) -> None:
    """Refuse a staged file that is missing or whose size has changed since its task finished."""
    path = find(filesystem, staged.name, folders)
    size = None if path is None else filesystem.size(path)
    if size != staged.facts.size:
        found = "no such file" if size is None else f"{size} bytes"
        expected = f"expected {staged.facts.size} staged bytes; write the batch again"
        raise StagedFileLostError(f"{folders[0] / staged.name}: {found}, {expected}")
