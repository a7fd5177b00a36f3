"""One line causes a fault, and real clients notice it."""

from __future__ import annotations

import threading

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

import octavo
from octavo.format.protocol import apis
from octavo.testing import Kafka
from tests.broker.raw import RawClient
from tests.broker.requests import batch, produced
from tests.testing.brokers import address, values

RETRIES = {"retry.backoff.ms": 1, "reconnect.backoff.ms": 1, "reconnect.backoff.max.ms": 10}
QUICK = {"enable.auto.commit": False, **RETRIES}


def producer(kafka: Kafka, **configs: object) -> Producer:
    return Producer({"bootstrap.servers": kafka.bootstrap_servers, **RETRIES, **configs})


def test_a_produce_fails_and_is_tried_again(kafka: Kafka) -> None:
    fault = kafka.faults.fail("Produce", "NOT_LEADER_OR_FOLLOWER", topic="orders", times=2)
    client = producer(kafka)
    client.produce("other", b"untouched")
    assert (client.flush(20), fault.hits) == (0, 0)
    client.produce("orders", b"x")
    assert client.flush(20) == 0
    fault.wait(2)
    assert fault.is_over
    assert (values(kafka, "orders"), values(kafka, "other")) == ([b"x"], [b"untouched"])


def test_a_produce_fails_for_good(kafka: Kafka) -> None:
    problems: list[str] = []

    def delivered(error: KafkaError | None, message: object) -> None:
        problems.append("delivered" if error is None else error.name())

    with kafka.faults.fail("Produce", "POLICY_VIOLATION", times=None):
        client = producer(kafka)
        client.produce("orders", b"x", on_delivery=delivered)
        assert client.flush(20) == 0
    assert problems == ["POLICY_VIOLATION"]
    client.produce("orders", b"y")
    assert client.flush(20) == 0
    assert values(kafka, "orders") == [b"y"]


def test_a_lost_answer_makes_no_duplicate_of_an_idempotent_producer(kafka: Kafka) -> None:
    for topic, is_idempotent in (("once", True), ("twice", False)):
        kafka.topic(topic)
        fault = kafka.faults.lose_answer("Produce", topic=topic)
        client = producer(kafka, **{"enable.idempotence": is_idempotent})
        client.produce(topic, b"x")
        assert client.flush(20) == 0
        assert fault.hits == 1
    assert (values(kafka, "once"), values(kafka, "twice")) == ([b"x"], [b"x", b"x"])


def test_a_dropped_request_does_nothing(kafka: Kafka) -> None:
    kafka.topic("orders")
    kafka.faults.drop("Produce")
    with RawClient(address(kafka)) as client:
        assert client.ask(apis.PRODUCE, 9, produced("orders", 0, batch("x"))) is None
    assert values(kafka, "orders") == []


@pytest.mark.parametrize("api", ["Fetch", "Metadata", "ListOffsets"])
def test_a_consumer_gets_through(kafka: Kafka, api: str) -> None:
    kafka.produce("orders", "a", "b")
    error = "LEADER_NOT_AVAILABLE" if api == "Metadata" else "NOT_LEADER_OR_FOLLOWER"
    fault = kafka.faults.fail(api, error, topic="orders", times=2)
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap_servers, "group.id": "g", **QUICK})
    consumer.assign([TopicPartition("orders", 0, -2)])  # -2: the earliest, which ListOffsets finds
    found: list[bytes | None] = []
    while len(found) < 2:
        message = consumer.poll(20)
        assert message is not None
        if message.error() is None:
            found.append(message.value())
    consumer.close()
    assert (found, fault.hits) == ([b"a", b"b"], 2)


def test_a_fetch_that_only_continues_its_session_fails_too(kafka: Kafka) -> None:
    kafka.produce("orders", "a")
    topic_id = kafka.logs.log("orders", 0).topic_id
    wanted = {"partition": 0, "fetchOffset": 0, "partitionMaxBytes": 1 << 20}
    first = {"sessionEpoch": 0, "maxBytes": 1 << 20, "topics": [{"topicId": topic_id, "partitions": [wanted]}]}
    with RawClient(address(kafka)) as client:
        begun = client.ask(apis.FETCH, 13, first)
        assert begun is not None and begun["sessionId"]
        kafka.faults.fail("Fetch", "NOT_LEADER_OR_FOLLOWER", topic="orders")
        nexts = []
        for epoch in (1, 2):
            body = {"sessionId": begun["sessionId"], "sessionEpoch": epoch, "maxBytes": 1 << 20, "topics": []}
            answer = client.ask(apis.FETCH, 13, body)
            assert answer is not None and answer["errorCode"] == 0
            nexts += [row["errorCode"] for topic in answer["responses"] for row in topic["partitions"]]
    assert nexts == [6, 0]


