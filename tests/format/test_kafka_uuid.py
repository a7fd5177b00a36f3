"""The text form of uuids."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.errors import CorruptionError, EncodingError
from octavo.format import kafka_uuid

ONE_TWO = (1).to_bytes(8, "big") + (2).to_bytes(8, "big")


def test_known_uuids_have_kafkas_texts() -> None:
    assert kafka_uuid.to_text(ONE_TWO) == "AAAAAAAAAAEAAAAAAAAAAg"
    assert kafka_uuid.to_text(kafka_uuid.METADATA_TOPIC_ID) == "AAAAAAAAAAAAAAAAAAAAAQ"
    assert kafka_uuid.to_text(bytes.fromhex("ff" * 16)) == "_____________________w"
    assert kafka_uuid.from_text("AAAAAAAAAAEAAAAAAAAAAg") == ONE_TWO
    assert kafka_uuid.from_text("2ALQ2FiLQtSsqUVkZ8sP7g").hex() == "d802d0d8588b42d4aca9456467cb0fee"


@pytest.mark.parametrize("text", ["AAAAAAAAAAEAAAAAAAAAAg==", "AAAAAAAAAAEAAAAAAAAAAh"])
def test_java_reads_padding_and_surplus_bits_too(text: str) -> None:
    assert kafka_uuid.from_text(text) == ONE_TWO


@pytest.mark.parametrize(
    "text",
    [
        "",
        "AAAA",
        "A" * 21,
        "A" * 23,
        "A" * 24,
        "A" * 22 + "=",
        "A" * 21 + "+",
        "A" * 21 + "/",
        "A" * 21 + "ä",
        "A" * 22 + "\n",
    ],
)
def test_what_is_not_a_uuid_is_refused(text: str) -> None:
    with pytest.raises(CorruptionError, match="expected a uuid of 22 base64url characters") as raised:
        kafka_uuid.from_text(text, 9)
    assert raised.value.position == 9


@pytest.mark.parametrize("size", [0, 15, 17])
def test_a_uuid_has_16_bytes(size: int) -> None:
    with pytest.raises(EncodingError, match=f"16 bytes, found {size}"):
        kafka_uuid.to_text(bytes(size))


def test_the_first_hundred_are_reserved() -> None:
    assert kafka_uuid.is_reserved(kafka_uuid.ZERO_UUID)
    assert kafka_uuid.is_reserved((99).to_bytes(16, "big"))
    assert not kafka_uuid.is_reserved((100).to_bytes(16, "big"))


@given(st.binary(min_size=16, max_size=16))
def test_round_trip(uuid: bytes) -> None:
    text = kafka_uuid.to_text(uuid)
    assert len(text) == 22
    assert kafka_uuid.from_text(text) == uuid
