"""Queries that are run to their end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.errors import StreamingQueryException

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

# Spark gives a query's Python process ten seconds to start, with no conf for it: too few on a machine that is busy.
_NOT_STARTED = "Python worker failed to connect back"
_TRIES = 6


def start(writer: DataStreamWriter) -> StreamingQuery:
    """A query that has got as far as its first progress, or to its end."""
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
    """A query with Trigger.AvailableNow, ended; its error is raised."""
    query = start(writer.trigger(availableNow=True))
    query.awaitTermination()
    return query
