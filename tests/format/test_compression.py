"""What holds for all codecs: golden streams, round trips, levels, limits, and that broken streams are refused."""

from __future__ import annotations

import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.errors import CorruptionError, DecompressionLimitError, EncodingError, InvalidRecordError
from octavo.format.compression import CODECS, Codec, Scratch, compress, decompress, decompress_into
from tests.format.streams import GOLDEN, PACKING, RECORD, SIZES, Golden, compressible, incompressible, mutate


def magics(codec: Codec) -> list[int]:
    return [magic for magic in (0, 1, 2) if magic >= CODECS[codec].min_magic]


def test_codec_ids_are_those_of_the_attributes() -> None:  # F2
    assert {row.name: int(codec) for codec, row in CODECS.items()} == {
        "none": 0,
        "gzip": 1,
        "snappy": 2,
        "lz4": 3,
        "zstd": 4,
    }


def test_levels_are_those_of_the_configs() -> None:
    levels = {
        row.level_config: (row.min_level, row.max_level, row.default_level)
        for row in CODECS.values()
        if row.level_config
    }
    assert levels == {
        "compression.gzip.level": (1, 9, -1),
        "compression.lz4.level": (1, 17, 9),
        "compression.zstd.level": (-131072, 22, 3),
    }


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda golden: f"v{golden.magic}-{golden.codec.name}")
def test_golden_streams_unpack(golden: Golden) -> None:
    assert decompress(golden.codec, golden.stream, magic=golden.magic) == golden.content


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda golden: f"v{golden.magic}-{golden.codec.name}")
def test_golden_content_is_packed_to_the_golden_stream(golden: Golden) -> None:
    packed = compress(golden.codec, golden.content, magic=golden.magic)
    if golden.codec is Codec.ZSTD:  # window and blocks are the library's choice
        assert packed[:5] == golden.stream[:5]
    else:
        assert packed == golden.stream


def test_codec_none_copies() -> None:
    assert compress(Codec.NONE, memoryview(RECORD)) == RECORD
    assert decompress(Codec.NONE, RECORD) == RECORD


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("make", [compressible, incompressible, bytes])
@pytest.mark.parametrize("codec", PACKING)
def test_round_trip_around_block_sizes(codec: Codec, make: type[bytes], size: int) -> None:
    data = make(size)
    for magic in magics(codec):
        assert decompress(codec, compress(codec, data, magic=magic), magic=magic) == data


@st.composite
def tasks(draw: st.DrawFn) -> tuple[Codec, int | None, int, bytes]:
    codec = draw(st.sampled_from(list(Codec)))
    row = CODECS[codec]
    levels: st.SearchStrategy[int | None] = st.none()
    if row.level_config:
        levels |= st.just(row.default_level) | st.integers(row.min_level, min(row.max_level, 12))
    data = draw(st.binary(max_size=200)) * draw(st.integers(0, 400)) + draw(st.binary(max_size=50))
    return codec, draw(levels), draw(st.sampled_from(magics(codec))), data


@given(tasks())
@settings(deadline=None)
def test_round_trip(task: tuple[Codec, int | None, int, bytes]) -> None:
    codec, level, magic, data = task
    assert decompress(codec, compress(codec, data, level=level, magic=magic), magic=magic) == data


@pytest.mark.parametrize(
    ("codec", "level"),
    [(Codec.GZIP, n) for n in (-1, 1, 5, 9)]
    + [(Codec.LZ4, n) for n in range(1, 18)]
    + [(Codec.ZSTD, n) for n in (-131072, -1, 0, 1, 3, 19, 22)],
)
def test_every_level_packs(codec: Codec, level: int) -> None:
    data = compressible(70_000) + incompressible(70_000)
    assert decompress(codec, compress(codec, data, level=level)) == data


@pytest.mark.parametrize(
    ("codec", "level"),
    [(1, 0), (1, 10), (1, -2), (3, 0), (3, 18), (4, 23), (4, -131073), (2, 1), (0, 0)],
)
def test_a_level_that_kafka_refuses_is_refused(codec: int, level: int) -> None:
    with pytest.raises(EncodingError, match="level"):
        compress(codec, RECORD, level=level)


