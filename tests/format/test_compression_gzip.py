"""gzip members as Java reads and writes them; with isal and with zlib."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from struct import pack

import pytest

from octavo.errors import CorruptionError, DecompressionLimitError, InvalidRecordError
from octavo.format.compression import Codec, Scratch, compress, decompress
from octavo.format.compression import gzip as module
from tests.format.streams import compressible

FHCRC, FEXTRA, FNAME, FCOMMENT = 2, 4, 8, 16
ALL = FHCRC | FEXTRA | FNAME | FCOMMENT


@pytest.fixture(
    autouse=True,
    params=list({module.inflate.__name__: module.inflate, "zlib": zlib}.values()),
    ids=lambda library: library.__name__,
)
def inflater(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each of the two libraries in turn; which one is used outside tests depends on the machine."""
    monkeypatch.setattr(module, "inflate", request.param)
    monkeypatch.setattr(module, "InflateError", request.param.error)
    yield


def unpack(stream: bytes, limit: int = 1 << 20) -> bytes:
    return bytes(decompress(Codec.GZIP, stream, limit=limit))


def member(data: bytes, flags: int = 0, header_crc: int | None = None) -> bytes:
    header = pack("<2sBBIBB", b"\x1f\x8b", 8, flags, 1234, 2, 3)
    if flags & FEXTRA:
        header += pack("<H", 4) + b"AB\0\0"
    if flags & FNAME:
        header += b"name\0"
    if flags & FCOMMENT:
        header += b"a comment\0"
    if flags & FHCRC:
        header += pack("<H", zlib.crc32(header) & 0xFFFF if header_crc is None else header_crc)
    deflater = zlib.compressobj(6, zlib.DEFLATED, -15)
    return header + deflater.compress(data) + deflater.flush() + pack("<II", zlib.crc32(data), len(data))


def test_the_header_is_javas() -> None:
    assert compress(Codec.GZIP, b"octavo").startswith(bytes.fromhex("1f8b08 00 00000000 00 ff"))


def test_no_data_is_an_empty_member() -> None:
    assert compress(Codec.GZIP, b"") == bytes.fromhex("1f8b08000000000000ff03000000000000000000")


@pytest.mark.parametrize("flags", [0, FHCRC, FEXTRA, FNAME, FCOMMENT, ALL, 0xE0])
def test_any_header_is_accepted(flags: int) -> None:
    assert unpack(member(b"octavo", flags)) == b"octavo"


def test_a_wrong_header_checksum_is_refused() -> None:
    with pytest.raises(InvalidRecordError, match="header checksum 0x0001") as caught:
        unpack(member(b"octavo", ALL, header_crc=1))
    assert caught.value.position == 31


@pytest.mark.parametrize("cut", range(10, 33))
def test_a_header_cut_short_is_refused(cut: int) -> None:
    with pytest.raises(InvalidRecordError, match="cut off in its header"):
        unpack(member(b"octavo", ALL)[:cut])


@pytest.mark.parametrize("head", ["1f8a08", "1f8b07", "008b08"])
def test_what_is_not_gzip_is_refused(head: str) -> None:
    stream = member(b"octavo")
    with pytest.raises(InvalidRecordError, match=f"{head}, expected a gzip header 1f8b08"):
        unpack(bytes.fromhex(head) + stream[3:])


def test_members_are_read_one_after_another() -> None:
    parts = [compressible(size) for size in (0, 1, 5000, 100_000, 3)]
    assert unpack(b"".join(member(part, ALL) for part in parts)) == b"".join(parts)


def test_ten_thousand_small_members_are_read() -> None:
    assert unpack(member(b"octavo") * 10_000) == b"octavo" * 10_000


@pytest.mark.parametrize(
    "rest",
    [
        b"\0",
        b"octavo" * 10,
        member(b"")[:18],  # too short for a member: not even read
        b"\x1f\x8b\x07" + bytes(40),
        member(b"octavo", FHCRC, header_crc=1),
        b"\x1f\x8b\x08\x04" + bytes(6) + b"\xff\xff" + bytes(40),  # a header that reaches beyond the end
    ],
)
def test_what_is_not_another_member_is_ignored(rest: bytes) -> None:
    assert unpack(member(b"octavo") + rest) == b"octavo"


def test_a_further_member_that_breaks_off_is_refused() -> None:
    with pytest.raises(InvalidRecordError):
        unpack(member(b"octavo") + member(b"octavo")[:-1])


@pytest.mark.parametrize("change", [(-8, "CRC"), (-4, "size")])
def test_a_wrong_trailer_is_refused(change: tuple[int, str]) -> None:
    at, what = change
    stream = bytearray(member(b"octavo"))
    stream[at] ^= 1
    with pytest.raises(InvalidRecordError, match=what) as caught:
        unpack(bytes(stream))
    assert caught.value.position == len(stream) - 8


@pytest.mark.parametrize("claimed", [0, 1, 5999, 6001, 0xFFFFFFFF])
def test_a_claimed_size_is_not_believed(claimed: int) -> None:
    stream = member(b"octavo" * 1000)[:-4] + pack("<I", claimed)
    scratch = Scratch()
    with pytest.raises(InvalidRecordError, match=f"size {claimed}, expected 0x[0-9a-f]+ and 6000"):
        decompress(Codec.GZIP, stream, scratch=scratch)
    assert len(scratch.buffer) <= 12_000
    with pytest.raises(DecompressionLimitError):
        decompress(Codec.GZIP, stream, scratch=scratch, limit=5999)


def test_the_limit_counts_all_members() -> None:
    stream = member(b"octavo") * 3
    assert unpack(stream, limit=18) == b"octavo" * 3
    with pytest.raises(DecompressionLimitError):
        unpack(stream, limit=17)


@pytest.mark.parametrize("content", ["07", "0500", "ffff", "00fffffffe"])
def test_broken_deflate_is_refused_at_or_after_its_beginning(content: str) -> None:
    with pytest.raises(CorruptionError) as caught:
        unpack(member(b"")[:10] + bytes.fromhex(content) + bytes(20))
    assert caught.value.position is not None
    assert caught.value.position >= 10


def test_codes_that_are_not_complete_are_refused() -> None:
    deflated = bytes.fromhex("edc13101000000c2a0f54f6d094f87a0") + bytes(70)  # to isal, an empty stream and its trailer
    with pytest.raises(InvalidRecordError, match="broken gzip stream") as caught:
        decompress(Codec.GZIP, module.HEADER + deflated)
    assert caught.value.position == len(module.HEADER)
