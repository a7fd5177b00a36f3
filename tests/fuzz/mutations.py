"""Changes to bytes that tend to break decoders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

# Lengths and counts at which code takes another path, or should.
NUMBERS = (
    *(0, 1, 2, -1, -2, 7, 13, 14, 16, 17, 26, 27, 60, 61, 62, 63, 64, 127, 128, 255, 256, 4096, 32767, -32768),
    *(65535, 65536, 1 << 20, (1 << 24) - 1, (1 << 31) - 13, (1 << 31) - 1, -(1 << 31), 1 << 31, (1 << 32) - 1),
    *((1 << 63) - 1, -(1 << 63), 1 << 62, 1_700_000_000_000),
)
BYTES = (0x00, 0x01, 0x02, 0x7F, 0x80, 0xFE, 0xFF)
# Variable-length numbers: longer than necessary, without an end, the largest, the smallest, -1.
VARINTS = tuple(map(bytes.fromhex, ("8080808000", "ff" * 5, "ff" * 11, "feffffff0f", "ffffffff0f", "01")))
# What text parsers trip over: numbers out of range, other digits and line ends, escapes, nesting, broken UTF-8.
WORDS = (
    *(b"-1", b"0", b"+5", b"99999999999999999999", b"9223372036854775808", b"2147483648", b"1e9", b"0x10", b"1" * 5000),
    *(b" ", b"\n", b"\r\n", b"\r", b"\t", b"\0", "\u2028".encode(), "\u0663".encode()),
    *(b"NaN", b"null", b"-", b".", b"_"),
    *(b"\\", b"\\u00", b"=", b":", b"#", b"{", b"[", b"[" * 2000, b'"', b"\xed\xa0\x80", b"\xc0\x80", b"\xf5"),
)

Change = Callable[[Random, bytearray, Sequence[bytes]], None]


def mutated(random: Random, data: bytes, others: Sequence[bytes], *, text: bool = False) -> bytearray:
    """A few changes, occasionally many; `others` lend their bytes."""
    changed = bytearray(data)
    changes = TEXT_CHANGES if text else BINARY_CHANGES
    for _ in range(random.choice((1, 1, 1, 2, 2, 3, 5, 12))):
        random.choice(changes)(random, changed, others)
    return changed


def place(random: Random, data: bytearray) -> int:
    """A position; half of the changes go to the front, where headers and lengths are."""
    return random.randrange(min(len(data), 80) if random.random() < 0.5 else len(data)) if data else 0


def flip_bit(random: Random, data: bytearray, others: Sequence[bytes]) -> None:
    if data:
        data[place(random, data)] ^= 1 << random.randrange(8)


def set_byte(random: Random, data: bytearray, others: Sequence[bytes]) -> None:
    if data:
        data[place(random, data)] = random.choice(BYTES) if random.random() < 0.6 else random.randrange(256)


def set_number(random: Random, data: bytearray, others: Sequence[bytes]) -> None:
    width = random.choice((1, 2, 4, 4, 4, 8))
    at = place(random, data)
    order = "big" if random.random() < 0.8 else "little"
    if at + width <= len(data):
        data[at : at + width] = (random.choice(NUMBERS) % (1 << 8 * width)).to_bytes(width, order)  # type: ignore[arg-type]


def nudge_number(random: Random, data: bytearray, others: Sequence[bytes]) -> None:
    width = random.choice((1, 1, 2, 4, 8))
    at = place(random, data)
    if at + width <= len(data):
        value = int.from_bytes(data[at : at + width]) + random.choice((-8, -2, -1, 1, 2, 8))
        data[at : at + width] = (value % (1 << 8 * width)).to_bytes(width)


def set_varint(random: Random, data: bytearray, others: Sequence[bytes]) -> None:
    at = place(random, data)
    data[at : at + random.choice((0, 1, 1, 5))] = random.choice(VARINTS)


def delete(random: Random, data: bytearray, others: Sequence[bytes]) -> None:
    at = place(random, data)
    del data[at : at + random.choice((1, 1, 2, 4, 8, 61, 200))]


def insert(random: Random, data: bytearray, others: Sequence[bytes]) -> None:
    at = place(random, data)
    count = random.choice((1, 1, 2, 4, 8, 100))
    data[at:at] = random.randbytes(count) if random.random() < 0.5 else bytes([random.choice(BYTES)]) * count


def duplicate(random: Random, data: bytearray, others: Sequence[bytes]) -> None:
    start = place(random, data)
    piece = data[start : start + random.choice((1, 4, 8, 26, 61, 500))]
    at = start if random.random() < 0.5 else place(random, data)
    data[at:at] = piece


def swap(random: Random, data: bytearray, others: Sequence[bytes]) -> None:
    one, other = place(random, data), place(random, data)
    width = random.choice((1, 2, 4, 8))
    if max(one, other) + width <= len(data):
        data[one : one + width], data[other : other + width] = data[other : other + width], data[one : one + width]


def truncate(random: Random, data: bytearray, others: Sequence[bytes]) -> None:
    del data[random.randrange(len(data) + 1) :]


def extend(random: Random, data: bytearray, others: Sequence[bytes]) -> None:
    count = random.choice((1, 17, 18, 61, 300))
    data += random.choice((bytes(count), b"\xff" * count, random.randbytes(count)))


def splice(random: Random, data: bytearray, others: Sequence[bytes]) -> None:
    other = random.choice(others)
    start = random.randrange(len(other) + 1)
    at = place(random, data)
    data[at : at + random.choice((0, 4, 1000))] = other[start : start + random.choice((4, 61, 1000))]


def put_word(random: Random, data: bytearray, others: Sequence[bytes]) -> None:
    at = random.randrange(len(data) + 1)
    data[at : at + random.choice((0, 0, 1, 3))] = random.choice(WORDS)


def drop_line(random: Random, data: bytearray, others: Sequence[bytes]) -> None:
    lines = data.split(b"\n")
    lines.pop(random.randrange(len(lines)))
    data[:] = b"\n".join(lines)


SHAPES: tuple[Change, ...] = (delete, insert, duplicate, truncate, extend, splice)
BINARY_CHANGES: tuple[Change, ...] = (
    *(flip_bit, flip_bit, set_byte, set_byte, set_number, set_number, set_number, nudge_number, nudge_number),
    *(set_varint, swap, *SHAPES),
)
TEXT_CHANGES: tuple[Change, ...] = (flip_bit, set_byte, put_word, put_word, put_word, drop_line, *SHAPES)
