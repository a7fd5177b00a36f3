"""The bytes of a v2 batch, and of v1 and v0 messages below it, from the layouts that the code reads and writes by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from struct import calcsize

from octavo.format.anatomy.batch import describe_batch
from octavo.format.batches.batch import build_batch
from octavo.format.record import Header, Record
from octavo.kernels import layout
from tests.docs.diagrams.svg import Drawing

ROW_BYTES = 16
CELL = 54
HEIGHT = 34
LEFT = 48
TYPES = {"b": "int8", "h": "int16", "i": "int32", "I": "uint32", "q": "int64"}


def draw() -> Drawing:
    drawing = Drawing("The bytes of a v2 batch and of v1 and v0 messages", 936, 0)
    at = _ruler(drawing, 52)
    at = _entry(
        drawing, at, f"v2 record batch: {layout.BATCH_OVERHEAD} bytes of header, then the records",
        layout.BATCH_FIELDS, layout.ATTRIBUTES_POSITION, "records …",
    )  # fmt: skip
    at = _record(drawing, at + 8)
    for name, fields in (("v1 message", layout.MESSAGE_V1_FIELDS), ("v0 message", layout.MESSAGE_V0_FIELDS)):
        size = sum(map(calcsize, fields.values()))
        title = f"{name}: {size} bytes, then key and value, each after an int32 length"
        at = _entry(drawing, at + 14, title, fields, layout.MESSAGE_MAGIC_POSITION, "key, value …")
    _legend(drawing, at + 12)
    drawing.height = at + 44
    return drawing


def _ruler(drawing: Drawing, y: int) -> int:
    drawing.text(LEFT, 26, "Each row is 16 bytes; numbers on the left are positions in the entry.", "soft")
    for column in range(ROW_BYTES):
        drawing.text(LEFT + (column + 0.5) * CELL, y, f"+{column}", "soft small", anchor="middle")
    return y + 20


def _entry(drawing: Drawing, y: int, title: str, fields: Mapping[str, str], covered: int, rest: str) -> int:
    """One entry in rows of 16 bytes; what its CRC covers is shaded. Returns where the next may begin."""
    drawing.text(LEFT, y + 4, title, "ink title")
    top = y + 14
    at = 0
    for name, form in fields.items():
        size = calcsize(f">{form}")
        fill = "orange" if name == "crc" else "blue" if at >= covered else "plain"
        longest = max(_pieces(at, size), key=lambda piece: piece[1])
        for start, length in _pieces(at, size):
            x, row = LEFT + start % ROW_BYTES * CELL, top + start // ROW_BYTES * HEIGHT
            drawing.box(x, row, length * CELL, HEIGHT, fill)
            if (start, length) == longest:
                _name(drawing, (x, row, length * CELL), name, TYPES[form])
            else:
                drawing.label(x, row, length * CELL, HEIGHT, f"… {name}", "soft code")
        at += size
    x, row = LEFT + at % ROW_BYTES * CELL, top + at // ROW_BYTES * HEIGHT
    drawing.box(x, row, LEFT + ROW_BYTES * CELL - x, HEIGHT, "blue", dashed=True)
    drawing.label(x, row, LEFT + ROW_BYTES * CELL - x, HEIGHT, rest)
    for number in range(at // ROW_BYTES + 1):
        drawing.text(LEFT - 8, top + number * HEIGHT + 21, str(number * ROW_BYTES), "soft small", anchor="end")
    return top + (at // ROW_BYTES + 1) * HEIGHT + 14


def _name(drawing: Drawing, place: tuple[float, float, float], name: str, kind: str) -> None:
    """A field's name and type, on one line if the box is wide enough."""
    x, y, width = place
    if width > (len(name) + len(kind) + 2) * 7.2:
        drawing.label(x, y, width, HEIGHT, f"{name} {kind}")
    else:
        drawing.label(x, y - 7, width, HEIGHT, name, "ink code" if width > len(name) * 7.2 else "ink code tiny")
        drawing.label(x, y + 7, width, HEIGHT, kind, "soft code")


def _pieces(at: int, size: int) -> Iterator[tuple[int, int]]:
    """A field's bytes, cut at the ends of rows."""
    end = at + size
    while at < end:
        length = min(end, (at // ROW_BYTES + 1) * ROW_BYTES) - at
        yield at, length
        at += length


def _record(drawing: Drawing, y: int) -> int:
    """The parts of one real record, with their bytes."""
    record = Record(0, 1700000000000, b"key", b"value", (Header("h", b"x"),))
    batch = describe_batch(memoryview(build_batch([record])), 0)
    [records] = [node for node in batch.children if node.name == "records"]
    [shown] = records.children
    drawing.text(LEFT, y + 4, f"One of its records, {shown.length} bytes; lengths and deltas are varints", "ink title")
    leaves = [leaf for part in shown.children for leaf in part.children or (part,)]
    characters = [max(2 * leaf.length, 5) for leaf in leaves]
    x: float = LEFT
    for number, leaf in enumerate(leaves):
        width = ROW_BYTES * CELL * characters[number] / sum(characters)
        drawing.cell(x, y + 14, width, HEIGHT, leaf.raw.hex(), "blue")
        drawing.text(x + width / 2, y + 64 + 14 * (number % 2), leaf.name, "soft small", anchor="middle")
        x += width
    return y + 96


def _legend(drawing: Drawing, y: int) -> None:
    for x, fill, text in (
        (LEFT, "plain", "not covered by the CRC: a leader sets offset and epoch without touching it"),
        (LEFT + 500, "orange", "the CRC"),
        (LEFT + 590, "blue", "the bytes that the CRC covers, to the end"),
    ):
        drawing.box(x, y, 16, 14, fill)
        drawing.text(x + 22, y + 11, text, "soft small")
