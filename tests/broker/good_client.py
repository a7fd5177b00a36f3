"""A client that behaves well while others do not."""

from __future__ import annotations

from octavo.format.protocol.apis import CREATE_TOPICS, FETCH, PRODUCE
from tests.broker.raw import RawClient
from tests.broker.requests import batch, fetching, produced


def make_topics(client: RawClient, names: list[str]) -> None:
    topics = [{"name": name, "numPartitions": 1, "replicationFactor": 1} for name in names]
    answer = client.ask(CREATE_TOPICS, 4, {"topics": topics, "timeoutMs": 10_000})
    assert answer is not None
    assert [(row["errorCode"], row["errorMessage"]) for row in answer["topics"]] == [(0, None)] * len(names)


def assert_served(client: RawClient, topic: str, text: str) -> None:
    """The client is answered, and finds what it wrote."""
    answer = client.ask(PRODUCE, 9, produced(topic, 0, batch(text)))
    assert answer is not None
    (row,) = answer["responses"][0]["partitionResponses"]
    assert row["errorCode"] == 0
    found = client.ask(FETCH, 11, fetching(topic, 0, offset=row["baseOffset"], maxWaitMs=1000))
    assert found is not None
    assert text.encode() in bytes(found["responses"][0]["partitions"][0]["records"])
