"""Rebuild five batches of records that were published with the size and checksum a broker gave them, and compare.

Texts about how Kafka stores messages show what brokers wrote in an experiment: single records and three records in one
batch (format v2, Kafka 1.0), and one message in format v0 (Kafka 0.8.2). Octavo encodes the same records: if size and
CRC agree with the published figures, every byte under the checksum does. The bytes are shown, and written as segment
files to the folder given as argument (default: build/demo). Exit code 1 if a figure differs.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from octavo.format.batches.batch import build_batch, read_header
from octavo.format.legacy.message_set import encode_message
from octavo.format.names import FileKind, SegmentFile
from octavo.format.record import Record

V2_TOPIC, V0_TOPIC = "log-format", "message-v0"
VALUE = b"this is for test partition log format"


@dataclass(frozen=True)
class Experiment:
    """What was written, to which topic, and the published size and CRC."""

    topic: str
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
        Experiment(V2_TOPIC, "v2, one record, key 0", batch(0, (0, 1547003374605, b"0")), 106, 505866327),
        Experiment(V2_TOPIC, "v2, the same, 8 minutes later", batch(0, (1, 1547003869957, b"0")), 106, 812988848),
        Experiment(V2_TOPIC, "v2, one record, key 1", batch(1, (3, 1547014144085, b"1")), 106, 2729488342),
        Experiment(V2_TOPIC, "v2, three records in a batch", batch(1, *three), 196, 3913926735),
        Experiment(V0_TOPIC, "v0, key `key`, value `value`", message, 34, 592888119),
    ]


def show(written: list[Experiment]) -> None:
    print("Five batches of records that others published with their size and CRC, encoded by Octavo:\n")
    for experiment in written:
        print(experiment.title)
        show_bytes(experiment.data)
        print()
    line = "{:<30}{:>7}{:>11}{:>13}{:>12}  {}"
    print(line.format("batch", "bytes", "published", "crc", "published", "").rstrip())
    for experiment in written:
        size, crc = experiment.found
        verdict = "same" if experiment.agrees else "DIFFERENT"
        print(line.format(experiment.title, size, experiment.size, crc, experiment.crc, verdict))


def show_bytes(data: bytes) -> None:
    for start in range(0, len(data), 16):
        row = data[start : start + 16]
        text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
        print(f"  {start:>4}  {row.hex(' '):<47}  {text}")


def write(written: list[Experiment], folder: Path) -> None:
    """Write one partition folder for the v0 message and one for the v2 batches, each with one segment."""
    print("Written as segment files, which `octavo dump-log --files` and `octavo explain` read:")
    for topic in (V0_TOPIC, V2_TOPIC):
        segment = folder / f"{topic}-0" / SegmentFile(0, FileKind.LOG).name
        segment.parent.mkdir(parents=True, exist_ok=True)
        segment.write_bytes(b"".join(experiment.data for experiment in written if experiment.topic == topic))
        print(f"  {segment}  {segment.stat().st_size} bytes")


def main() -> int:
    written = experiments()
    show(written)
    different = sum(not experiment.agrees for experiment in written)
    print(f"{len(written) - different} of {len(written)} match the published figures.\n")
    write(written, Path(sys.argv[1] if len(sys.argv) > 1 else "build/demo"))
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
