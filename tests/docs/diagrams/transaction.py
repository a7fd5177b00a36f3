"""Two transactions and a plain producer in one partition, batch by batch, with what read_committed may read."""

from __future__ import annotations

from octavo.format.batches.header import BatchHeader
from octavo.format.indexes import txn_index
from octavo.format.indexes.txn_index import AbortedTxn
from octavo.format.names import FileKind
from octavo.kernels import layout
from tests.docs.diagrams.svg import Drawing
from tests.docs.diagrams.written import batches, segment_bytes, store

LEFT, STEP, TOP = 184, 70, 60
FILLS = {"A": "blue", "B": "orange", "": "plain"}


def draw() -> Drawing:
    with store() as written:
        logs = written.logs
        logs.create_topic("orders", 1)
        log, ends, stable = logs.log("orders", 0), list[str](), list[int]()
        names: dict[int, str] = {}

        def note(what: str) -> None:
            ends.append(what)
            stable.append(log.last_stable_offset)

        first = logs.producer(transactional_id="A", linger_ms=0)
        second = logs.producer(transactional_id="B", linger_ms=0)
        plain = logs.producer(linger_ms=0, enable_idempotence=False)
        first.begin_transaction()
        second.begin_transaction()
        for producer, name, count in ((first, "A", 2), (plain, "", 1), (second, "B", 2), (first, "A", 1)):
            for number in range(count):
                producer.send("orders", b"v%d" % number)
            producer.flush()
            names[batches(written.batches("orders"))[-1].producer_id] = name
            note(f"{name} sends" if name else "a plain send")
        first.commit_transaction()
        note("A commits")
        plain.send("orders", b"v")
        plain.flush()
        note("a plain send")
        second.abort_transaction()
        note("B aborts")
        shown = batches(written.batches("orders"))
        logs.close()
        index = segment_bytes(written.folder / "orders-0", 0, FileKind.TXN_INDEX)
    [aborted] = txn_index.decode(index).aborted
    return _drawn(shown, ends, stable, names, aborted)


def _drawn(
    shown: list[BatchHeader], events: list[str], stable: list[int], names: dict[int, str], aborted: AbortedTxn
) -> Drawing:
    end = shown[-1].base_offset + shown[-1].last_offset_delta + 1
    drawing = Drawing("Two transactions in a partition", 940, 470)
    drawing.text(40, 30, "Two transactions, A and B, and a producer without one, in one partition", "ink title")
    drawing.text(40, TOP + 22, "the .log, as batches", "ink")
    drawing.text(40, TOP + 60, "offsets", "soft")
    x_of = {offset: LEFT + offset * STEP for offset in range(end + 1)}
    for batch in shown:
        first, after = batch.base_offset, batch.base_offset + batch.last_offset_delta + 1
        is_marker = bool(batch.attributes & layout.CONTROL)
        name = names[batch.producer_id]
        fill = ("red" if batch is shown[-1] else "green") if is_marker else FILLS[name]
        text = ("ABORT " if batch is shown[-1] else "COMMIT ") + name if is_marker else name or "plain"
        drawing.cell(x_of[first] + 2, TOP, x_of[after] - x_of[first] - 4, 34, text, fill)
        for offset in range(first, after):
            drawing.text(x_of[offset] + STEP / 2, TOP + 60, str(offset), "soft small", anchor="middle")
    drawing.text(40, TOP + 104, "The last stable offset (LSO) after each append: read_committed reads below it", "ink")
    for number, (event, offset) in enumerate(zip(events, stable, strict=True)):
        y = TOP + 118 + number * 26
        appended = shown[number].base_offset + shown[number].last_offset_delta + 1
        drawing.text(40, y + 15, f"{number + 1}  {event}", "soft")
        if offset:
            drawing.box(x_of[0] + 2, y + 4, x_of[offset] - x_of[0] - 4, 14, "green")
        if appended > offset:
            drawing.box(x_of[offset] + 2, y + 4, x_of[appended] - x_of[offset] - 4, 14, "plain", dashed=True)
        drawing.text(x_of[appended] + 6, y + 15, f"LSO {offset}, log end {appended}", "soft small")
    y = TOP + 118 + len(events) * 26 + 26
    drawing.text(40, y, "The .txnindex has one entry, for B; readers of committed records leave B's batches out", "ink")
    for number, field in enumerate(txn_index.ENTRY.fields):
        value = 0 if field == "version" else getattr(aborted, field)
        drawing.text(40 + number * 170, y + 22, field, "soft code")
        drawing.cell(40 + number * 170, y + 30, 160, 28, str(value), "orange" if field != "version" else "plain")
    drawing.text(40, y + 82, "COMMIT leaves no entry. A marker is a batch of its own and takes an offset.", "soft")
    drawing.height = y + 100
    return drawing
