"""Kafka's assignors: how the members of a group share the partitions of their topics.

Members are served in the order in which they are given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice

from octavo.format.names import TopicPartition

Subscriptions = Mapping[str, frozenset[str]]  # the topics of each member
Partitions = Mapping[str, Sequence[int]]  # the partition numbers of each topic, in order
Assignment = dict[str, list[TopicPartition]]  # the partitions of each member
# Makes an assignment from subscriptions, partitions and the current assignment.
Assignor = Callable[[Subscriptions, Partitions, Mapping[str, list[TopicPartition]]], Assignment]


def range_assignor(
    subscriptions: Subscriptions, partitions: Partitions, _: Mapping[str, list[TopicPartition]]
) -> Assignment:
    """Give each member one range of every topic's partitions; if they do not divide evenly, the first members get one
    more."""
    assigned: Assignment = {member: [] for member in subscriptions}
    for topic, numbers in sorted(partitions.items()):
        members = [member for member, topics in subscriptions.items() if topic in topics]
        start = 0
        for slot, member in enumerate(members):
            size = len(numbers) // len(members) + (slot < len(numbers) % len(members))
            assigned[member] += [TopicPartition(topic, number) for number in numbers[start : start + size]]
            start += size
    return assigned


def roundrobin_assignor(
    subscriptions: Subscriptions, partitions: Partitions, _: Mapping[str, list[TopicPartition]]
) -> Assignment:
    """Deal out all partitions in order, taking turns among the members subscribed to the topic."""
    assigned: Assignment = {member: [] for member in subscriptions}
    members, turn = list(subscriptions), 0
    for partition in _all_partitions(partitions):
        if not any(partition.topic in topics for topics in subscriptions.values()):
            continue
        while partition.topic not in subscriptions[members[turn % len(members)]]:
            turn += 1
        assigned[members[turn % len(members)]].append(partition)
        turn += 1
    return assigned


def uniform_assignor(
    subscriptions: Subscriptions, partitions: Partitions, current: Mapping[str, list[TopicPartition]]
) -> Assignment:
    """Spread the partitions evenly with few moves. If all members want the same topics, their shares are known before:
    members keep theirs, and the others fill up with what is left."""
    if len(set(subscriptions.values())) != 1:
        return sticky_assignor(subscriptions, partitions, current)
    free = set(_all_partitions(partitions))
    share, extra = divmod(len(free), len(subscriptions))
    assigned: Assignment = {}
    # Those that have most come first, so that a share with an extra partition goes to one that has it already.
    for member in sorted(subscriptions, key=lambda member: -len(current.get(member, ()))):
        size = share + (extra > 0)
        assigned[member] = [partition for partition in current.get(member, ()) if partition in free][:size]
        free -= set(assigned[member])
        extra -= len(assigned[member]) > share
    left = iter(sorted(free))
    for member in subscriptions:
        missing = share + (extra > 0) - len(assigned[member])
        if missing > 0:
            assigned[member] += islice(left, missing)
            extra -= len(assigned[member]) > share
    return {member: sorted(assigned[member]) for member in subscriptions}


def sticky_assignor(
    subscriptions: Subscriptions, partitions: Partitions, current: Mapping[str, list[TopicPartition]]
) -> Assignment:
    """Spread the partitions as evenly as possible with as few moves as possible.

    Members keep what they have. A partition without an owner goes to the subscribed member with the fewest partitions.
    Then partitions move as long as an owner has at least two more than another subscribed member.
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
    while (move := _next_move(assigned, subscriptions)) is not None:
        partition, giver, taker = move
        assigned[giver].remove(partition)
        assigned[taker].append(partition)
    return {member: sorted(given) for member, given in assigned.items()}


def _next_move(assigned: Assignment, subscriptions: Subscriptions) -> tuple[TopicPartition, str, str] | None:
    """A partition to move, from which member and to which; None if no move makes the assignment more even."""
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
    "uniform": uniform_assignor,
    "range": range_assignor,
    "roundrobin": roundrobin_assignor,
    "sticky": sticky_assignor,
    "cooperative-sticky": sticky_assignor,
}
