"""Messages about a damaged batch: what was found, what was expected, where."""

from __future__ import annotations

import zlib

import pytest

from octavo import kernels
from octavo.errors import CorruptRecordError, InvalidRecordError
from octavo.format.batches.batch import build_batch, decode_batch
from octavo.format.batches.problems import problem_of
from octavo.format.legacy.message_set import encode_message
from octavo.format.record import Record
from octavo.kernels.layout import Code

RECORD = Record(0, 7, b"key", b"value")
NO_PROBLEM = {Code.DONE, Code.FULL, Code.DELTA_OUT_OF_RANGE}


@pytest.mark.parametrize("magic", [0, 1, 2])
def test_a_wrong_crc_is_shown_beside_the_stored_one(magic: int) -> None:
    sound = build_batch([RECORD]) if magic == 2 else encode_message(RECORD, magic)
    damaged = sound[:-1] + bytes([sound[-1] ^ 1])
    computed = kernels.crc32c(damaged[21:]) if magic == 2 else zlib.crc32(damaged[16:])
    stored = int.from_bytes(sound[17:21] if magic == 2 else sound[12:16])
    with pytest.raises(CorruptRecordError) as raised:
        decode_batch(sound + damaged, len(sound))
    assert raised.value.problem == f"a batch whose CRC is {computed}, expected the stored {stored}"
    assert raised.value.position == len(sound)


@pytest.mark.parametrize("code", sorted(set(Code) - NO_PROBLEM))
def test_every_code_of_a_kernel_has_a_sentence(code: Code) -> None:
    error = problem_of(code, 12, 345)
    assert error.position == 12
    assert "345" in str(error) or code is Code.BROKEN_VARINT


def test_a_problem_in_unpacked_bytes_has_the_position_of_its_batch() -> None:
    error = problem_of(Code.NEGATIVE_COUNT, 12, -3, unpacked_from=1000)
    assert isinstance(error, InvalidRecordError)
    expected = "a batch with -3 records, expected 0 or more, at byte 12 of what the batch unpacks to"
    assert str(error) == f"position 1000: {expected}"
