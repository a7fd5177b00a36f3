"""What was acknowledged: the lines that a worker reports, and what they promise."""

from __future__ import annotations

import json
import os
import threading
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

Line = list[Any]
Place = tuple[int, int]  # partition, offset
TopicState = list[int] | None  # partitions, segment.bytes


class Journal:
    """Writes lines to a pipe, in one order for all threads; a kill leaves whole lines and part of the last."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = threading.Lock()

    def say(self, *words: object) -> None:
        data = json.dumps(words).encode() + b"\n"
        with self._lock:
            while data:
                data = data[os.write(self._descriptor, data) :]


class Memory(Journal):
    """Keeps the lines in this process."""

    def __init__(self) -> None:
        self.lines: list[Line] = []

    def say(self, *words: object) -> None:
        self.lines.append(list(words))


def flushed(lines: list[Line]) -> list[Line]:
    """The lines before the last completed flush: what they promise survives a power loss.

    A record acknowledged before the flush began is synced by it; one acknowledged during the flush may not be.
    """
    returned = {number for kind, number, *_ in lines if kind == "flushed"}
    begun = [index for index, (kind, number, *_) in enumerate(lines) if kind == "flushing" and number in returned]
    return lines[: begun[-1]] if begun else []


@dataclass
class Promises:
    """What the lines promise in total."""

    places: dict[str, dict[Place, str]] = field(default_factory=lambda: defaultdict(dict))  # topic, place, record's id
    tables: list[tuple[set[str], list[tuple[int, int, int]]]] = field(default_factory=list)
    transactions: dict[str, tuple[str, int]] = field(default_factory=dict)  # begin, commit or abort; records
    offsets: dict[tuple[str, int], int] = field(default_factory=dict)  # by group and partition
    keys: dict[str, tuple[int, str | None]] = field(default_factory=dict)  # offset, id or None for a tombstone
    dying: set[str] = field(default_factory=set)  # keys for which a tombstone may have been sent since
    trimmed: int = 0  # the offset up to which delete_records may have shortened `retained`
    topics: dict[str, TopicState] = field(default_factory=dict)
    wishes: dict[str, list[TopicState]] = field(default_factory=dict)  # what unfinished changes were to lead to
    errors: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, lines: Iterable[Line]) -> Promises:
        made = cls()
        for kind, *words in lines:
            getattr(made, f"_{kind}", lambda *_: None)(*words)
        return made

    @property
    def records(self) -> int:
        """How many records were acknowledged, without those of the topic `compacted`."""
        sent = sum(map(len, self.places.values())) + sum(len(ids) for ids, _ in self.tables)
        return sent + sum(count for state, count in self.transactions.values() if state == "commit")

    def _sent(self, topic: str, records: list[tuple[int, int, str]]) -> None:
        self.places[topic] |= {(partition, offset): identity for partition, offset, identity in records}

    def _appended(self, identities: list[str], runs: list[tuple[int, int, int]]) -> None:
        self.tables.append((set(identities), runs))

    def _begin(self, name: str, count: int) -> None:
        self.transactions[name] = ("begin", count)

    def _commit(self, name: str) -> None:
        self.transactions[name] = ("commit", self.transactions[name][1])

    def _abort(self, name: str) -> None:
        self.transactions[name] = ("abort", self.transactions[name][1])

    def _committed(self, group: str, partition: int, offset: int) -> None:
        self.offsets[group, partition] = offset

    def _dying(self, key: str) -> None:
        self.dying.add(key)

    def _key(self, key: str, offset: int, identity: str | None) -> None:
        self.keys[key] = (offset, identity)
        self.dying.discard(key)

    def _trim(self, offset: int) -> None:
        self.trimmed = max(self.trimmed, offset)

    def _wish(self, topic: str, state: TopicState) -> None:
        self.wishes.setdefault(topic, []).append(state)

    def _done(self, topic: str, state: TopicState) -> None:
        self.wishes.pop(topic, None)
        self.topics[topic] = state

    def _error(self, problem: str) -> None:
        self.errors.append(problem)
