"""Kafka 4.3.1 on partitions that Octavo wrote, and Octavo on what the broker left, in turn on one directory."""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from octavo.storage.log.read import Isolation
from octavo.storage.log_manager import LogManager
from octavo.storage.partition_log import PartitionLog
from tests.interop.broker import Broker
from tests.interop.clients import Acknowledged, Admin, Consumer, KnownProducer, ListedOffset, Producer
from tests.interop.octavo_topics import FIRST_PRODUCER_ID, SMALL, STAMPED, TOPICS, Written
from tests.storage.consumed import ConsumedRecord, consume

pytestmark = pytest.mark.kafka

# Written elsewhere and copied in: the whole folder, or only the log files, which the broker indexes again.
COPIES = "copied", "bare"
HOUR_MS = 3_600_000
LOOKS = 20_000  # how many times the broker is asked at most
SPECIAL = -1, -2, -3  # latest, earliest, largest timestamp
ISOLATIONS = {"read_uncommitted": Isolation.READ_UNCOMMITTED, "read_committed": Isolation.READ_COMMITTED}


class Story:
    """One directory, owned by Octavo and by a broker in turn; `written` is what both have acknowledged."""

    def __init__(self, jvm: ModuleType, folder: Path) -> None:
        self.jvm = jvm
        self.broker = Broker(folder, static_voters=True)
        self.written: dict[str, Written] = {}

    @property
    def servers(self) -> str:
        return self.broker.bootstrap_servers

    def create_topics(self) -> None:
        """Octavo creates the directory, with its meta.properties; the broker creates the topics."""
        LogManager(self.broker.log_dir, create=True).close()
        self.broker.start()
        admin = Admin(self.jvm, self.servers)
        for topic, (configs, _) in TOPICS.items():
            for name in (topic, *copies(topic)):
                admin.create(name, 1, **SMALL, **configs)
        admin.close()
        self.broker.stop()

    def write(self) -> None:
        """Octavo writes all topics; then the copies get what it wrote."""
        now_ms = time.time_ns() // 1_000_000 - HOUR_MS
        with LogManager(self.broker.log_dir) as logs:
            for topic, (_, writer) in TOPICS.items():
                self.written[topic] = Written(topic, now_ms)
                writer(self.written[topic], logs.log(topic, 0))
                assert len(logs.log(topic, 0).segments) > 2
        for topic in TOPICS:
            for name in copies(topic):
                self._copy(topic, name)

    def _copy(self, topic: str, target: str) -> None:
        source, folder = self.broker.log_dir / f"{topic}-0", self.broker.log_dir / f"{target}-0"
        for path in folder.iterdir():
            if path.name != "partition.metadata":
                path.unlink()
        for path in source.iterdir():
            if path.suffix == ".log" if target.endswith("bare") else path.name != "partition.metadata":
                shutil.copy2(path, folder)

    def check_consumer(self, *, with_copies: bool = False) -> None:
        """A real consumer gets every record, in both isolation levels."""
        for isolation in ISOLATIONS:
            consumer = Consumer(self.jvm, self.servers, isolation)
            for topic, written in self.written.items():
                assert consumer.read(topic) == written.of(isolation), topic
                for name in copies(topic) if with_copies else ():
                    # Records deleted by offset are in the copies' files, and nothing says that they were deleted.
                    read = [record for record in consumer.read(name) if record.offset >= written.start]
                    assert read == written.of(isolation), name
            consumer.close()

    def check_octavo(self, logs: LogManager) -> None:
        """Octavo reads the same."""
        for topic, written in self.written.items():
            for isolation, level in ISOLATIONS.items():
                assert consume(logs.log(topic, 0), level) == written.of(isolation), topic

    def produce(self) -> None:
        """A real producer continues, on the copies too, and so does a transactional one."""
        producer = Producer(self.jvm, self.servers, compression_type="gzip", linger_ms="5")
        for topic in self.written:
            self._note(topic, producer.send(topic, [(b"real", b"%d" % number) for number in range(5)]))
            for name in copies(topic):
                producer.send(name, [(b"real", b"on a copy")])
        producer.close()
        topic = "transactions"
        transactional = Producer(self.jvm, self.servers, transactional_id="story")
        for aborts in (True, False):
            transactional.begin()
            sent = self._note(topic, transactional.send(topic, [(b"txn", b"%d" % aborts)] * 3))
            if aborts:
                self.written[topic].aborted |= {one.offset for one in sent}
                transactional.abort()
            else:
                transactional.commit()
        transactional.close()
        self._await_markers(topic)

    def _note(self, topic: str, sent: list[Acknowledged]) -> list[Acknowledged]:
        kind = STAMPED if topic == "stamped" else "CreateTime"
        self.written[topic].records += [ConsumedRecord(one.offset, one.timestamp, kind, one[4], one[5]) for one in sent]
        return sent

    def _await_markers(self, topic: str) -> None:
        """A commit returns before its marker is written."""
        admin = Admin(self.jvm, self.servers)
        for _ in range(LOOKS):
            if all(known.transaction_start < 0 for known in admin.producers(topic)):
                break
        else:
            pytest.fail(f"{topic} has open transactions after {LOOKS} looks")
        admin.close()