@pytest.mark.parametrize(("codec", "expected"), [(1, "1 to 9 or the default -1"), (3, "1 to 17"), (4, "-131072 to 22")])
def test_a_refused_level_names_a_default_outside_the_range(codec: int, expected: str) -> None:
    with pytest.raises(EncodingError, match=f"expected {expected}$"):
        compress(codec, RECORD, level=99)


@pytest.mark.parametrize("codec", [-1, 5, 6, 7])
def test_an_unknown_codec_is_refused(codec: int) -> None:
    with pytest.raises(EncodingError, match="expected 0 to 4"):
        compress(codec, RECORD)
    with pytest.raises(InvalidRecordError, match="expected 0 to 4"):
        decompress(codec, RECORD)


@pytest.mark.parametrize("magic", [0, 1])
def test_zstd_needs_magic_2(magic: int) -> None:
    with pytest.raises(EncodingError, match="magic 2 or later"):
        compress(Codec.ZSTD, RECORD, magic=magic)
    with pytest.raises(InvalidRecordError, match="expected gzip, snappy or lz4"):
        decompress(Codec.ZSTD, compress(Codec.ZSTD, RECORD), magic=magic)


@pytest.mark.parametrize("codec", list(Codec))
def test_any_buffer_is_accepted_whatever_its_element_type(codec: Codec) -> None:
    data = compressible(5000)
    numbers: Any = np.frombuffer(data, np.int32)
    stream = compress(codec, numbers)
    inside, array = memoryview(b"head" + stream + b"tail")[4:-4], np.frombuffer(stream, "i1")
    buffers: list[Any] = [stream, bytearray(stream), inside, array]
    for buffer in buffers:
        assert decompress(codec, buffer) == data


@pytest.mark.parametrize("codec", list(Codec))
def test_streams_are_unpacked_one_after_another(codec: Codec) -> None:
    scratch = Scratch()
    parts = [compressible(size) for size in (10, 0, 100_000, 7, 1_000_000)]
    ends = [0]
    for part in parts:
        ends.append(decompress_into(codec, compress(codec, part), scratch, ends[-1]))
    assert [bytes(scratch.buffer[slice(*span)]) for span in pairwise(ends)] == parts
    buffer = scratch.buffer
    assert decompress(codec, compress(codec, parts[2]), scratch=scratch) == parts[2]
    assert scratch.buffer is buffer  # reused: it grows only when it must


@pytest.mark.parametrize("codec", list(Codec))
def test_the_limit_is_exact(codec: Codec) -> None:
    data = compressible(100_000)
    stream = compress(codec, data)
    scratch = Scratch()
    scratch.reserve(5)[:5] = b"chunk"
    assert decompress_into(codec, stream, scratch, 5, limit=len(data)) == 5 + len(data)
    with pytest.raises(DecompressionLimitError) as caught:
        decompress_into(codec, stream, scratch, 5, limit=len(data) - 1)
    assert caught.value.position is not None
    with pytest.raises(DecompressionLimitError):
        decompress_into(codec, stream, scratch, 5, limit=0)
    assert decompress_into(codec, compress(codec, b""), scratch, 5, limit=0) == 5
    assert bytes(scratch.buffer[:5]) == b"chunk"


@pytest.mark.parametrize("codec", PACKING)
def test_a_bomb_is_stopped_before_it_takes_memory(codec: Codec) -> None:
    bomb = compress(codec, bytes(64_000_000))
    scratch = Scratch()
    with pytest.raises(DecompressionLimitError):
        decompress_into(codec, bomb, scratch, 0, limit=500_000)
    assert len(scratch.buffer) <= 2 * 500_000


def test_a_buffer_that_the_machine_cannot_give_is_a_limit_too() -> None:
    with pytest.raises(DecompressionLimitError, match="not enough memory"):
        Scratch().reserve(1 << 60)


