"""Starts queries, and runs them to their end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.errors import StreamingQueryException

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

# Spark gives a query's Python process ten seconds to start, which cannot be configured: too short on a busy machine.
_NOT_STARTED = "Python worker failed to connect back"
_TRIES = 6


def start(writer: DataStreamWriter) -> StreamingQuery:
    """Start a query and wait for its first progress, or its end."""
    for tries_left in reversed(range(_TRIES)):
        query = writer.start()
        while query.isActive and not query.recentProgress:
            try:
                query.awaitTermination(1)
            except StreamingQueryException as error:
                if tries_left and _NOT_STARTED in str(error):
                    break
                raise
        else:
            return query
    raise AssertionError("not reached")


def run(writer: DataStreamWriter) -> StreamingQuery:
    """Run a query with Trigger.AvailableNow to its end; raises its error."""
    query = start(writer.trigger(availableNow=True))
    query.awaitTermination()
    return query
