"""A small sound directory into which hostile files are put."""

from __future__ import annotations

from pathlib import Path
from random import Random

import zstandard

import octavo
from octavo.format.batches.batch import frame_batch
from octavo.format.batches.header import BatchHeader
from octavo.format.compression import Codec
from tests.attack.works import CODECS

TOPIC, PARTITION = "t", "t-0"
TIME_MS = 1_700_000_000_000
CONFIGS = {
    "offsets.topic.num.partitions": 1,
    "transaction.state.log.num.partitions": 1,
    "log.index.size.max.bytes": 1024,
}
_BOMB_BYTES = 3 << 30


def make_base(root: Path) -> Path:
    """Records with every codec, transactions and a group, so that each kind of file exists."""
    topic = {"segment.bytes": 2500, "retention.ms": -1, "index.interval.bytes": 100, "segment.index.bytes": 1024}
    with octavo.LogDir(root, background=False, configs=CONFIGS) as logs:
        logs.create_topic(TOPIC, 1, topic)
        for codec in CODECS:
            with logs.producer(compression_type=codec) as producer:
                for number in range(15):
                    key = f"{codec}{number}"
                    producer.send(TOPIC, Random(key).randbytes(40), key=key, timestamp=TIME_MS + number).result()
        with logs.producer(transactional_id="x") as producer:
            producer.begin_transaction()
            producer.send(TOPIC, b"aborted")
            producer.flush()
            producer.abort_transaction()
        with logs.consumer(TOPIC, group="g") as consumer:
            consumer.poll(100)
    return root


def make_bomb() -> bytes:
    """A batch of about 100 KB that would decompress to gigabytes."""
    packer, zeros = zstandard.ZstdCompressor(level=1).compressobj(), bytes(1 << 20)
    packed = b"".join(packer.compress(zeros) for _ in range(_BOMB_BYTES >> 20)) + packer.flush()
    header = BatchHeader(attributes=int(Codec.ZSTD), count=1, base_timestamp=TIME_MS, max_timestamp=TIME_MS)
    return frame_batch(header, packed)
