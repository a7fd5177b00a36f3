"""Summarizes the batches of a log file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from octavo.cli.explain.open_log import FileTail, OpenLog, tail_text
from octavo.format.anatomy.meanings import attribute_flags, codec_text
from octavo.format.batches.batch_summary import last_offsets
from octavo.format.batches.chunk_walk import Chunk
from octavo.kernels import layout
from octavo.kernels.layout import Flaw, Stop


class BatchOverview(NamedTuple):
    """One batch. A compressed v0/v1 message does not say how many messages it holds, nor their first offset."""

    position: int
    baseOffset: int | None
    lastOffset: int
    records: int | None
    size: int
    magic: int
    codec: str
    flags: list[str]
    problems: list[str]


class Overview:
    """The batches of a file; after the iteration `tail` says where and why they ended."""

    def __init__(self, log: OpenLog) -> None:
        self.tail = FileTail(0, Stop.END)
        self.has_problems = False
        self._log = log

    def __iter__(self) -> Iterator[BatchOverview]:
        for chunk in self._log.walk():
            yield from self._summaries(chunk)
            if chunk.stop is not None:
                self.tail = FileTail(chunk.stop_position, chunk.stop)
        if self.tail.stop is Stop.SIZE_TOO_SMALL and not self._log.ends_in_zeros(self.tail.position):
            self.has_problems = True

    def tail_text(self) -> str:
        return tail_text(self._log, self.tail)

    def _summaries(self, chunk: Chunk) -> Iterator[BatchOverview]:
        names = ("position", "base_offset", "count", "size", "magic", "attributes", "flaws")
        columns = [chunk.table[name].tolist() for name in names]
        for last_offset, position, base_offset, count, size, magic, attributes, flaws in zip(
            last_offsets(chunk.table).tolist(), *columns, strict=True
        ):
            wrapped = magic < 2 and attributes & layout.CODEC_MASK
            codec = codec_text(attributes)
            problems = [text for flaw, text in _PROBLEMS.items() if flaws & flaw]
            problems += [] if codec else [f"unknown codec {attributes & layout.CODEC_MASK}"]
            self.has_problems = self.has_problems or bool(problems)
            yield BatchOverview(
                chunk.file_position + position,
                None if wrapped else base_offset,
                last_offset,
                None if wrapped else count,
                size,
                magic,
                codec,
                attribute_flags(attributes, magic),
                problems,
            )


_PROBLEMS = {
    Flaw.CRC_MISMATCH: "wrong CRC",
    Flaw.TOO_SHORT: "shorter than a header",
    Flaw.UNKNOWN_MAGIC: "unknown magic",
}
