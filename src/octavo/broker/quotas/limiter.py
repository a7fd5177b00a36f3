"""Computes for how long clients that exceed their quota have to wait."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from octavo.broker.quotas.entities import (
    CLIENT_ID,
    CONSUMER_BYTE_RATE,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
    USER,
    Entity,
    Quotas,
    entity_of,
)
from octavo.broker.quotas.rate import Rate
from octavo.broker.request import Request
from octavo.system.clock import Clock

_MOST_RATES = 10_000


class Windows(NamedTuple):
    """quota.window.num and quota.window.size.seconds."""

    number: int
    seconds: int


class QuotaLimiter:
    """Lives on the loop's thread. `quotas` returns the quotas in force, which are replaced, never modified."""

    def __init__(self, quotas: Callable[[], Quotas], clock: Clock, windows: Windows) -> None:
        self._quotas = quotas
        self._clock = clock
        self._windows = windows
        self._rates: dict[tuple[str, Entity], Rate] = {}

    def produced(self, request: Request, count: int) -> int:
        """Count the bytes of a produce request; returns for how many milliseconds to throttle its client."""
        return self._add(PRODUCER_BYTE_RATE, request, count)

    def fetched(self, request: Request, count: int, throttle_ms: int) -> int:
        """Like `produced`, for the response to a fetch. If it is throttled, for this or another reason, its bytes do
        not count, since they are not sent."""
        throttle_ms = max(throttle_ms, self._add(CONSUMER_BYTE_RATE, request, count))
        if throttle_ms:
            self._add(CONSUMER_BYTE_RATE, request, -count)
        return throttle_ms

    def most_fetched(self, request: Request) -> int | None:
        """How many bytes a fetch may return without exceeding the quota of all whole windows; None without a quota."""
        limit = self._limit(CONSUMER_BYTE_RATE, request)
        return None if limit is None else int(limit[0] * (self._windows.number - 1) * self._windows.seconds)

    def worked(self, request: Request, seconds: float) -> int:
        """Like `produced`, for the time that a request took; as in Kafka, it is throttled for at most one window."""
        return min(self._add(REQUEST_PERCENTAGE, request, seconds * 100), self._windows.seconds * 1000)

    def _add(self, key: str, request: Request, value: float) -> int:
        limit = self._limit(key, request)
        if limit is None:
            return 0
        quota, shared_by = limit
        now_ms, rate = self._clock.monotonic_ms(), self._rates.get(shared_by)
        if rate is None:
            if len(self._rates) >= _MOST_RATES:
                del self._rates[next(iter(self._rates))]  # the oldest, whose client may be long gone
            rate = self._rates[shared_by] = Rate(self._windows.number, self._windows.seconds * 1000)
        rate.add(value, now_ms)
        return rate.throttle_ms(quota, now_ms)

    def _limit(self, key: str, request: Request) -> tuple[float, tuple[str, Entity]] | None:
        """A client's quota, and what identifies the rate that it limits."""
        quotas = self._quotas()
        for quota, shared_by in _levels(request.client.principal.partition(":")[2], request.client_id):
            values = quotas.get(quota)
            if values is not None and key in values:
                return values[key], (key, shared_by)
        return None


def _levels(user: str, client_id: str) -> Iterator[tuple[Entity, Entity]]:
    """The entities whose quota may apply to a client, each with the entity that shares it; the first found applies."""
    both = entity_of({USER: user, CLIENT_ID: client_id})
    for known in (user, None):
        yield entity_of({USER: known, CLIENT_ID: client_id}), both
        yield entity_of({USER: known, CLIENT_ID: None}), both
        yield entity_of({USER: known}), entity_of({USER: user})
    for name in (client_id, None):
        yield entity_of({CLIENT_ID: name}), entity_of({CLIENT_ID: client_id})
