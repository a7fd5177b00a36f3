"""The broker configs that tests want: no waiting, and few files."""

from __future__ import annotations

PROFILE = {
    "connections.max.idle.ms": -1,  # a clock that is advanced by days must not disconnect everybody
    "group.initial.rebalance.delay.ms": 0,
    "group.min.session.timeout.ms": 1,
    "offsets.topic.num.partitions": 1,
    "transaction.state.log.num.partitions": 1,
}

# For a copy of a directory, whose records may be years old.
KEEP_ALL = {"log.retention.ms": -1}
