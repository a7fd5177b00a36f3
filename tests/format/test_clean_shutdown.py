"""The mark of a clean shutdown."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.errors import EncodingError
from octavo.format.small_files import clean_shutdown


def test_the_text_is_kafkas() -> None:
    assert clean_shutdown.encode(42) == b'{"version":0,"brokerEpoch":42}'
    assert clean_shutdown.decode(b'{"version":0,"brokerEpoch":42}') == 42


def test_unknown_fields_are_ignored() -> None:
    assert clean_shutdown.decode(b'{"more":[1],"brokerEpoch":7,"version":3}') == 7


@pytest.mark.parametrize(
    "data",
    [
        b"",  # as brokers before KIP-966 wrote it
        b"{}",
        b"[]",
        b"42",
        b'{"version":0}',
        b'{"brokerEpoch":null}',
        b'{"brokerEpoch":true}',
        b'{"brokerEpoch":1.5}',
        b'{"brokerEpoch":9223372036854775808}',
        b'{"brokerEpoch":42',
        b"\xff\xfe",
        b"[" * 100000,
        b"9" * 10000,
    ],
)
def test_other_content_has_no_epoch(data: bytes) -> None:
    assert clean_shutdown.decode(data) is None


@pytest.mark.parametrize("epoch", [-2, 2**63])
def test_epochs_that_cannot_be_written_are_refused(epoch: int) -> None:
    with pytest.raises(EncodingError, match=f"broker epoch {epoch}"):
        clean_shutdown.encode(epoch)


@given(st.integers(-1, 2**63 - 1))
def test_round_trip(epoch: int) -> None:
    assert clean_shutdown.decode(clean_shutdown.encode(epoch)) == epoch


@given(st.binary())
def test_any_bytes_are_read(data: bytes) -> None:
    assert clean_shutdown.decode(data) is None or json.loads(data)["brokerEpoch"] == clean_shutdown.decode(data)


VALUES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)


@given(st.dictionaries(st.sampled_from(["brokerEpoch", "version"]), VALUES) | VALUES | st.lists(VALUES, max_size=2))
def test_any_json_is_read(content: object) -> None:
    epoch = content.get("brokerEpoch") if isinstance(content, dict) else None
    is_epoch = isinstance(epoch, int) and not isinstance(epoch, bool) and -(2**63) <= epoch < 2**63
    assert clean_shutdown.decode(json.dumps(content).encode()) == (epoch if is_epoch else None)
