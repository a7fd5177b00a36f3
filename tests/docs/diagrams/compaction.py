"""A partition before and after compaction, from a log that is really compacted."""

from __future__ import annotations

from typing import NamedTuple

from octavo.format.batches.batch import decode_batch
from octavo.format.names import FileKind
from octavo.format.record import Record
from octavo.jobs.compact import Compaction, CompactRequest
from octavo.system.runner import InlineRunner
from tests.client.stores import Store
from tests.docs.diagrams.svg import Drawing
from tests.docs.diagrams.written import batches, store

Sent = list[tuple[str, str | None]]

DAY_MS = 86_400_000
CLOSED: Sent = [("a", "1"), ("b", "1"), ("a", "2"), ("c", "1"), ("b", None), ("a", "3"), ("d", "1"), ("c", "2")]
ACTIVE: Sent = [("a", "4"), ("d", "2")]
LEFT, CELL = 180, 72


class Seen(NamedTuple):
    """What a log holds at a moment: its records by offset, and its size in bytes."""

    records: dict[int, Record]
    size: int


def draw() -> Drawing:
    with store() as written:
        configs = {"cleanup.policy": "compact", "delete.retention.ms": str(DAY_MS), "min.cleanable.dirty.ratio": "0"}
        written.logs.create_topic("totals", 1, configs)
        _send(written, CLOSED)
        written.logs.log("totals", 0).roll()
        _send(written, ACTIVE)
        seen = [_look(written)]
        for days in (0, 2):
            written.world.clock.now_ms += days * DAY_MS
            request = CompactRequest(topics=["totals"], force=True)
            [row] = Compaction(request, written.logs).rows(InlineRunner())
            assert row.cleaned is not None and row.error is None
            seen.append(_look(written))
    drawing = Drawing("A log before and after compaction", 940, 366)
    drawing.text(40, 30, "Compaction keeps the last record of every key, at its offset", "ink title")
    titles = ("before", "after a round", "two days later")
    for number, (title, log) in enumerate(zip(titles, seen, strict=True)):
        _row(drawing, 74 + number * 76, title, log, seen[0])
    last = LEFT + len(CLOSED) * CELL
    drawing.line((last - 1, 52), (last - 1, 296), dashed=True)
    drawing.text(last - 8, 62, "closed segments", "soft small", anchor="end")
    drawing.text(last + 6, 62, "active: not cleaned", "soft small")
    for x, fill, text in (
        (40, "green", "the last of its key among the closed segments: stays"),
        (390, "orange", "null value, a tombstone: stays for delete.retention.ms (here a day)"),
    ):
        drawing.box(x, 316, 16, 14, fill)
        drawing.text(x + 22, 327, text, "soft small")
    text = "Offsets never change: a reader that asks for one that is gone gets the next record."
    drawing.text(40, 352, text, "soft")
    return drawing


def _send(written: Store, records: Sent) -> None:
    with written.logs.producer(linger_ms=0, enable_idempotence=False) as producer:
        for key, value in records:
            producer.send("totals", value, key=key)


def _look(written: Store) -> Seen:
    data = b"".join(path.read_bytes() for path in sorted(written.folder.glob(f"totals-0/*{FileKind.LOG}")))
    records = [record for batch in batches(data) for record in decode_batch(data, batch.position)[1]]
    return Seen({record.offset: record for record in records}, len(data))


def _row(drawing: Drawing, y: int, title: str, log: Seen, before: Seen) -> None:
    drawing.text(40, y + 20, title, "ink")
    drawing.text(40, y + 38, f"{len(log.records)} records, {log.size} bytes", "soft small")
    closed = [key for key, _ in CLOSED]
    for offset in before.records:
        x, record = LEFT + offset * CELL, log.records.get(offset)
        if record is None:
            drawing.box(x + 2, y, CELL - 4, 34, "none", dashed=True)
        else:
            key = (record.key or b"").decode()
            is_last = offset < len(CLOSED) and key not in closed[offset + 1 :]
            fill = ("orange" if record.value is None else "green") if is_last else "plain"
            drawing.cell(x + 2, y, CELL - 4, 34, f"{key} = {(record.value or b'null').decode()}", fill)
        drawing.text(x + CELL / 2, y + 48, str(offset), "soft small", anchor="middle")
