"""Assignors give each partition to one member that wants it, evenly, and move as few as they can."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from octavo.coordinator.groups.assignment import GroupAssignment
from octavo.coordinator.groups.assignors import ASSIGNORS
from octavo.coordinator.groups.uniform import uniform_assignor
from octavo.format.names import TopicPartition

COUNTS = st.dictionaries(st.sampled_from("tuv"), st.integers(0, 7), min_size=1)
MEMBERS = st.lists(st.sampled_from("abcdefgh"), min_size=1, unique=True)


def uniform(members: list[str], counts: dict[str, int], current: GroupAssignment) -> GroupAssignment:
    wanted = frozenset(counts)
    partitions = {topic: range(count) for topic, count in counts.items()}
    return uniform_assignor(dict.fromkeys(members, wanted), partitions, current)


@given(MEMBERS, MEMBERS, COUNTS, COUNTS)
def test_equal_subscriptions_share_evenly_and_keep_what_they_can(
    before: list[str], members: list[str], old: dict[str, int], new: dict[str, int]
) -> None:
    current = uniform(before, old, {})
    assigned = uniform(members, new, current)
    partitions = sorted(TopicPartition(topic, number) for topic, count in new.items() for number in range(count))
    assert sorted(one for given in assigned.values() for one in given) == partitions
    sizes = sorted(len(given) for given in assigned.values())
    assert sizes[-1] - sizes[0] <= 1
    for member in members:  # each keeps what its share has room for
        held = set(current.get(member, ())) & set(partitions)
        assert len(held & set(assigned[member])) == min(len(held), len(assigned[member]))


@given(
    st.dictionaries(st.sampled_from("abcdef"), st.frozensets(st.sampled_from("tuv")), min_size=1),
    COUNTS,
    st.sampled_from(sorted(ASSIGNORS)),
)
def test_any_subscriptions_get_each_wanted_partition_once(
    members: dict[str, frozenset[str]], counts: dict[str, int], name: str
) -> None:
    wanted = frozenset[str]().union(*members.values())
    partitions = {topic: range(count) for topic, count in counts.items()}
    assigned = ASSIGNORS[name](members, partitions, {})
    expected = sorted(TopicPartition(topic, number) for topic in wanted for number in partitions.get(topic, ()))
    assert sorted(one for given in assigned.values() for one in given) == expected
    assert all(one.topic in members[member] for member, given in assigned.items() for one in given)
    assert ASSIGNORS[name](members, partitions, assigned) == assigned


class Held(list[TopicPartition]):
    """What a member holds; it must not be searched once for every partition of the topics."""

    def __contains__(self, _: object) -> bool:
        raise AssertionError


def test_the_work_does_not_grow_with_the_square_of_the_partitions() -> None:
    held: GroupAssignment = {"a": Held([TopicPartition("t", 2), TopicPartition("t", 0)])}
    assert uniform(["a", "b"], {"t": 4}, held)["a"] == [TopicPartition("t", 0), TopicPartition("t", 2)]
