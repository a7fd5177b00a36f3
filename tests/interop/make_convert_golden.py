"""Make tests/data/convert.json again: sets and what Kafka's own classes convert them to.

`python -m tests.interop.make_convert_golden` (after `make kafka`). Down-conversion by `MemoryRecords.downConvert` of
kafka-clients 3.9.2; appends by `LogValidator` and rewrites by the cleaner's filter of 4.3.1. All inputs are made by
`MemoryRecordsBuilder` of 3.9.2, except those that no builder makes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from octavo.format.batches.batch import read_header
from octavo.format.compression import Codec, compress
from octavo.format.legacy.message_set import encode_message, encode_message_set
from octavo.format.record import Record, TimestampType
from tests.format.exact_batches import empty_batch
from tests.format.stamped import with_timestamp
from tests.interop.conversion_process import Kafka

OUT = Path(__file__).parents[1] / "data" / "convert.json"
TS0 = 1700000000000
HEADERS = [["h", "78"], ["n", None], ["h", ""]]
LEGACY: list[list[Any]] = [
    [100, TS0, "6b", "7631", []],
    [101, TS0 + 5, None, "7632", []],
    [103, TS0 - 1, "", None, []],
    [104, TS0 + 5, "6b", "", []],
]
WITH_HEADERS = [[*record[:4], HEADERS if at % 2 == 0 else []] for at, record in enumerate(LEGACY)]
IN_TRANSACTION = {"producer_id": 4000, "producer_epoch": 3, "base_sequence": 7, "is_transactional": True}
MARKER = [[105, TS0 + 9, "00000001", "000000000009", []]]
CODEC_NAMES = [codec.name.lower() for codec in Codec]

Sets = dict[str, bytes]
Case = dict[str, Any]


def built_sets(kafka: Kafka) -> Sets:
    """v0, v1 and v2 with each codec they allow, v1 and v2 also with LogAppendTime; a transactional batch; a marker."""
    sets: Sets = {}
    for codec, name in enumerate(CODEC_NAMES):
        for log_append_time, suffix in ((None, ""), (TS0 + 7, " LogAppendTime")):
            common: Case = {"codec": codec, "log_append_time": log_append_time}
            sets[f"v2 {name}{suffix}"] = kafka.build(magic=2, records=WITH_HEADERS, partition_leader_epoch=5, **common)
            if codec != Codec.ZSTD:
                sets[f"v1 {name}{suffix}"] = kafka.build(magic=1, records=LEGACY, **common)
        if codec != Codec.ZSTD:
            sets[f"v0 {name}"] = kafka.build(magic=0, records=LEGACY, codec=codec)
    sets["v2 transactional"] = kafka.build(magic=2, codec=0, records=WITH_HEADERS, **IN_TRANSACTION)
    sets["v2 marker"] = kafka.build(
        magic=2, codec=0, records=MARKER, is_control=True, **{**IN_TRANSACTION, "base_sequence": -1}
    )
    return sets


def odd_sets(sets: Sets) -> Sets:
    """What brokers and clients left in logs, though no builder of today makes it."""
    records = [Record(at, TS0 + at, b"k%d" % at, b"v") for at in range(3)]
    wrapper = encode_message_set(records, 1, codec=Codec.GZIP)
    mismatch = Record(12, TS0, None, compress(Codec.GZIP, encode_message_set(records, 0), magic=1))
    return {
        "v1 stamped in place": with_timestamp(wrapper, TimestampType.LOG_APPEND_TIME, TS0 + 7),
        "v1 wrapper of offset 0": (0).to_bytes(8) + wrapper[8:],
        "v1 wrapper of v0 messages": encode_message(mismatch, 1, Codec.GZIP),
        "v1 LogAppendTime wrapper of v0 messages": encode_message(mismatch, 1, Codec.GZIP | 8),
        "v2 emptied": empty_batch(read_header(sets["v2 transactional"])),
        "mixed": sets["v0 none"] + sets["v1 gzip"] + sets["v2 transactional"] + sets["v2 marker"] + sets["v2 lz4"],
        "cut short": sets["v2 none"] + sets["v2 none"][:-1],
    }


def down_conversions(sets: Sets) -> Iterator[Case]:
    for name in sets:
        for to_magic in (0, 1, 2) if name in ("mixed", "cut short") else (0, 1):
            for first_offset in (0, 102) if name in ("v2 none", "v2 gzip", "v1 none", "mixed") else (0,):
                yield {"set": name, "to_magic": to_magic, "first_offset": first_offset}


def appends(sets: Sets) -> Iterator[Case]:
    for name in sets:
        magic, codec = int(name[1]), CODEC_NAMES.index(name.split()[1])
        for to_magic in range(magic + 1, 3):
            for target in sorted({codec, Codec.NONE, Codec.LZ4}):
                for log_append_time in (None, TS0 + 99):
                    yield {
                        "set": name,
                        "to_magic": to_magic,
                        "first_offset": 7000,
                        "source_codec": codec,
                        "codec": int(target),
                        "log_append_time": log_append_time,
                        "partition_leader_epoch": 12 if to_magic == 2 else -1,
                    }


def answered(kafka: Kafka, operation: str, sets: Sets, case: Case) -> Case:
    answer = kafka.ask(operation, data=sets[case["set"]].hex(), **case)
    result = {"result": answer.hex()} if isinstance(answer, bytes) else {"error": answer}
    return {"operation": operation, **case, **result}


def make() -> tuple[Sets, list[Case]]:
    with Kafka("3.9.2") as old, Kafka("4.3.1") as new:
        sets = built_sets(old)
        produced = {name: data for name, data in sets.items() if name[1] in "01" and "LogAppendTime" not in name}
        sets |= odd_sets(sets)
        legacy = [name for name in sets if name.startswith(("v0", "v1"))]
        return sets, [
            *(answered(old, "down_convert", sets, case) for case in down_conversions(sets)),
            *(answered(new, "append", sets, case) for case in appends(produced)),
            *(answered(new, "rewrite", sets, {"set": name}) for name in legacy),
        ]


def written(sets: Sets, cases: list[Case]) -> str:
    """One line per set and per case, so that a diff shows what changed."""
    named = ",\n".join(f"{json.dumps(name)}: {json.dumps(data.hex())}" for name, data in sets.items())
    listed = ",\n".join(map(json.dumps, cases))
    return f'{{"sets": {{\n{named}\n}},\n"cases": [\n{listed}\n]}}\n'


if __name__ == "__main__":
    OUT.write_text(written(*make()))
