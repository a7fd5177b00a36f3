"""How the members of a group share the partitions of their topics: Kafka's assignors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from octavo.format.names import TopicPartition

# Members to their topics, topics to the partitions that are there, in order, members to what they have now.
Subscriptions = Mapping[str, frozenset[str]]
Partitions = Mapping[str, Sequence[int]]
Assignment = dict[str, list[TopicPartition]]
Assignor = Callable[[Subscriptions, Partitions, Mapping[str, list[TopicPartition]]], Assignment]


def range_assignor(
    subscriptions: Subscriptions, partitions: Partitions, _: Mapping[str, list[TopicPartition]]
) -> Assignment:
    """Topic by topic, each member a range; the first members get one more where it does not come out even."""
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
    """All partitions in order, dealt out in turn; who does not want one is passed over."""
    assigned: Assignment = {member: [] for member in subscriptions}
    members, turn = sorted(subscriptions), 0
    for name in _all_partitions(partitions):
        if not any(name.topic in topics for topics in subscriptions.values()):
            continue
        while name.topic not in subscriptions[members[turn % len(members)]]:
            turn += 1
        assigned[members[turn % len(members)]].append(name)
        turn += 1
    return assigned


def sticky_assignor(
    subscriptions: Subscriptions, partitions: Partitions, current: Mapping[str, list[TopicPartition]]
) -> Assignment:
    """As even as may be, moving as little as may be: members keep what they have, up to their share.

    A partition without an owner goes to the member with the fewest that wants it; then partitions move from members
    with two more than another that wants them.
    """
    there = set(_all_partitions(partitions))
    assigned: Assignment = {member: [] for member in sorted(subscriptions)}
    free = set(there)
    for member in assigned:
        kept = [name for name in current.get(member, ()) if name in free and name.topic in subscriptions[member]]
        assigned[member] = kept
        free -= set(kept)
    for name in sorted(free):
        takers = [member for member in assigned if name.topic in subscriptions[member]]
        if takers:
            assigned[min(takers, key=lambda member: (len(assigned[member]), member))].append(name)
    while (move := _uneven(assigned, subscriptions)) is not None:
        name, giver, taker = move
        assigned[giver].remove(name)
        assigned[taker].append(name)
    return {member: sorted(names) for member, names in assigned.items()}


def _uneven(assigned: Assignment, subscriptions: Subscriptions) -> tuple[TopicPartition, str, str] | None:
    """A partition whose move would even things out."""
    for giver in sorted(assigned, key=lambda member: -len(assigned[member])):
        for taker in sorted(assigned, key=lambda member: len(assigned[member])):
            if len(assigned[giver]) - len(assigned[taker]) < 2:
                break
            wanted = [name for name in assigned[giver] if name.topic in subscriptions[taker]]
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
