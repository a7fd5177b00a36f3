"""Octavo's own file in a log directory's root, for what brokers keep about topics in their metadata.

It holds ids, configs, the total number of partitions of each topic across all directories, and a change in progress.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from octavo.errors import CorruptionError
from octavo.format import kafka_uuid
from octavo.format.names import TOPIC_STORE, topic_problem
from octavo.format.small_files.json_object import decode_object, encode_object
from octavo.kernels.integers import INT32_MAX
from octavo.storage.files.small_file import read_file
from octavo.system.filesystem import FilesToRead

VERSION = 0


class Change(StrEnum):
    """What is happening to a topic's partitions."""

    CREATE = "create"
    DELETE = "delete"

    @property
    def noun(self) -> str:
        return "creation" if self is Change.CREATE else "deletion"


@dataclass(frozen=True, slots=True)
class PendingChange:
    """A change that has begun: the partitions it creates or deletes, and the directories in which it began.

    Directories are named by their directory.id, which is None for directories of brokers before 3.7.
    """

    change: Change
    partitions: tuple[int, ...]
    directories: tuple[bytes | None, ...]


@dataclass(slots=True)
class StoredTopic:
    """What is known about a topic. A config of None was reset to its default.

    `partitions` is None if their number is unknown: there may be more on another broker's disks.
    """

    topic_id: bytes
    configs: dict[str, str | None] = field(default_factory=dict)
    partitions: int | None = None
    pending: PendingChange | None = None


def read_topics(filesystem: FilesToRead, root: Path) -> dict[str, StoredTopic]:
    """The topics in the file; empty if there is no file. Raises if the file cannot be understood."""
    return read_file(filesystem, root / TOPIC_STORE, decode) or {}


def decode(data: bytes) -> dict[str, StoredTopic]:
    """Decode the topics from the file's bytes."""
    content = decode_object(data, VERSION)
    topics = content.get("topics")
    if not isinstance(topics, dict):
        raise CorruptionError('expected an object under "topics"')
    return {name: _topic(name, fields) for name, fields in topics.items()}


def encode(topics: Mapping[str, StoredTopic]) -> bytes:
    """Encode the topics, in order, as the file's bytes."""
    rows = {name: _fields(topic) for name, topic in sorted(topics.items())}
    return encode_object({"version": VERSION, "topics": rows})


def _fields(topic: StoredTopic) -> dict[str, object]:
    total = {} if topic.partitions is None else {"partitions": topic.partitions}
    return {
        "topicId": kafka_uuid.to_text(topic.topic_id),
        **total,
        "configs": dict(sorted(topic.configs.items())),
        **({} if topic.pending is None else _pending_fields(topic.pending)),
    }


def _pending_fields(pending: PendingChange) -> dict[str, object]:
    return {
        "pending": pending.change,
        "pendingPartitions": list(pending.partitions),
        "pendingDirectories": [None if uuid is None else kafka_uuid.to_text(uuid) for uuid in pending.directories],
    }


def _topic(name: str, fields: object) -> StoredTopic:
    if (problem := topic_problem(name)) is not None:
        raise CorruptionError(f"topic name is invalid: {problem}")
    if not isinstance(fields, dict):
        raise CorruptionError(f"topic {name}: expected an object")
    topic_id, configs = fields.get("topicId"), fields.get("configs")
    if not isinstance(topic_id, str) or not isinstance(configs, dict):
        raise CorruptionError(f'topic {name}: expected text under "topicId" and an object under "configs"')
    if not all(value is None or isinstance(value, str) for value in configs.values()):
        raise CorruptionError(f"topic {name}: expected configs that are text or null")
    partitions = fields.get("partitions")
    if partitions is not None and (type(partitions) is not int or not 1 <= partitions <= INT32_MAX):
        raise CorruptionError(f'topic {name}: expected a number of at least 1 under "partitions"')
    return StoredTopic(kafka_uuid.from_text(topic_id), configs, partitions, _pending(name, fields))


def _pending(name: str, fields: Mapping[str, object]) -> PendingChange | None:
    change = fields.get("pending")
    if change is None:
        return None
    if not isinstance(change, str) or change not in list(Change):
        raise CorruptionError(f'topic {name}: expected "create" or "delete" under "pending"')
    partitions, directories = fields.get("pendingPartitions", []), fields.get("pendingDirectories", [])
    if not isinstance(partitions, list) or not all(type(n) is int and 0 <= n <= INT32_MAX for n in partitions):
        raise CorruptionError(f'topic {name}: expected a list of partitions under "pendingPartitions"')
    if not isinstance(directories, list) or not all(uuid is None or isinstance(uuid, str) for uuid in directories):
        raise CorruptionError(f'topic {name}: expected a list of directory ids under "pendingDirectories"')
    ids = tuple(None if uuid is None else kafka_uuid.from_text(uuid) for uuid in directories)
    return PendingChange(Change(change), tuple(sorted(partitions)), ids)
