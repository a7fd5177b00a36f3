"""The values of KRaft's control records: messages of version 0 without a frame, whose first field is a version.

The keys of control records and the transaction markers are in `octavo.format.batches.control`.
"""

from __future__ import annotations

from octavo.errors import CorruptionError
from octavo.format.messages.codec import decode_prefix
from octavo.format.messages.notation import message
from octavo.format.messages.schema import MessageSchema, Row
from octavo.format.varint import Bytes

WRITTEN_VERSION = 0

LEADER_CHANGE = message("LeaderChangeMessage", "0-1", "0+", """
    version         int16
    leaderId        int32
    voters          []Voter
        voterId           int32
        voterDirectoryId  uuid  1+
    grantingVoters  []Voter
""")  # fmt: skip

SNAPSHOT_HEADER = message("SnapshotHeaderRecord", "0", "0+", """
    version                    int16
    lastContainedLogTimestamp  int64
""")  # fmt: skip

SNAPSHOT_FOOTER = message("SnapshotFooterRecord", "0", "0+", "version  int16")

KRAFT_VERSION = message("KRaftVersionRecord", "0", "0+", """
    version       int16
    kRaftVersion  int16
""")  # fmt: skip

KRAFT_VOTERS = message("VotersRecord", "0", "0+", """
    version  int16
    voters   []Voter
        voterId              int32
        voterDirectoryId     uuid
        endpoints            []Endpoint
            name  string
            host  string
            port  uint16
        kRaftVersionFeature  KRaftVersionFeature
            minSupportedVersion  int16
            maxSupportedVersion  int16
""")  # fmt: skip

KRAFT_CONTROL_MESSAGES: dict[int, MessageSchema] = {
    2: LEADER_CHANGE,
    3: SNAPSHOT_HEADER,
    4: SNAPSHOT_FOOTER,
    5: KRAFT_VERSION,
    6: KRAFT_VOTERS,
}
"""By the type in the control record's key."""


def decode_kraft_control(type_id: int, value: Bytes) -> Row:
    """Decode the value of a KRaft control record; bytes after the message are ignored, as in Kafka."""
    if type_id not in KRAFT_CONTROL_MESSAGES:
        raise CorruptionError(f"control record type {type_id} is not one of KRaft's", position=0)
    return decode_prefix(KRAFT_CONTROL_MESSAGES[type_id], WRITTEN_VERSION, value)[0]