def clean_ends(golden: Golden) -> set[int]:
    """Where a stream may be cut so that Kafka, too, reads what is left as a whole stream."""
    match golden.codec:
        case Codec.SNAPPY:  # it has no end mark: after the header, up to 3 bytes of the next length
            return {16, 17, 18, 19}
        case Codec.ZSTD:  # no frame at all
            return {0}
    return set()


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda golden: f"v{golden.magic}-{golden.codec.name}")
def test_a_stream_cut_anywhere_is_refused(golden: Golden) -> None:
    for cut in range(len(golden.stream)):
        if cut in clean_ends(golden):
            assert bytes(decompress(golden.codec, golden.stream[:cut], magic=golden.magic)) == b""
            continue
        with pytest.raises(CorruptionError) as caught:
            decompress(golden.codec, golden.stream[:cut], magic=golden.magic)
        assert caught.value.position is not None
        assert 0 <= caught.value.position <= cut


@pytest.mark.parametrize("codec", PACKING)
def test_a_mutant_is_accepted_or_refused_with_the_documented_error(codec: Codec) -> None:
    chance = random.Random(int(codec))
    data = [b"", b"a", RECORD, compressible(400), b"ab" * 300, bytes(70_000)]
    streams = [compress(codec, part, magic=magic) for part in data for magic in magics(codec)]
    streams += [first + second for first in streams[:6] for second in streams[:6]]
    scratch = Scratch()
    refused = 0
    for _ in range(3000):
        try:
            decompress(codec, mutate(chance.choice(streams), chance), scratch=scratch, limit=1 << 20)
        except CorruptionError as error:
            assert error.position is not None
            refused += 1
    assert 1000 < refused < 3000


@pytest.mark.parametrize("codec", PACKING)
def test_noise_is_accepted_or_refused_with_the_documented_error(codec: Codec) -> None:
    chance = random.Random(int(codec))
    for size in range(300):
        head = compress(codec, b"")[: chance.randrange(12)]
        try:
            decompress(codec, head + chance.randbytes(size), limit=1 << 20)
        except CorruptionError as error:
            assert error.position is not None


class PanicException(BaseException):
    """A stand-in for pyo3's exception of this name, which also derives from BaseException."""


@pytest.mark.parametrize(
    ("codec", "function"),
    [
        (Codec.SNAPPY, "snappy._decompress_block"),
        (Codec.LZ4, "lz4_block._decompress_block"),
    ],
)
def test_a_panic_of_the_library_is_a_broken_stream_and_an_interrupt_is_not(
    codec: Codec, function: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = compress(codec, compressible(500))

    def fail_with(error: BaseException) -> None:
        def failing(*arguments: object) -> int:
            raise error

        monkeypatch.setattr(f"octavo.format.compression.{function}", failing)

    fail_with(PanicException("index out of bounds"))
    with pytest.raises(InvalidRecordError, match="index out of bounds"):
        decompress(codec, stream)
    fail_with(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        decompress(codec, stream)


def test_threads_with_a_scratch_each_do_not_disturb_one_another() -> None:
    parts = [compressible(size) for size in range(1000, 140_000, 7001)]
    streams = [(codec, compress(codec, part), part) for codec in PACKING for part in parts]

    def unpack_all(seed: int) -> int:
        scratch = Scratch()
        order = random.Random(seed).sample(streams, len(streams))
        return sum(decompress(codec, stream, scratch=scratch) == part for codec, stream, part in order)

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(unpack_all, range(8))) == [len(streams)] * 8


def test_libraries_are_loaded_by_the_first_stream_that_needs_them() -> None:
    code = (
        "import sys\n"
        "from octavo.format.compression import compress\n"
        "print([name in sys.modules for name in ('cramjam', 'isal', 'zstandard')])\n"
        "compress(2, b'')\n"
        "print([name in sys.modules for name in ('cramjam', 'isal', 'zstandard')])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == ["[False, False, False]", "[True, False, False]"]
