"""Describes the groups in `__consumer_offsets`: what each has committed, its lag, and its members as stored."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from octavo.errors import CorruptionError, OctavoError, ScanError, did_you_mean
from octavo.format import kafka_uuid
from octavo.format.messages.consumer_offsets import decode_consumer_offsets_record
from octavo.format.messages.consumer_protocol import PROTOCOL_TYPE, decode_assignment
from octavo.format.messages.records import UnknownRecordTypeError
from octavo.format.messages.schema import Row
from octavo.format.names import TopicPartition
from octavo.jobs.describe.internal_records import committed_records, noting
from octavo.kernels.layout import NO_LEADER_EPOCH
from octavo.scanner.findings import Note, ScanFindings
from octavo.scanner.log_dirs import Place, open_log_dirs
from octavo.scanner.partition.snapshot import take_snapshot
from octavo.scanner.reading.records import ConsumerRecord
from octavo.system.os_errors import described

TOPIC = "__consumer_offsets"

_OFFSET_COMMITS = (0, 1)  # the old and the current record type
_CLASSIC_GROUP = 2
# The record types of the newer protocols: group, member, target epoch, target assignment, member's assignment.
_NEWER = {"consumer": (3, 5, 6, 7, 8), "share": (11, 10, 12, 13, 14), "streams": (17, 19, 20, 21, 22)}
_STABLE_MEMBER = 0  # the state of a member that has its whole assignment


@dataclass(frozen=True, slots=True)
class CommittedOffset:
    """What a group has committed for a partition. The log's end is None if the partition is not on these disks or
    cannot be read."""

    topic_partition: TopicPartition
    offset: int
    metadata: str
    leader_epoch: int
    commit_timestamp: int
    log_end_offset: int | None

    @property
    def lag(self) -> int | None:
        return None if self.log_end_offset is None else self.log_end_offset - self.offset


@dataclass(frozen=True, slots=True)
class MemberDescription:
    """A member of a group. Newer protocols name topics by id; a topic that is not on these disks is shown as its id."""

    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    assignment: tuple[str, ...]  # <topic>-<partition>


@dataclass(frozen=True, slots=True)
class GroupDescription:
    """A group as a coordinator would load it."""

    group: str
    type: str  # classic, consumer, share or streams; simple: offsets without members
    state: str
    protocol_type: str | None = None
    protocol: str | None = None
    generation: int | None = None  # in newer protocols, the epoch
    leader: str | None = None
    members: tuple[MemberDescription, ...] = ()
    offsets: tuple[CommittedOffset, ...] = ()


@dataclass(slots=True)
class _Stored:
    """The last records of one group."""

    offsets: dict[TopicPartition, Row] = field(default_factory=dict)
    classic: Row | None = None
    newer: dict[int, dict[str, Row]] = field(default_factory=lambda: defaultdict(dict))  # by type, then by member


class DescribedGroups:
    """The groups of some log directories. `notes` says what could not be read; `damage_count` counts the damage among
    it."""

    def __init__(self, places: Place | Sequence[Place], only: Sequence[str] = ()) -> None:
        log_dirs = open_log_dirs(places, lambda wanted: wanted.topic == TOPIC)
        # A folder that is itself the place is listed whatever its topic.
        partitions = {place: files for place, files in log_dirs.partitions.items() if place.topic == TOPIC}
        not_listed = next(iter(log_dirs.unreadable().values()), None)
        if not partitions and not_listed is not None:
            raise ScanError(described(not_listed))
        if not partitions:
            raise ScanError(f"{log_dirs.shown()}: no group has committed offsets here: there is no topic {TOPIC}")
        findings = ScanFindings("skip")
        records = committed_records(partitions.values(), findings)
        stored = _stored(records, noting(partitions, findings))
        findings.count(log_dirs.root_notes())
        unknown = [group for group in only if group not in stored]
        if unknown and not_listed is not None:
            where = f"what can be read of {TOPIC}: {described(not_listed)}"
            raise OctavoError(f"{log_dirs.shown()}: group {unknown[0]!r} is not in {where}")
        if unknown:
            hint = did_you_mean(unknown[0], stored) or "; `octavo groups LOGDIR` lists them"
            raise OctavoError(f"{log_dirs.shown()}: there is no group {unknown[0]!r}{hint}")
        chosen = {group: stored[group] for group in sorted(stored) if not only or group in only}
        ends = _ends(places, {partition for group in chosen.values() for partition in group.offsets}, findings)
        topics = _topics_by_id(places) if any(found.newer for found in chosen.values()) else {}
        self.groups = [_described(group, found, ends, topics) for group, found in chosen.items()]
        self.notes: list[Note] = [*log_dirs.notes, *findings.notes]
        self.damage_count = findings.damage_count + len(log_dirs.unreadable())


def _ends(
    places: Place | Sequence[Place], wanted: set[TopicPartition], findings: ScanFindings
) -> dict[TopicPartition, int]:
    """The end offsets of those partitions that are on these disks."""
    ends: dict[TopicPartition, int] = {}
    log_dirs = open_log_dirs(places, wanted.__contains__)
    for topic_partition, error in log_dirs.unreadable().items():
        findings.unreadable(topic_partition, error)
    for topic_partition, files in log_dirs.partitions.items():
        try:
            ends[topic_partition] = take_snapshot(files).log_end_offset
        except (ScanError, OSError) as error:
            findings.note(files.location, f"not read: {error}")
            findings.damage_count += 1
    findings.count(note for note in log_dirs.root_notes() if note not in findings.notes)
    return ends


def _topics_by_id(places: Place | Sequence[Place]) -> dict[bytes, str]:
    """The names of the topics on these disks."""
    one_each = {partition.topic: files for partition, files in open_log_dirs(places).partitions.items()}
    found: dict[bytes, str] = {}
    for topic, files in one_each.items():
        topic_id = files.topic_id_or_note([])
        if topic_id is not None:
            found[topic_id] = topic
    return found


def _stored(
    records: Iterable[ConsumerRecord], on_damage: Callable[[ConsumerRecord, Exception], None]
) -> dict[str, _Stored]:
    """The groups, from the last record of each key: a busy group commits the same keys again and again, so the others
    are not decoded."""
    last: dict[bytes, ConsumerRecord] = {}
    for record in records:
        if record.key is not None:
            last[record.key] = record
    groups: dict[str, _Stored] = defaultdict(_Stored)
    for key, record in last.items():
        try:
            decoded = decode_consumer_offsets_record(key, record.value)
        except UnknownRecordTypeError:
            continue  # Kafka skips it too
        except CorruptionError as error:
            on_damage(record, error)
            continue
        if decoded.value is not None:
            _take(groups[_group_of(decoded.key.data)], decoded.key.type.id, decoded.key.data, decoded.value.data)
    return groups


def _group_of(key: Row) -> str:
    group: str = key["group"] if "group" in key else key["groupId"]
    return group


def _take(stored: _Stored, type_id: int, key: Row, value: Row) -> None:
    if type_id in _OFFSET_COMMITS:
        stored.offsets[TopicPartition(key["topic"], key["partition"])] = value
    elif type_id == _CLASSIC_GROUP:
        stored.classic = value
    else:
        stored.newer[type_id][key.get("memberId", "")] = value


def _described(
    group: str, stored: _Stored, ends: Mapping[TopicPartition, int], topics: Mapping[bytes, str]
) -> GroupDescription:
    offsets = tuple(_committed(partition, stored.offsets[partition], ends) for partition in sorted(stored.offsets))
    for kind, types in _NEWER.items():
        if types[0] in stored.newer:
            return _newer(group, kind, stored, offsets, topics)
    row = stored.classic
    if row is None:
        return GroupDescription(group, "simple", "Empty", offsets=offsets)
    members = tuple(_classic_member(member, row["protocolType"]) for member in row["members"])
    state = "Stable" if members else "Empty"
    names = row["protocolType"], row["protocol"], row["generation"], row["leader"]
    return GroupDescription(group, "classic", state, *names, members, offsets)


def _committed(topic_partition: TopicPartition, row: Row, ends: Mapping[TopicPartition, int]) -> CommittedOffset:
    return CommittedOffset(
        topic_partition,
        row["offset"],
        row["metadata"],
        row.get("leaderEpoch", NO_LEADER_EPOCH),
        row["commitTimestamp"],
        ends.get(topic_partition),
    )


def _classic_member(row: Row, protocol_type: str) -> MemberDescription:
    assignment: tuple[str, ...] = ()
    if protocol_type == PROTOCOL_TYPE and row["assignment"]:
        try:
            rows = decode_assignment(row["assignment"]).data["assignedPartitions"]
            assignment = tuple(f"{row['topic']}-{number}" for row in rows for number in row["partitions"])
        except CorruptionError:
            pass  # only the members understand their assignment; Kafka does not read it either
    name = row["memberId"], row.get("groupInstanceId"), row["clientId"], row["clientHost"]
    return MemberDescription(*name, assignment)


def _newer(
    group: str, kind: str, stored: _Stored, offsets: tuple[CommittedOffset, ...], topics: Mapping[bytes, str]
) -> GroupDescription:
    group_type, member_type, target_type, _, current_type = _NEWER[kind]
    epoch = stored.newer[group_type][""]["epoch"]
    current = stored.newer[current_type]
    members = tuple(
        MemberDescription(
            member_id,
            row.get("instanceId"),
            row["clientId"],
            row["clientHost"],
            tuple(_assigned(current.get(member_id, {}).get("assignedPartitions", ()), topics)),
        )
        for member_id, row in sorted(stored.newer[member_type].items())
    )
    target = stored.newer[target_type].get("", {}).get("assignmentEpoch", epoch)
    if not members:
        state = "Empty"
    elif target < epoch:
        state = "Assigning"
    elif any(row["memberEpoch"] < target or row["state"] != _STABLE_MEMBER for row in current.values()):
        state = "Reconciling"
    else:
        state = "Stable"
    return GroupDescription(group, kind, state, generation=epoch, members=members, offsets=offsets)


def _assigned(rows: Iterable[Row], topics: Mapping[bytes, str]) -> Iterator[str]:
    for row in rows:
        topic = topics.get(row["topicId"]) or kafka_uuid.to_text(row["topicId"])
        yield from (f"{topic}-{partition}" for partition in row["partitions"])
