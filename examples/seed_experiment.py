"""Write the records of three published experiments with Kafka's log, and compare them with what the brokers wrote.

The documents give size and checksum of single records and of three records in one batch (format v2, Kafka 1.0), and of
one message in format v0 (Kafka 0.8.2). The bytes are shown, and written as segment files to the folder given as
argument (default: build/demo). Exit code 1 if a figure differs.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from octavo.format.batches.batch import build_batch, read_header
from octavo.format.legacy.message_set import encode_message
from octavo.format.names import FileKind, SegmentFile
from octavo.format.record import Record

VALUE = b"this is for test partition log format"


@dataclass(frozen=True)
class Experiment:
    """What was written, and the figures that the documents give for it (`fact`: docs/compatibility.md)."""

    fact: str
    title: str
    data: bytes
    size: int
    crc: int

    @property
    def found(self) -> tuple[int, int]:
        """Size and checksum, read back from the bytes."""
        return len(self.data), read_header(self.data).crc

    @property
    def agrees(self) -> bool:
        return self.found == (self.size, self.crc)


def batch(leader_epoch: int, *records: tuple[int, int, bytes]) -> bytes:
    """One v2 batch of records, each given by offset, timestamp and key."""
    return build_batch(
        [Record(offset, timestamp, key, VALUE) for offset, timestamp, key in records],
        partition_leader_epoch=leader_epoch,
    )


def experiments() -> list[Experiment]:
    three = [(5, 1547015227193, b"0"), (6, 1547015227208, b"1"), (7, 1547015227208, b"2")]
    message = encode_message(Record(0, -1, b"key", b"value"), magic=0)
    return [
        Experiment("F12", "v2, one record, key 0", batch(0, (0, 1547003374605, b"0")), 106, 505866327),
        Experiment("F12", "v2, the same later", batch(0, (1, 1547003869957, b"0")), 106, 812988848),
        Experiment("F12", "v2, one record, key 1", batch(1, (3, 1547014144085, b"1")), 106, 2729488342),
        Experiment("F13", "v2, three records in a batch", batch(1, *three), 196, 3913926735),
        Experiment("F7", "v0, key `key`, value `value`", message, 34, 592888119),
    ]


def show(written: list[Experiment]) -> None:
    for experiment in written:
        print(f"{experiment.fact}: {experiment.title}")
        show_bytes(experiment.data)
        print()
    line = "{:<5}{:<30}{:>6}{:>10}{:>12}{:>12}  {}"
    print(line.format("fact", "written", "bytes", "document", "crc", "document", "").rstrip())
    for experiment in written:
        size, crc = experiment.found
        verdict = "same" if experiment.agrees else "DIFFERENT"
        print(line.format(experiment.fact, experiment.title, size, experiment.size, crc, experiment.crc, verdict))


def show_bytes(data: bytes) -> None:
    for start in range(0, len(data), 16):
        row = data[start : start + 16]
        text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
        print(f"  {start:>4}  {row.hex(' '):<47}  {text}")


def write(written: list[Experiment], folder: Path) -> None:
    """One partition folder for the messages, one for the batches, each with a first segment."""
    for partition, facts in (("message-v0-0", {"F7"}), ("log-format-0", {"F12", "F13"})):
        segment = folder / partition / SegmentFile(0, FileKind.LOG).name
        segment.parent.mkdir(parents=True, exist_ok=True)
        segment.write_bytes(b"".join(experiment.data for experiment in written if experiment.fact in facts))
        print(f"{segment}: {segment.stat().st_size} bytes")


def main() -> int:
    written = experiments()
    show(written)
    different = sum(not experiment.agrees for experiment in written)
    print(f"{len(written) - different} of {len(written)} as the documents have them.")
    write(written, Path(sys.argv[1] if len(sys.argv) > 1 else "build/demo"))
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
