"""The assignors, by Kafka's names: how the members of a group share the partitions of their topics.

The range and roundrobin assignors serve members in the order in which they are given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from octavo.coordinator.groups.assignment import Current, GroupAssignment, PartitionNumbers, Subscriptions
from octavo.coordinator.groups.uniform import uniform_assignor
from octavo.format.names import TopicPartition

Assignor = Callable[[Subscriptions, PartitionNumbers, Current], GroupAssignment]


def range_assignor(subscriptions: Subscriptions, partitions: PartitionNumbers, _: Current) -> GroupAssignment:
    """Give each member one range of the partitions of each of its topics; if they do not divide evenly, the first
    members get one more."""
    assigned: GroupAssignment = {member: [] for member in subscriptions}
    for topic, numbers in sorted(partitions.items()):
        members = [member for member, topics in subscriptions.items() if topic in topics]
        start = 0
        for slot, member in enumerate(members):
            size = len(numbers) // len(members) + (slot < len(numbers) % len(members))
            assigned[member] += [TopicPartition(topic, number) for number in numbers[start : start + size]]
            start += size
    return assigned


def roundrobin_assignor(subscriptions: Subscriptions, partitions: PartitionNumbers, _: Current) -> GroupAssignment:
    """Deal out all partitions in order, taking turns among the members subscribed to the topic."""
    assigned: GroupAssignment = {member: [] for member in subscriptions}
    members, turn = list(subscriptions), 0
    for partition in _all(partitions):
        if not any(partition.topic in topics for topics in subscriptions.values()):
            continue
        while partition.topic not in subscriptions[members[turn % len(members)]]:
            turn += 1
        assigned[members[turn % len(members)]].append(partition)
        turn += 1
    return assigned


def sticky_assignor(subscriptions: Subscriptions, partitions: PartitionNumbers, current: Current) -> GroupAssignment:
    """Spread the partitions evenly, with few moves.

    Members keep what they have. A partition without an owner goes to the subscribed member with the fewest partitions.
    Then partitions move as long as an owner has at least two more than another subscribed member.
    """
    assigned: GroupAssignment = {member: [] for member in sorted(subscriptions)}
    free = set(_all(partitions))
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
    while (move := _next_move(assigned, subscriptions)) is not None:
        partition, giver, taker = move
        assigned[giver].remove(partition)
        assigned[taker].append(partition)
    return {member: sorted(given) for member, given in assigned.items()}


def _all(partitions: PartitionNumbers) -> list[TopicPartition]:
    return [TopicPartition(topic, number) for topic, numbers in sorted(partitions.items()) for number in numbers]


def _next_move(assigned: GroupAssignment, subscriptions: Subscriptions) -> tuple[TopicPartition, str, str] | None:
    """A partition to move, from which member and to which; None if no move makes the assignment more even."""
    for giver in sorted(assigned, key=lambda member: -len(assigned[member])):
        for taker in sorted(assigned, key=lambda member: len(assigned[member])):
            if len(assigned[giver]) - len(assigned[taker]) < 2:
                break
            wanted = [partition for partition in assigned[giver] if partition.topic in subscriptions[taker]]
            if wanted:
                return max(wanted), giver, taker
    return None


ASSIGNORS: Mapping[str, Assignor] = {
    "uniform": uniform_assignor,
    "range": range_assignor,
    "roundrobin": roundrobin_assignor,
    "sticky": sticky_assignor,
    "cooperative-sticky": sticky_assignor,
}
