"""Where the batches of an append come from: this decides what is checked and what is assigned."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class AppendOrigin(Enum):
    """Kafka's four origins of an append, and whether the log gives offsets to batches from there."""

    CLIENT = "client", True  # a producer: everything is checked
    COORDINATOR = "coordinator", True  # a group or transaction coordinator: sequences are not checked
    REPLICATION = "replication", False  # another log, where they were checked: nothing is assigned
    RAFT_LEADER = "raft leader", False  # offsets were assigned by the quorum's leader

    def __init__(self, label: str, assigns_offsets: bool) -> None:
        self.assigns_offsets = assigns_offsets


class AppendRequest(NamedTuple):
    """Who appends, and what comes with the batches."""

    origin: AppendOrigin
    leader_epoch: int
    transaction_version: int | None = None  # of markers, as sent by their coordinator
    trusted: bool = False  # Octavo's own encoder made the batches
