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
    """A commit that was decided but is not done. The next owner to open the directory completes or undoes it."""

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
        """The end offsets that the pending commit's partitions had before it: readers see nothing beyond them."""
        parts = self.pending.parts if self.pending else ()
        return {part.topic_partition: part.start_offset for part in parts}


def encode(store: CommitStore) -> bytes:
    """The file's bytes."""
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
    """Decode the file's bytes."""
    content = decode_object(data, VERSION)
    done = {writer: _number(batch_id) for writer, batch_id in _of(dict, content.get("done")).items()}
    pending = content.get("pending")
    return CommitStore(done, None if pending is None else _pending(pending), _number(content.get("sweptMs")))


def _pending(value: object) -> PendingCommit:
    fields = _of(dict, value)
    batch_id = fields.get("batchId")
    parts = tuple(_part(part) for part in _of(list, fields.get("parts")))
    topics = tuple(_topic(topic) for topic in _of(list, fields.get("topics", [])))
    return PendingCommit(_of(str, fields.get("writer")), None if batch_id is None else _number(batch_id), parts, topics)


def _topic(value: object) -> PendingTopic:
    fields = _of(dict, value)
    configs = _of(dict, fields.get("configs"))
    if not all(value is None or isinstance(value, str) for value in configs.values()):
        raise CorruptionError("pending topic: expected config values that are text or null")
    partitions = tuple(_number(partition, INT32_MAX) for partition in _of(list, fields.get("partitions")))
    topic_id = kafka_uuid.from_text(_of(str, fields.get("topicId")))
    return PendingTopic(_name(fields.get("topic")), topic_id, partitions, configs)


def _part(value: object) -> PendingPart:
    fields = _of(dict, value)
    files = tuple(_file(file) for file in _of(list, fields.get("files")))
    topic, partition = _name(fields.get("topic")), _number(fields.get("partition"), INT32_MAX)
    return PendingPart(topic, partition, _number(fields.get("startOffset")), files)


def _file(value: object) -> PendingFile:
    fields = _of(dict, value)
    name = _of(str, fields.get("name"))
    # the file is removed after the commit, so a name must not be a path that leads elsewhere
    if StagedFile.parse(name) is None:
        raise CorruptionError(f"expected the name of a staged file, found {shortened(name)}")
    return PendingFile(name, _number(fields.get("size")), _number(fields.get("records")))


def _name(value: object) -> str:
    topic = _of(str, value)
    if (problem := topic_problem(topic)) is not None:
        raise CorruptionError(f"topic name is invalid: {problem}")
    return topic


def _number(value: object, most: int = INT64_MAX) -> int:
    number = _of(int, value)
    if isinstance(value, bool) or not 0 <= number <= most:
        raise CorruptionError(f"expected a number from 0 to {most}, found {shortened(str(value))}")
    return number


def _of(kind: type[_Value], value: object) -> _Value:
    if not isinstance(value, kind):
        raise CorruptionError(f"expected {kind.__name__}, found {type(value).__name__}")
    return value
