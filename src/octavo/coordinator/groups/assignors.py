"""How the members of a group share the partitions of their topics: Kafka's assignors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from octavo.format.names import TopicPartition

# The topics of each member, the partitions of each topic in order, the partitions of each member.
Subscriptions = Mapping[str, frozenset[str]]
Partitions = Mapping[str, Sequence[int]]
Assignment = dict[str, list[TopicPartition]]
Assignor = Callable[[Subscriptions, Partitions, Mapping[str, list[TopicPartition]]], Assignment]


def range_assignor(
    subscriptions: Subscriptions, partitions: Partitions, _: Mapping[str, list[TopicPartition]]
) -> Assignment:
    """Topic by topic, a range of partitions for each member; if that is uneven the first ones get one more."""
    assigned: Assignment = {member: [] for member in subscriptions}
    for topic, numbers in sorted(partitions.items()):
        members = sorted(member for member, topics in subscriptions.items() if topic in topics)
        start = 0
        for slot, member in enumerate(members):
            size = len(numbers) // len(members) + (slot < len(numbers) % len(members))
            assigned[member] += [TopicPartition(topic, number) for number in numbers[start : start + size]]
            start += size
    return assigned


def roundrobin_assignor(
    subscriptions: Subscriptions, partitions: Partitions, _: Mapping[str, list[TopicPartition]]
) -> Assignment:
    """All partitions in order, dealt out in turn to the members that want them."""
    assigned: Assignment = {member: [] for member in subscriptions}
    members, turn = sorted(subscriptions), 0
    for partition in _all_partitions(partitions):
        if not any(partition.topic in topics for topics in subscriptions.values()):
            continue
        while partition.topic not in subscriptions[members[turn % len(members)]]:
            turn += 1
        assigned[members[turn % len(members)]].append(partition)
        turn += 1
    return assigned


def sticky_assignor(
    subscriptions: Subscriptions, partitions: Partitions, current: Mapping[str, list[TopicPartition]]
) -> Assignment:
    """As evenly as possible, with as few moves as possible: members keep what they have, up to their share.

    A partition without an owner goes to the member with the fewest that wants it; then partitions move from members
    with two more than another that wants them.
    """
    assigned: Assignment = {member: [] for member in sorted(subscriptions)}
    free = set(_all_partitions(partitions))
    for member in assigned:
        kept = [
            partition
            for partition in current.get(member, ())
            if partition in free and partition.topic in subscriptions[member]
        ]
        assigned[member] = kept
        free -= set(kept)
    for partition in sorted(free):
        takers = [member for member in assigned if partition.topic in subscriptions[member]]
        if takers:
            assigned[min(takers, key=lambda member: (len(assigned[member]), member))].append(partition)
    while (move := _uneven(assigned, subscriptions)) is not None:
        partition, giver, taker = move
        assigned[giver].remove(partition)
        assigned[taker].append(partition)
    return {member: sorted(given) for member, given in assigned.items()}


def _uneven(assigned: Assignment, subscriptions: Subscriptions) -> tuple[TopicPartition, str, str] | None:
    """A partition whose move would make the assignment more even, with its giver and taker."""
    for giver in sorted(assigned, key=lambda member: -len(assigned[member])):
        for taker in sorted(assigned, key=lambda member: len(assigned[member])):
            if len(assigned[giver]) - len(assigned[taker]) < 2:
                break
            wanted = [partition for partition in assigned[giver] if partition.topic in subscriptions[taker]]
            if wanted:
                return max(wanted), giver, taker
    return None


def _all_partitions(partitions: Partitions) -> list[TopicPartition]:
    return [TopicPartition(topic, number) for topic, numbers in sorted(partitions.items()) for number in numbers]


ASSIGNORS: Mapping[str, Assignor] = {
    "range": range_assignor,
    "roundrobin": roundrobin_assignor,
    "sticky": sticky_assignor,
    "cooperative-sticky": sticky_assignor,
}
