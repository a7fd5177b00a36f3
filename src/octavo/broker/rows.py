"""Requests and responses that name partitions by topic."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from octavo.format.messages.schema import Row


def by_topic(topics: Iterable[Row], name: str, answer: Callable[[str, Row], Row]) -> list[Row]:
    """A response's topics: for each partition of a request's, what `answer` says to the topic and the partition."""
    return [
        {name: topic[name], "partitions": [answer(topic[name], row) for row in topic["partitions"]]} for topic in topics
    ]
