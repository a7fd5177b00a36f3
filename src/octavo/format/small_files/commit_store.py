"""`octavo-commits.json` in a log directory's root: which commits to many partitions are done, and which one is
pending."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeVar

from octavo.errors import CorruptionError
from octavo.format import kafka_uuid
from octavo.format.java.text import shortened
from octavo.format.names import StagedFile, TopicPartition, topic_problem
from octavo.format.small_files.json_object import decode_object, encode_object
from octavo.kernels.integers import INT32_MAX, INT64_MAX

VERSION = 0

_KINDS = {dict: "an object", list: "a list", str: "a string", int: "a number", type(None): "nothing"}

_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class PendingFile:
    """A staged file of a commit, in the partition's folder or in the log directory's root."""

    name: str
    size: int
    records: int


@dataclass(frozen=True, slots=True)
class PendingPart:
    """What a commit appends to one partition."""

    topic: str
    partition: int
    start_offset: int  # the log's end before the commit
    files: tuple[PendingFile, ...]

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)

    @property
    def end_offset(self) -> int:
        """The log's end after the commit."""
        return self.start_offset + sum(file.records for file in self.files)


@dataclass(frozen=True, slots=True)
class PendingTopic:
    """A topic to be created."""

    topic: str
    topic_id: bytes
    partitions: tuple[int, ...]
    configs: dict[str, str | None] = field(default_factory=dict)

    def topic_partitions(self) -> list[TopicPartition]:
        return [TopicPartition(self.topic, partition) for partition in self.partitions]


@dataclass(frozen=True, slots=True)
class PendingCommit:
    """A commit that was decided but is not done. The next owner to open all its directories completes or undoes it."""

    writer: str
    batch_id: int | None  # None: a writer that commits only once
    parts: tuple[PendingPart, ...]
    topics: tuple[PendingTopic, ...] = ()  # created first


@dataclass(frozen=True, slots=True)
class CommitStore:
    """The file's content. `done` holds the last batch id of each writer that numbers its batches."""

    done: dict[str, int] = field(default_factory=dict)
    pending: PendingCommit | None = None
    swept_ms: int = 0  # when all folders were last swept for files of dead attempts

    def has_done(self, writer: str, batch_id: int | None) -> bool:
        """Whether a batch was committed before. A writer's batches come in order."""
        return batch_id is not None and self.done.get(writer, -1) >= batch_id

    def start_offsets(self) -> dict[TopicPartition, int]:
        """The end offsets that the pending commit's partitions had before it: a scan sees nothing beyond them."""
        parts = self.pending.parts if self.pending else ()
        return {part.topic_partition: part.start_offset for part in parts}


def encode(store: CommitStore) -> bytes:
    content: dict[str, Any] = {"version": VERSION, "done": dict(sorted(store.done.items())), "sweptMs": store.swept_ms}
    if store.pending is not None:
        parts = [
            {
                "topic": part.topic,
                "partition": part.partition,
                "startOffset": part.start_offset,
                "files": [{"name": file.name, "size": file.size, "records": file.records} for file in part.files],
            }
            for part in store.pending.parts
        ]
        topics = [
            {
                "topic": topic.topic,
                "topicId": kafka_uuid.to_text(topic.topic_id),
                "partitions": list(topic.partitions),
                "configs": dict(sorted(topic.configs.items())),
            }
            for topic in store.pending.topics
        ]
        content["pending"] = {
            "writer": store.pending.writer,
            "batchId": store.pending.batch_id,
            "topics": topics,
            "parts": parts,
        }
    return encode_object(content)


def decode(data: bytes) -> CommitStore:
    content = decode_object(data, VERSION)
    done = {writer: _number(batch_id, f"done.{writer}") for writer, batch_id in _get(dict, content, "done").items()}
    pending = content.get("pending")
    return CommitStore(done, None if pending is None else _pending(pending), _get_number(content, "sweptMs"))


def _pending(value: object) -> PendingCommit:
    fields = _of(dict, value, "pending")
    batch_id = fields.get("batchId")
    parts = tuple(_part(part) for part in _get(list, fields, "parts"))
    topics = tuple(_topic(topic) for topic in _of(list, fields.get("topics", []), "topics"))
    number = None if batch_id is None else _number(batch_id, "batchId")
    return PendingCommit(_get(str, fields, "writer"), number, parts, topics)


def _topic(value: object) -> PendingTopic:
    fields = _of(dict, value, "one of topics")
    configs = _get(dict, fields, "configs")
    if not all(value is None or isinstance(value, str) for value in configs.values()):
        raise CorruptionError("pending topic: expected config values that are text or null")
    partitions = (_number(partition, "one of partitions", INT32_MAX) for partition in _get(list, fields, "partitions"))
    topic_id = kafka_uuid.from_text(_get(str, fields, "topicId"))
    return PendingTopic(_get_topic(fields), topic_id, tuple(partitions), configs)


def _part(value: object) -> PendingPart:
    fields = _of(dict, value, "one of parts")
    files = tuple(_file(file) for file in _get(list, fields, "files"))
    partition = _get_number(fields, "partition", INT32_MAX)
    return PendingPart(_get_topic(fields), partition, _get_number(fields, "startOffset"), files)


def _file(value: object) -> PendingFile:
    fields = _of(dict, value, "one of files")
    name = _get(str, fields, "name")
    # the file is removed after the commit, so a name must not be a path that leads elsewhere
    if StagedFile.parse(name) is None:
        raise CorruptionError(f"expected the name of a staged file, found {shortened(name)}")
    return PendingFile(name, _get_number(fields, "size"), _get_number(fields, "records"))


def _get_topic(fields: dict[str, object]) -> str:
    topic = _get(str, fields, "topic")
    if (problem := topic_problem(topic)) is not None:
        raise CorruptionError(f"topic name is invalid: {problem}")
    return topic


def _get_number(fields: dict[str, object], name: str, most: int = INT64_MAX) -> int:
    return _number(fields.get(name), name, most)


def _number(value: object, name: str, most: int = INT64_MAX) -> int:
    number = _of(int, value, name)
    if isinstance(value, bool) or not 0 <= number <= most:
        raise CorruptionError(f"{name}: expected a number from 0 to {most}, found {shortened(str(value))}")
    return number


def _get(kind: type[_Value], fields: dict[str, object], name: str) -> _Value:
    return _of(kind, fields.get(name), name)


def _of(kind: type[_Value], value: object, name: str) -> _Value:
    if not isinstance(value, kind):
        found = _KINDS.get(type(value), shortened(str(value)))
        raise CorruptionError(f"{name}: expected {_KINDS[kind]}, found {found}")
    return value
