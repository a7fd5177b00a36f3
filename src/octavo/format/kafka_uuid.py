"""The text form of Kafka's uuids: 16 bytes as base64url without padding, 22 characters."""

from __future__ import annotations

import base64
import re

from octavo.errors import CorruptionError, EncodingError
from octavo.format.java.text import shortened

UUID_BYTES = 16
ZERO_UUID = bytes(UUID_BYTES)
METADATA_TOPIC_ID = bytes([*bytes(15), 1])  # the topic id of __cluster_metadata

_TEXT = re.compile(r"([A-Za-z0-9_-]{22})(==)?")
_RESERVED = 100


def to_text(uuid: bytes) -> str:
    """The uuid in the form that files and tools show."""
    if len(uuid) != UUID_BYTES:
        raise EncodingError(f"a uuid has {UUID_BYTES} bytes, found {len(uuid)}")
    return base64.urlsafe_b64encode(uuid)[:22].decode("ascii")


def from_text(text: str, position: int | None = None) -> bytes:
    """The uuid's 16 bytes. As in Java, padding may follow, and the last character's 4 surplus bits are ignored."""
    match = _TEXT.fullmatch(text)
    if match is None:
        raise CorruptionError(f"expected a uuid of 22 base64url characters, found {shortened(text)}", position=position)
    return base64.urlsafe_b64decode(match[1] + "==")


def is_reserved(uuid: bytes) -> bool:
    """Whether the uuid is among the first hundred, which Kafka reserves for special meanings."""
    return int.from_bytes(uuid, "big") < _RESERVED