class Answers:
    """What a log says about itself: offsets for timestamps, and the producers it knows."""

    def __init__(self, story: Story, logs: LogManager) -> None:
        draw = random.Random(1)
        self.offsets: dict[tuple[str, str, int], ListedOffset] = {}
        self.producers: dict[str, list[KnownProducer]] = {}
        for topic, written in story.written.items():
            log = logs.log(topic, 0)
            self.producers[topic] = our_producers(log)
            for asked in (*SPECIAL, *timestamps(written, draw)):
                for isolation, level in ISOLATIONS.items():
                    found = ListedOffset(*log.offset_for_timestamp(asked, level))
                    self.offsets[topic, isolation, asked] = found

    def check_broker(self, story: Story) -> None:
        """The broker must answer the same, with Octavo's indexes and with its own."""
        admin = Admin(story.jvm, story.servers)
        for topic, known in self.producers.items():
            assert all(admin.producers(name) == known for name in (topic, *copies(topic)))
        for (topic, isolation, asked), expected in self.offsets.items():
            names = [topic] if story.written[topic].start else [topic, *copies(topic)]
            for name, found in admin.list_offsets(names, asked, isolation).items():
                if asked in SPECIAL:  # the epoch is that of the broker's start
                    assert found.offset == expected.offset, (name, isolation, asked)
                else:
                    assert found == expected, (name, isolation, asked)
        admin.close()


def copies(topic: str) -> list[str]:
    return [f"{topic}.{kind}" for kind in COPIES]


def timestamps(written: Written, draw: random.Random) -> list[int]:
    """Timestamps around those of some records, before the first, and after the last."""
    times = [record.timestamp for record in written.records]
    near = [time_ms + by for time_ms in draw.sample(times, 10) for by in (-1, 0, 1)]
    return sorted({0, min(times), max(times), max(times) + 1, *near})


def our_producers(log: PartitionLog) -> list[KnownProducer]:
    return sorted(
        KnownProducer(
            entry.producer_id,
            entry.epoch,
            entry.last_sequence,
            entry.last_timestamp,
            entry.coordinator_epoch,
            -1 if entry.current_txn_first_offset is None else entry.current_txn_first_offset,
        )
        for entry in log.producers.table
    )


@pytest.fixture
def story(jvm: ModuleType, tmp_path: Path) -> Iterator[Story]:
    told = Story(jvm, tmp_path)
    yield told
    told.broker.kill()


def test_broker_and_octavo_take_turns_on_one_directory(story: Story) -> None:
    story.create_topics()
    story.write()
    with LogManager(story.broker.log_dir) as logs:
        story.check_octavo(logs)
        answers = Answers(story, logs)

    story.broker.start()
    story.check_consumer(with_copies=True)
    answers.check_broker(story)
    story.produce()
    story.check_consumer()
    story.broker.stop()
    for stop in (story.broker.stop, story.broker.kill):
        with LogManager(story.broker.log_dir) as logs:
            story.check_octavo(logs)
            for topic, written in story.written.items():
                written.go_on(logs.log(topic, 0))
        story.broker.start()
        story.check_consumer()
        story.produce()
        stop()
    with LogManager(story.broker.log_dir) as logs:
        story.check_octavo(logs)
        known = {known.producer_id for known in our_producers(logs.log("codecs", 0))}
        assert {FIRST_PRODUCER_ID + number for number in range(3)} < known, "with those of the real producers"
    assert not list(story.broker.log_dir.glob("*-stray"))
