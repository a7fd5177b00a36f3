"""What is in a set of batches, to compare sets regardless of a codec library's choices."""

from __future__ import annotations

from dataclasses import replace

from octavo.format.batches.decoder import Decoder
from octavo.format.batches.header import BatchHeader
from octavo.format.batches.row_columns import to_records
from octavo.format.batches.walker import walk
from octavo.format.compression import decompress
from octavo.format.legacy.message_set import wrapped_value
from octavo.format.record import Record
from octavo.kernels.layout import BATCH_OVERHEAD, Flaw, Stop


def unpacked(data: bytes) -> list[tuple[BatchHeader, bytes]]:
    """Each batch's header and bytes; for a compressed batch, the bytes that it unpacks to, and a header without the
    size and CRC, which depend on the codec library."""
    found = walk(data)
    assert found.stop is Stop.END
    batches = []
    for row in found.table:
        header = BatchHeader.from_row(row)
        assert header.flaws == Flaw(0)
        start, end = header.position, header.position + header.size
        if not header.codec_id:
            batches.append((replace(header, position=0), data[start:end]))
            continue
        inside = (start + BATCH_OVERHEAD, end) if header.magic == 2 else wrapped_value(found.data, start, end)
        content = decompress(header.codec_id, found.data[slice(*inside)], magic=header.magic)
        batches.append((replace(header, position=0, size=0, crc=0), bytes(content)))
    return batches


def records_of(data: bytes) -> list[Record]:
    found = walk(data)
    return [record for columns in Decoder().decode(found.data, found.table) for record in to_records(columns)]
