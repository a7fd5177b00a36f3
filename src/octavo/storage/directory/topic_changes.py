"""Creates and deletes the partitions of topics. A change is recorded first, so that a crash leaves no topic half
done."""

from __future__ import annotations

import logging
import secrets
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

from octavo.errors import KafkaStorageError, LogDirError, OctavoError
from octavo.format.names import TOPIC_STORE, FolderState, PartitionFolder, TopicPartition
from octavo.storage.directory.log_root import LogRoot
from octavo.storage.directory.log_roots import replace_in_live
from octavo.storage.directory.open_logs import OpenLogs
from octavo.storage.directory.partition_opener import PartitionOpener
from octavo.storage.environment import Environment
from octavo.storage.partition_log import PartitionLog
from octavo.storage.segment.delete import remove_folder
from octavo.storage.topics.topic_configs import TopicConfigs
from octavo.storage.topics.topic_store import Change, PendingChange, StoredTopic, encode
from octavo.system.shown import count

_log = logging.getLogger(__name__)

Made = dict[TopicPartition, tuple[LogRoot, PartitionLog]]


class TopicChanges:
    """Carries out changes that were checked before; the caller holds the lock of `OpenLogs`.

    A change is recorded in the octavo-topics.json of every directory in use, with its partitions and the directories in
    which it began. When directories are opened, `complete` completes the recorded changes:

    - A creation, once all those directories are open: an absent one may hold partitions of the topic, which would be
      created a second time. Until then the topic stays as it is, and `TopicAdmin.check_complete` says what to do.
    - A deletion, in every open directory. Folders with another topic id are not touched: they belong to a new topic of
      the same name. The record stays until all those directories are open together, since one may have missed the
      deletion.
    - Neither, if the selection leaves out some of the partitions.
    """

    def __init__(
        self, logs: OpenLogs, opener: PartitionOpener, environment: Environment, configs: TopicConfigs
    ) -> None:
        self._logs = logs
        self._opener = opener
        self._environment = environment
        self._files = environment.filesystem
        self._configs = configs

    def add(self, topic: str, topic_partitions: Sequence[TopicPartition], wanted: StoredTopic) -> None:
        """Create partitions of a topic; `wanted` is what is stored for the topic afterwards.

        1. Store `wanted` with a pending creation. 2. Make the folders. 3. Sync their names. 4. Show the partitions. 5.
        Store `wanted` alone. A crash in 1 or 5 leaves the record of the pending creation in some directories or none, a
        crash in 2 to 4 in all of them. If there is one, `complete` resumes at 2; but if a directory has stored the
        topic without it, `complete` stores that version everywhere. An error in 1 to 3 undoes the change: the folders
        are renamed to `-delete`, then what was stored before is stored again; if that fails, `complete` creates the
        whole topic.
        """
        before, made = self._configs.stored.get(topic), Made()
        numbers = tuple(topic_partition.partition for topic_partition in topic_partitions)
        noted = replace(wanted, pending=PendingChange(Change.CREATE, numbers, self._directories(self._logs.live_roots)))
        if topic not in self._logs.topics():
            self._configs.store(topic, wanted)  # the new logs read their configs there
        try:
            self._write({**self._configs.stored, topic: noted})
            self._make(topic_partitions, wanted.topic_id, made)
        except BaseException:
            self._configs.store(topic, noted)
            with suppress(OctavoError, OSError):
                self._undo(topic_partitions, made)
                self.store({topic: before})
            raise
        self._logs.show(made)
        self.store({topic: wanted})

    def remove(self, known: Mapping[str, StoredTopic]) -> None:
        """Delete topics; a step writes each file only once for all of them.

        `known` is what is stored for each topic; for one that has no entry, what would be stored.

        1. Store `known` with pending deletions. 2. Hide the partitions. 3. Rename their folders to `-delete`; they are
        removed later. 4. Store only the other topics. 5. Write the checkpoints without the deleted ones. A crash in
        1 or 4 leaves the record of the deletion in some directories or none, a crash in 2 or 3 in all of them: if there
        is one, `complete` resumes at 2. Partitions that could not be renamed are shown again; their deletion can be
        tried again. If no partition of a topic was renamed, its record is removed too, so that a topic still in use
        does not disappear at the next open.
        """
        found = {topic: self._place(topic) for topic in known}
        logs = {topic_partition: place for own in found.values() for topic_partition, place in own.items()}
        before = {topic: self._configs.stored.get(topic) for topic in known}
        try:
            self.store(
                {topic: replace(stored, pending=self._deletion(found[topic])) for topic, stored in known.items()}
            )
            self._rename_out(logs)
        except BaseException:
            renamed = {
                topic_partition.topic
                for topic_partition, (root, _) in logs.items()
                if not self._files.exists(root.path / str(topic_partition))
            }
            with suppress(OctavoError, OSError):
                self.store({topic: stored for topic, stored in before.items() if topic not in renamed})
            raise
        self.store(dict.fromkeys(known))
        for root in dict.fromkeys(root for root, _ in logs.values()):
            with root.using():
                root.checkpoints.forget_cleaner_offsets(logs)
                root.checkpoints.write(self._logs.of(root))

    def _place(self, topic: str) -> Made:
        return {
            topic_partition: (self._logs.root_of(topic_partition), self._logs.log(topic_partition))
            for topic_partition in self._logs.partitions(topic)
        }

    def _deletion(self, logs: Made) -> PendingChange:
        roots = list(dict.fromkeys(root for root, _ in logs.values()))
        numbers = tuple(topic_partition.partition for topic_partition in logs)
        return PendingChange(Change.DELETE, numbers, self._directories(roots))

    def store(self, topics: Mapping[str, StoredTopic | None]) -> None:
        """Store what is known about topics (None: it was deleted) in every directory in use."""
        for topic, stored in topics.items():
            if stored is None:
                self._configs.forget(topic)
            else:
                self._configs.store(topic, stored)
        self._write(self._configs.stored)

    def complete(self) -> None:
        """Complete the changes that a crash interrupted; warn about those that cannot be completed, and keep their
        record."""
        for (topic, _), stored in sorted(self._configs.interrupted.items()):
            assert stored.pending is not None
            complete = self._complete_creation if stored.pending.change is Change.CREATE else self._complete_deletion
            try:
                complete(topic, stored, stored.pending)
            except OctavoError as error:
                noun = stored.pending.change.noun
                _log.warning("topic %s: its %s was interrupted and cannot be completed yet: %s", topic, noun, error)

    def _complete_creation(self, topic: str, stored: StoredTopic, pending: PendingChange) -> None:
        current = self._configs.stored.get(topic)
        topic_partitions = [TopicPartition(topic, partition) for partition in pending.partitions]
        if not self._is_selected(topic_partitions):
            return
        if any(log.topic_id not in (None, stored.topic_id) for log in self._open(topic).values()):
            current = None if current is stored else current
        elif current is stored:
            if not self._are_open(pending.directories):
                raise LogDirError("not all log directories in which it began are open; open them together")
            made, there = Made(), self._logs.known_partitions
            missing = [topic_partition for topic_partition in topic_partitions if topic_partition not in there]
            try:
                self._make(missing, stored.topic_id, made)
            finally:
                self._logs.show(made)
            current = replace(stored, pending=None)
            made_now = count(len(missing), "partition")
            _log.warning("topic %s: its creation was interrupted; created %s on opening", topic, made_now)
        self.store({topic: current})  # `current` may be another directory's version, completed long ago

    def _complete_deletion(self, topic: str, stored: StoredTopic, pending: PendingChange) -> None:
        known = [topic_partition for topic_partition in self._logs.known_partitions if topic_partition.topic == topic]
        if not self._is_selected(known):
            return
        own = {
            topic_partition: (self._logs.root_of(topic_partition), log)
            for topic_partition, log in self._open(topic).items()
            if log.topic_id in (None, stored.topic_id)
        }
        self._rename_out(own)
        if self._are_open(pending.directories) and not self._logs.unreadable:
            current = self._configs.stored.get(topic)
            self.store({topic: current if current and current.topic_id != stored.topic_id else None})
        if own:
            deleted = count(len(own), "partition")
            _log.warning("topic %s: its deletion was interrupted; deleted %s on opening", topic, deleted)

    def _make(self, topic_partitions: Sequence[TopicPartition], topic_id: bytes, made: Made) -> None:
        """Create partitions and sync their names; adds each one to `made`."""
        for topic_partition in topic_partitions:
            made[topic_partition] = self._make_one(topic_partition, topic_id)
        for root in dict.fromkeys(root for root, _ in made.values()):
            with root.using():
                self._files.fsync_folder(root.path)

    def _make_one(self, topic_partition: TopicPartition, topic_id: bytes) -> tuple[LogRoot, PartitionLog]:
        """Create a partition in the directory that `OpenLogs.place` chooses; if its disk fails, in the next one."""
        while True:
            root = self._logs.place(topic_partition)
            root.partitions.add(topic_partition)
            try:
                return root, self._opener.create(topic_partition, root, topic_id)
            except BaseException as error:
                root.partitions.discard(topic_partition)
                if root.failure is None or not isinstance(error, KafkaStorageError):
                    raise
                # A full disk may hold the folder already; the partition would then exist in two directories.
                with suppress(OSError):
                    if self._files.exists(root.path / str(topic_partition)):
                        self._files.rename(root.path / str(topic_partition), root.path / _deleted_name(topic_partition))

    def _undo(self, topic_partitions: Sequence[TopicPartition], made: Made) -> None:
        """Rename the folders of partitions that were just created, completely or partly."""
        for _, log in made.values():
            log.abandon("its topic could not be created")
        for root in self._logs.live_roots:
            with root.using():
                for topic_partition in topic_partitions:
                    folder, target = root.path / str(topic_partition), root.path / _deleted_name(topic_partition)
                    root.partitions.discard(topic_partition)
                    if self._files.exists(folder):
                        self._files.rename(folder, target)
                        self._schedule(partial(remove_folder, self._files, target))
                self._files.fsync_folder(root.path)

    def _rename_out(self, logs: Made) -> None:
        """Hide partitions, rename as many of their folders as possible, sync the names, and only then raise the first
        error. The renamed folders are removed later."""
        self._logs.hide(logs)
        staying, failures = dict(logs), list[KafkaStorageError]()
        try:
            for topic_partition, (_, log) in logs.items():
                try:
                    log.rename_for_deletion(_deleted_name(topic_partition))
                except KafkaStorageError as error:
                    failures.append(error)
                    continue
                del staying[topic_partition]
                self._logs.remove(topic_partition)
                self._schedule(log.delete)
        finally:
            there = {
                topic_partition: found
                for topic_partition, found in staying.items()
                if self._files.exists(found[0].path / str(topic_partition))
            }
            self._logs.show(there)  # an interrupt may have come just after a rename
        for root in dict.fromkeys(
            root for topic_partition, (root, _) in logs.items() if topic_partition not in staying
        ):
            with root.using():
                self._files.fsync_folder(root.path)
        if failures:
            raise failures[0]

    def _schedule(self, run: Callable[[], None]) -> None:
        delay_ms = self._configs.defaults.file_delete_delay_ms
        self._environment.scheduler.schedule("delete-log", run, delay_ms=delay_ms)

    def _open(self, topic: str) -> dict[TopicPartition, PartitionLog]:
        return {
            topic_partition: log for topic_partition, log in self._logs.logs.items() if topic_partition.topic == topic
        }

    def _is_selected(self, topic_partitions: Sequence[TopicPartition]) -> bool:
        return all(
            topic_partition in root.selection for root in self._logs.roots for topic_partition in topic_partitions
        )

    def _are_open(self, directories: Sequence[bytes | None]) -> bool:
        return Counter(directories) <= Counter(self._directories(self._logs.live_roots))

    def _directories(self, roots: Sequence[LogRoot]) -> tuple[bytes | None, ...]:
        return tuple(root.directory_id for root in roots)

    def _write(self, topics: Mapping[str, StoredTopic]) -> None:
        """Write the file of every directory in use."""
        if not replace_in_live(self._logs.roots, TOPIC_STORE, encode(topics)):
            raise KafkaStorageError("all log directories are offline: the change to a topic cannot be stored")


def _deleted_name(topic_partition: TopicPartition) -> str:
    return PartitionFolder(*topic_partition, FolderState.DELETE, secrets.token_hex(16)).name
