"""Where appended batches come from, which decides what is checked and what is assigned."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class AppendOrigin(Enum):
    """Kafka's append origins, and whether the log assigns offsets to batches from each.

    Kafka's fourth one, RAFT_LEADER, is missing: Octavo never appends to the metadata log.
    """

    CLIENT = "client", True  # a producer: everything is checked
    COORDINATOR = "coordinator", True  # a group or transaction coordinator: sequences are not checked
    REPLICATION = "replication", False  # another log, which already checked them: nothing is assigned

    def __init__(self, label: str, assigns_offsets: bool) -> None:
        self.assigns_offsets = assigns_offsets


class AppendRequest(NamedTuple):
    """Who is appending, and the details that come with the batches."""

    origin: AppendOrigin
    leader_epoch: int
    transaction_version: int | None = None  # of the markers, as sent by the transaction coordinator
    trusted: bool = False  # Octavo's own encoder made the batches