def test_a_delay_follows_the_clock(kafka: Kafka) -> None:
    kafka.topic("orders")
    fault = kafka.faults.delay("Produce", seconds=3600)
    answers: list[object] = []
    with RawClient(address(kafka)) as client:
        asking = threading.Thread(
            target=lambda: answers.append(client.ask(apis.PRODUCE, 9, produced("orders", 0, batch("x"))))
        )
        asking.start()
        fault.wait()
        assert values(kafka, "orders") == []
        kafka.clock.advance(hours=1)
        asking.join(20)
    assert len(answers) == 1 and answers[0] is not None
    assert values(kafka, "orders") == [b"x"]


def test_acks_0_and_delays_keep_the_order_of_requests(kafka: Kafka) -> None:
    kafka.topic("orders")
    fault = kafka.faults.delay("Produce", seconds=3600)
    with RawClient(address(kafka)) as client:
        client.send(apis.PRODUCE, 9, produced("orders", 0, batch("x"), acks=0))
        client.send(apis.PRODUCE, 9, produced("orders", 0, batch("y")))
        fault.wait()
        kafka.clock.advance(hours=2)
        frame = client.receive()
        assert frame is not None
        ((answered,),) = [topic["partitionResponses"] for topic in client.read(apis.PRODUCE, 9, frame)["responses"]]
    assert (answered["errorCode"], answered["baseOffset"]) == (0, 1)


def test_a_failed_produce_without_acks_closes_the_connection(kafka: Kafka) -> None:
    kafka.topic("orders")
    kafka.faults.fail("Produce", "NOT_LEADER_OR_FOLLOWER")
    with RawClient(address(kafka)) as client:
        client.send(apis.PRODUCE, 9, produced("orders", 0, batch("x"), acks=0))
        assert client.receive() is None
    assert values(kafka, "orders") == []


def test_only_the_named_client_is_hit(kafka: Kafka) -> None:
    fault = kafka.faults.drop("ApiVersions", client_id="victim", times=None)
    with RawClient(address(kafka), client_id="other") as other, RawClient(address(kafka), client_id="victim") as victim:
        assert other.ask(apis.API_VERSIONS, 0, {}) is not None
        assert victim.ask(apis.API_VERSIONS, 0, {}) is None
    assert fault.hits == 1
    kafka.faults.clear()
    assert fault.is_over
    with pytest.raises(TimeoutError, match="has hit 1 of 2 expected requests and is over"):
        fault.wait(2, timeout=3600)
    with RawClient(address(kafka), client_id="victim") as victim:
        assert victim.ask(apis.API_VERSIONS, 0, {}) is not None


def test_a_fault_that_ends_wakes_whoever_waits_for_it(kafka: Kafka) -> None:
    fault = kafka.faults.drop("ApiVersions")
    ending = threading.Timer(0.1, kafka.faults.clear)
    ending.start()
    with pytest.raises(TimeoutError, match="and is over"):
        fault.wait(timeout=3600)
    ending.join()


def test_a_lost_connection_is_made_again(kafka: Kafka) -> None:
    kafka.topic("orders")
    with RawClient(address(kafka)) as client:
        assert client.ask(apis.API_VERSIONS, 0, {}) is not None
        kafka.disconnect()
        assert client.receive() is None
    client2 = producer(kafka)
    client2.produce("orders", b"x")
    assert client2.flush(20) == 0


def test_a_producer_is_fenced(kafka: Kafka) -> None:
    kafka.topic("orders")
    mine = kafka.logs.producer(transactional_id="till")
    mine.begin_transaction()
    mine.send("orders", "x")
    mine.flush()
    kafka.faults.fence("till")
    with pytest.raises(octavo.ProducerFencedError):
        mine.commit_transaction()
    assert kafka.records("orders", isolation_level="read_committed") == []


def test_wrong_names_are_refused_with_a_hint(kafka: Kafka) -> None:
    with pytest.raises(ValueError, match="no API 'Prodce'"):
        kafka.faults.drop("Prodce")
    with pytest.raises(ValueError, match="did you mean NOT_LEADER_OR_FOLLOWER"):
        kafka.faults.fail("Produce", "NOT_LEADER_OR_FOLOWER")
    with pytest.raises(ValueError, match="no error with the code 4711"):
        kafka.faults.fail("Produce", 4711)
    with pytest.raises(TimeoutError, match="has hit 0 of 1 expected requests"):
        kafka.faults.drop("Produce").wait(timeout=0)


def test_a_client_that_gets_no_metadata_finds_no_partition(kafka: Kafka) -> None:
    with kafka.faults.fail("Metadata", "TOPIC_AUTHORIZATION_FAILED", topic="orders", times=None) as fault:
        consumer = Consumer({"bootstrap.servers": kafka.bootstrap_servers, "group.id": "g", **QUICK})
        with pytest.raises(KafkaException, match="Unknown partition"):
            consumer.get_watermark_offsets(TopicPartition("orders", 0), timeout=2)
        consumer.close()
    assert fault.hits and "orders" not in kafka.logs.topics
