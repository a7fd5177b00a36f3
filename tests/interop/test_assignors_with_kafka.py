"""The uniform assignor places each partition where Kafka 4.3.1's own class places it."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from octavo.coordinator.groups.assignment import Current, GroupAssignment
from octavo.coordinator.groups.uniform import uniform_assignor
from octavo.format.names import TopicPartition

pytestmark = pytest.mark.kafka

MEMBERS = st.sampled_from([f"member-{number}" for number in range(20)])
TOPICS = st.sampled_from("tuvw")
GROUPS = st.dictionaries(MEMBERS, st.frozensets(TOPICS), min_size=1, max_size=20)
EQUAL_GROUPS = st.builds(dict.fromkeys, st.lists(MEMBERS, min_size=1, unique=True), st.frozensets(TOPICS, min_size=1))
COUNTS = st.fixed_dictionaries({topic: st.integers(1, 12) for topic in "tuvw"})
IDS = st.lists(st.binary(min_size=16, max_size=16), min_size=4, max_size=4, unique=True)


class KafkasAssignor:
    """UniformAssignor, for topics with these ids and partition counts."""

    def __init__(self, jvm: ModuleType, ids: dict[str, bytes], counts: dict[str, int]) -> None:
        self._util = jvm.JPackage("java").util
        self._integer = jvm.JPackage("java").lang.Integer.valueOf
        self._group = jvm.JPackage("org").apache.kafka.coordinator.group
        make = jvm.JPackage("org").apache.kafka.common.Uuid
        high_low = {topic: [int.from_bytes(part, "big", signed=True) for part in (found[:8], found[8:])]
                    for topic, found in ids.items()}  # fmt: skip
        self._uuids = {topic: make(*pair) for topic, pair in high_low.items()}
        self._topics = {str(uuid): topic for topic, uuid in self._uuids.items()}
        known = {"numPartitions": lambda uuid: jvm.JInt(counts[self._topics[str(uuid)]])}
        self._describer = jvm.JProxy("org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber",
                                     dict=known)  # fmt: skip

    def assign(self, subscriptions: dict[str, frozenset[str]], current: Current) -> GroupAssignment:
        specs, owners = self._util.HashMap(), self._util.HashMap()
        nothing = self._util.Optional.empty()
        for member, topics in subscriptions.items():
            wanted = self._util.HashSet()
            for topic in sorted(topics):
                wanted.add(self._uuids[topic])
            assignment = self._group.modern.Assignment(self._map(current.get(member, ())))
            spec = self._group.modern.MemberSubscriptionAndAssignmentImpl(nothing, nothing, wanted, assignment)
            specs.put(member, spec)
            for topic, number in current.get(member, ()):
                owners.putIfAbsent(self._uuids[topic], self._util.HashMap())
                numbers = owners.get(self._uuids[topic])
                numbers.put(self._integer(number), member)
        kinds = self._group.api.assignor.SubscriptionType
        kind = kinds.HOMOGENEOUS if len(set(subscriptions.values())) == 1 else kinds.HETEROGENEOUS
        found = self._group.assignor.UniformAssignor().assign(
            self._group.modern.GroupSpecImpl(specs, kind, owners), self._describer
        )
        return {str(member): self._places(spec) for member, spec in found.members().items()}

    def _map(self, places: Any) -> Any:
        found = self._util.HashMap()
        for topic, number in places:
            found.putIfAbsent(self._uuids[topic], self._util.HashSet())
            found.get(self._uuids[topic]).add(self._integer(number))
        return self._util.Collections.unmodifiableMap(found)

    def _places(self, assignment: Any) -> list[TopicPartition]:
        return sorted(
            TopicPartition(self._topics[str(uuid)], int(number))
            for uuid, numbers in assignment.partitions().items()
            for number in numbers
        )


@settings(suppress_health_check=list(HealthCheck), deadline=None)
@given(st.one_of(GROUPS, EQUAL_GROUPS), st.one_of(GROUPS, EQUAL_GROUPS), COUNTS, IDS)
def test_the_uniform_assignor_agrees_with_kafkas(
    jvm: ModuleType,
    before: dict[str, frozenset[str]],
    after: dict[str, frozenset[str]],
    counts: dict[str, int],
    some_ids: list[bytes],
) -> None:
    ids = dict(zip("tuvw", some_ids, strict=True))
    kafkas = KafkasAssignor(jvm, ids, counts)
    current: GroupAssignment = {}
    for group in (before, after):
        held = {member: places for member, places in current.items() if member in group}
        wanted = frozenset[str]().union(*group.values())
        partitions = {topic: range(count) for topic, count in counts.items() if topic in wanted}
        expected = kafkas.assign(group, held)
        current = uniform_assignor(group, partitions, held, ids)
        assert {member: places for member, places in current.items() if places} == {
            member: places for member, places in expected.items() if places
        }
