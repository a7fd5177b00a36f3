"""A partition's `partition.metadata`: its topic's id, written once."""

from __future__ import annotations

from pathlib import Path

from octavo.errors import InconsistentTopicIdError
from octavo.format import kafka_uuid
from octavo.format.names import PARTITION_METADATA
from octavo.format.small_files import partition_metadata
from octavo.format.small_files.partition_metadata import PartitionMetadata
from octavo.storage.files.small_file import read_file, replace_file
from octavo.system.filesystem import FileSystem


class TopicIdFile:
    """The topic id stored in the file; None if there is no file, as in directories of brokers before 2.8."""

    def __init__(self, filesystem: FileSystem, folder: Path) -> None:
        self._filesystem = filesystem
        self._path = folder / PARTITION_METADATA
        self.topic_id = self._read()

    def check(self, topic_id: bytes) -> None:
        """Raise if the file holds another topic's id."""
        if self.topic_id is not None and self.topic_id != topic_id:
            found, expected = kafka_uuid.to_text(self.topic_id), kafka_uuid.to_text(topic_id)
            problem = f"its topic id is {found}, expected {expected}: another topic had the same name"
            raise InconsistentTopicIdError(
                f"{self._path.parent}: {problem}; use another log directory, or move this folder away"
            )

    def write(self, topic_id: bytes) -> None:
        """Write the id unless it is already there; refuse a different one."""
        self.check(topic_id)
        if self.topic_id is None:
            replace_file(self._filesystem, self._path, partition_metadata.encode(PartitionMetadata(topic_id)))
            self.topic_id = topic_id

    def _read(self) -> bytes | None:
        found = read_file(self._filesystem, self._path, partition_metadata.decode)
        return None if found is None else found.topic_id
