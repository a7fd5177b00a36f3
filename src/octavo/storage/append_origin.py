"""Where the batches of an append come from: it decides what is checked and what is assigned."""

from __future__ import annotations

from enum import Enum, auto


class AppendOrigin(Enum):
    """Kafka's four origins of an append."""

    CLIENT = auto()  # a producer: everything is checked
    COORDINATOR = auto()  # a group or transaction coordinator: offsets are assigned, sequences not checked
    REPLICATION = auto()  # a log that was checked when it was first written: nothing is assigned
    RAFT_LEADER = auto()  # offsets were assigned by the quorum's leader

    @property
    def assigns_offsets(self) -> bool:
        return self in (AppendOrigin.CLIENT, AppendOrigin.COORDINATOR)
