"""What must hold for a directory after a loss; each sentence that these checks yield is a finding."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import octavo
from octavo.client.log_dir import LogDir
from octavo.errors import ScanError
from octavo.jobs.verify.finding import Severity
from octavo.jobs.verify.job import Verification
from octavo.jobs.verify.plan import plan
from octavo.scanner.reading.plan import IsolationLevel
from octavo.system.runner import InlineRunner
from tests.attack.journal import Place, Promises, TopicState
from tests.attack.works import TRANSACTIONAL_IDS

_MOST = 3  # how many findings of one kind are listed one by one
_COLUMNS = ("partition", "offset", "key", "value")


def problems(root: Path) -> list[str]:
    """The first few problems that verify reports."""
    if not root.exists():
        return []  # the worker was killed before its first topic created the directory
    found = Verification(plan([root]), InlineRunner()).findings()
    lines = [
        f"{one.path}, {one.position}: {one.problem}: {one.detail}" for one in found if one.severity is Severity.PROBLEM
    ]
    return lines[:_MOST]


Row = tuple[int, int, bytes | None, bytes | None]  # partition, offset, key, value


def rows(root: Path, topic: str, isolation_level: IsolationLevel = "read_uncommitted") -> list[Row]:
    try:
        scan = octavo.scan(root, topics=[topic], isolation_level=isolation_level, columns=_COLUMNS)
    except ScanError as error:
        if "no topic" in str(error):
            return []
        raise
    table = scan.to_table()
    return list(zip(*(table[name].to_pylist() for name in _COLUMNS), strict=True))


def values(root: Path, topic: str) -> dict[Place, bytes | None]:
    return {(partition, offset): value for partition, offset, _, value in rows(root, topic)}


def identity(value: bytes | None) -> str | None:
    """The part of a record's value that identifies it."""
    return None if value is None else value.partition(b":")[0].decode()


def check_records(root: Path, promised: Promises) -> Iterator[str]:
    """Every promised record must be in its place, once; offsets must have no gaps."""
    for topic in ("plain", "table", "retained"):
        found = values(root, topic)
        yield from _gaps(topic, found)
        doubled = [name for name, count in Counter(map(identity, found.values())).items() if count > 1]
        if doubled:
            yield f"{topic}: {len(doubled)} records are there more than once: {doubled[:_MOST]}"
        if topic == "table":
            yield from _lost_tables(found, promised)
            continue
        places = promised.places[topic]
        if topic == "retained":
            first = max(promised.trimmed, min((offset for _, offset in found), default=0))
            places = {place: name for place, name in places.items() if place[1] >= first}
        lost = [(place, name) for place, name in places.items() if identity(found.get(place)) != name]
        if lost:
            yield f"{topic}: {len(lost)} of {len(places)} promised records are lost: {lost[:_MOST]}"


def _gaps(topic: str, found: dict[Place, bytes | None]) -> Iterator[str]:
    offsets: dict[int, list[int]] = defaultdict(list)
    for partition, offset in found:
        offsets[partition].append(offset)
    for partition, there in offsets.items():
        start = min(there) if topic == "retained" else 0
        if there != list(range(start, start + len(there))):
            yield f"{topic}-{partition}: offsets with gaps: {len(there)} from {there[0]} to {there[-1]}"


def _lost_tables(found: dict[Place, bytes | None], promised: Promises) -> Iterator[str]:
    for names, runs in promised.tables:
        places = [(partition, base + number) for partition, base, count in runs for number in range(count)]
        if {identity(found.get(place)) for place in places} != names:
            yield f"table: a table of {len(names)} rows is not there as it was acknowledged: {runs[:_MOST]}"


def check_transactions(root: Path, promised: Promises, *, are_whole: bool) -> Iterator[str]:
    """Committed transactions must be visible, aborted ones must not; with `are_whole`, undecided ones must not be
    partly visible."""
    seen: Counter[str] = Counter()
    for topic in ("left", "right"):
        seen.update((value or b"").decode() for *_, value in rows(root, topic, "read_committed"))
    if doubled := [value for value, count in seen.items() if count > 1]:
        yield f"records of transactions are there more than once: {doubled[:_MOST]}"
    records = Counter(value.partition(":")[0] for value in seen)
    for name, (state, count) in promised.transactions.items():
        allowed = {"commit": {count}, "abort": {0}, "begin": {0, count} if are_whole else set(range(count + 1))}[state]
        if records[name] not in allowed:
            yield f"transaction {name} ({state}): {records[name]} of {count} records are seen"
    if unknown := set(records) - set(promised.transactions):
        yield f"transactions that nobody began: {sorted(unknown)[:_MOST]}"


def check_keys(root: Path, promised: Promises) -> Iterator[str]:
    """The last value of each key must be there; a deleted key must not come back."""
    last: dict[str, tuple[int, str | None]] = {}
    for _, offset, key, value in rows(root, "compacted"):
        last[(key or b"").decode()] = (offset, identity(value))
    for named, (offset, name) in promised.keys.items():
        found = last.get(named)
        if found is None and name is not None and named not in promised.dying:
            yield f"compacted: the value of {named} at offset {offset} is lost"
        elif found is not None and found[0] < offset:
            yield f"compacted: {named} has the value of offset {found[0]} instead of the promised one of {offset}"
        elif found is not None and found[0] == offset and found[1] != name:
            yield f"compacted: {named} has {found[1]} at offset {offset} instead of the promised {name}"


def check_reopened(logs: LogDir, promised: Promises, *, are_decided: bool) -> Iterator[str]:
    """Clients must work and groups' offsets must be there; with `are_decided`, no transaction may be open."""
    if logs.offline or logs.unreadable:
        yield f"offline: {logs.offline}, unreadable: {logs.unreadable}"
    for name in TRANSACTIONAL_IDS:
        logs.producer(transactional_id=name).close()
    for (group, partition), offset in promised.offsets.items():
        with logs.consumer(group=group, enable_auto_commit=False) as consumer:
            found = consumer.committed(("plain", partition))
        if found is None or found.offset < offset:
            yield f"group {group}: offset {offset} of plain-{partition} was committed, found {found}"
    for topic_partition, log in logs.logs.items():
        if are_decided and log.last_stable_offset != log.log_end_offset:
            yield f"{topic_partition}: a transaction is open from {log.last_stable_offset} to {log.log_end_offset}"


def found_topics(logs: LogDir) -> dict[str, TopicState]:
    return {
        topic: [len(partitions), logs.config(topic).segment_bytes]
        for topic, partitions in logs.topics.items()
        if topic.startswith("admin")
    }


def check_topics(logs: LogDir, promised: Promises) -> Iterator[str]:
    """A topic must be as the last change left it, or as an unfinished one would have left it."""
    found = found_topics(logs)
    for topic in {*promised.topics, *promised.wishes, *found}:
        allowed = [promised.topics.get(topic), *promised.wishes.get(topic, ())]
        there = found.get(topic)
        # One change may have finished and another not: each part is as one of them would leave it.
        columns = zip(*(state for state in allowed if state is not None), strict=True)
        is_allowed = there in allowed or (
            there and all(one in column for one, column in zip(there, columns, strict=True))
        )
        if not is_allowed:
            yield f"topic {topic}: {there}, expected one of {allowed}"
