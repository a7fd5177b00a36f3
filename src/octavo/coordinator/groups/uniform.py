"""Kafka's uniform assignor: even shares, few moves, and each partition where Kafka 4.3.1 would place it.

That depends on the order in which Java's maps list members and topics.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice

from octavo.coordinator.groups.assignment import Current, GroupAssignment, PartitionNumbers, Subscriptions, TopicIds
from octavo.coordinator.groups.uneven import UnevenGroup
from octavo.format.java.hash_map import id_hash, in_map_order
from octavo.format.messages.partition_choice import java_hash
from octavo.format.names import TopicPartition


def uniform_assignor(
    subscriptions: Subscriptions, partitions: PartitionNumbers, current: Current, ids: TopicIds | None = None
) -> GroupAssignment:
    """Assign evenly; if no ids are given, topics are numbered in the order of their names."""
    members = in_map_order(subscriptions, java_hash)
    known = ids or {topic: number.to_bytes(16, "big") for number, topic in enumerate(sorted(partitions))}
    if len(set(subscriptions.values())) > 1:
        group = UnevenGroup({member: subscriptions[member] for member in members}, partitions, known)
        assigned = group.assign(current)
    else:
        wanted = frozenset[str]().union(*subscriptions.values())
        numbers = {topic: partitions[topic] for topic in partitions if topic in wanted}
        assigned = _assign_evenly(members, numbers, current, lambda topic: id_hash(known[topic]))
    return {member: sorted(assigned[member]) for member in subscriptions}


def _assign_evenly(
    members: Sequence[str], partitions: PartitionNumbers, current: Current, hash_of: Callable[[str], int]
) -> GroupAssignment:
    """If all members want the same topics, each keeps as much of what it has as its share allows, topic by topic, and
    gets the rest of its share from what is left. Shares that are larger by one go to members that need them to keep
    what they have, otherwise to the last ones."""
    topics = in_map_order(partitions, hash_of)
    places = [TopicPartition(topic, number) for topic in topics for number in partitions[topic]]
    order = {place: number for number, place in enumerate(places)}
    held = {
        member: sorted((place for place in current.get(member, ()) if place in order), key=order.__getitem__)
        for member in members
    }
    owned = {place for some in held.values() for place in some}
    free = [place for place in places if place not in owned]
    share, extra = divmod(len(places), len(members))
    sizes: dict[str, int] = {}
    for number, (member, some) in enumerate(held.items()):
        has_extra = extra > 0 and (len(some) > share or len(members) - number <= extra)
        sizes[member] = share + has_extra
        extra -= has_extra
        free += some[sizes[member] :]
        del some[sizes[member] :]
    left = iter(free)
    return {member: [*some, *islice(left, sizes[member] - len(some))] for member, some in held.items()}
