"""Which partition of an internal topic belongs to a group or a transactional id."""

from __future__ import annotations

import pytest

from octavo.errors import EncodingError
from octavo.format.messages.partition_choice import coordinator_partition, java_hash


@pytest.mark.parametrize(
    ("text", "hashed"),
    [
        ("", 0),
        ("a", 97),
        ("my-group", -1906497762),
        ("é", 233),
        ("😀", 1772899),  # two UTF-16 code units
        ("polygenelubricants", -(1 << 31)),
    ],
)
def test_a_hash_is_javas(text: str, hashed: int) -> None:
    assert java_hash(text) == hashed


def test_the_partition_is_the_hash_modulo_their_number() -> None:
    assert coordinator_partition("my-group") == 12
    assert coordinator_partition("my-group", 3) == 1906497762 % 3
    assert coordinator_partition("polygenelubricants", 7) == 0
    with pytest.raises(EncodingError, match="at least one partition, not 0"):
        coordinator_partition("my-group", 0)
