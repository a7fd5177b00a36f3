"""How an offset is found: segment by name, entry of the offset index, then the log from that position on."""

from __future__ import annotations

from octavo.format.batches.header import BatchHeader
from octavo.format.indexes.offset_index import OffsetIndex
from octavo.format.names import FileKind
from octavo.scanner.lookup.lookup import LookupResult, find_offset
from tests.docs.diagrams.svg import Drawing
from tests.docs.diagrams.written import batches, segment_bytes, snapshot, store

WANTED = 55
LEFT, WIDTH = 40, 860


def draw() -> Drawing:
    with store() as written:
        logs = written.logs
        configs = {"segment.bytes": "2000", "index.interval.bytes": "400", "segment.index.bytes": "800"}
        logs.create_topic("orders", 1, configs)
        with logs.producer(linger_ms=0) as producer:
            for number in range(32):
                for one in range(3):
                    producer.send("orders", b"v" * (20 + 7 * (number % 4)), key=b"k%d" % one)
                producer.flush()
        logs.close()
        folder = written.folder / "orders-0"
        seen = snapshot(folder)
        found = find_offset(seen, WANTED, seen.log_end_offset)
        assert found.segment is not None and found.offset == WANTED
        base_offset = found.segment.base_offset
        index = OffsetIndex.decode(segment_bytes(folder, base_offset, FileKind.OFFSET_INDEX), base_offset).used()
        shown = batches(segment_bytes(folder, base_offset, FileKind.LOG))
        bases = [segment.base_offset for segment in seen.segments]
    drawing = Drawing(f"How offset {WANTED} is found", 940, 420)
    drawing.text(LEFT, 30, f"Where is offset {WANTED}?", "ink title")
    _segments(drawing, bases, base_offset)
    entry_x = _index(drawing, list(index), found, base_offset)
    _log(drawing, shown, found, entry_x)
    return drawing


def _segments(drawing: Drawing, bases: list[int], chosen: int) -> None:
    drawing.text(
        LEFT, 62, f"1  The segment: the largest base offset in a file's name that is not above {WANTED}", "ink"
    )
    for number, base in enumerate(bases):
        fill = "green" if base == chosen else "plain"
        drawing.cell(LEFT + number * 215, 74, 205, 28, f"{base:020}.log", fill)


def _index(drawing: Drawing, entries: list[tuple[int, int]], found: LookupResult, base: int) -> float:
    """Draw the entries; returns the middle of the one that is used."""
    relative = WANTED - base
    text = (
        f"2  Its .index: binary search for the largest relative offset that is not above {WANTED} − {base} = {relative}"
    )
    drawing.text(LEFT, 142, text, "ink")
    drawing.text(LEFT, 172, "relative_offset", "soft code")
    drawing.text(LEFT, 198, "position", "soft code")
    middle: float = LEFT
    for number, (offset, position) in enumerate(entries):
        is_used, x = (offset, position) == found.offset_index_entry, LEFT + 130 + number * 90
        fill = "green" if is_used else "plain"
        drawing.cell(x, 154, 80, 26, str(offset - base), fill)
        drawing.cell(x, 180, 80, 26, str(position), fill)
        middle = x + 40 if is_used else middle
    return middle


def _log(drawing: Drawing, shown: list[BatchHeader], found: LookupResult, entry_x: float) -> None:
    total = shown[-1].position + shown[-1].size
    scale = WIDTH / total
    start, target = found.start_position or 0, found.batch_position or 0
    drawing.text(LEFT, 246, f"3  Its .log: read from there to the batch that holds offset {WANTED}", "ink")
    for batch in shown:
        if batch.position == target:
            fill = "green"
        elif start <= batch.position < target:
            fill = "orange"
        else:
            fill = "plain"
        x, width = LEFT + batch.position * scale, batch.size * scale
        drawing.cell(x, 292, width, 34, f"{batch.base_offset}–{batch.base_offset + batch.last_offset_delta}", fill)
        drawing.text(x, 342, str(batch.position), "soft small")
    drawing.text(LEFT + WIDTH, 342, str(total), "soft small", anchor="end")
    x = LEFT + start * scale
    drawing.arrow((entry_x, 206), (entry_x, 222), (x, 222), (x, 290))
    drawing.brace(x, LEFT + target * scale, 350, "headers are read, records are skipped")
    size = next(batch.size for batch in shown if batch.position == target)
    drawing.text(LEFT + (target + size / 2) * scale, 262, "found", "ink", anchor="middle")
    drawing.arrow((LEFT + (target + size / 2) * scale, 268), (LEFT + (target + size / 2) * scale, 290))
    drawing.text(
        LEFT, 404, "Boxes are batches with their first and last offset; numbers below are positions in bytes.", "soft"
    )
