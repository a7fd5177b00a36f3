"""What one request costs its client, if there are quotas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from octavo.broker.quotas.limiter import QuotaLimiter
from octavo.broker.request import Request
from octavo.format.messages.schema import Row
from octavo.format.protocol.apis import FETCH, PRODUCE, Api

_THROTTLE_TIME = "throttleTimeMs"


class Mutable(Protocol):
    """A connection that can be muted."""

    def mute(self, duration_ms: int) -> None: ...


class Bill:
    """Made before a request is handled, paid once its answer is known."""

    def __init__(
        self,
        limiter: QuotaLimiter,
        end_session: Callable[[int], None],
        api: Api,
        request: Request,
        size: int,
        connection: Mutable,
    ) -> None:
        self._limiter = limiter
        self._end_session = end_session
        self._api = api
        self._request = request
        self._connection = connection
        self._throttle_ms = limiter.produced(request, size) if api is PRODUCE else 0
        most = limiter.most_fetched(request) if api is FETCH else None
        if most is not None:
            request.body["maxBytes"] = min(request.body["maxBytes"], most)

    def worked(self, seconds: float) -> None:
        """Add the time that handling the request took."""
        self._throttle_ms = max(self._throttle_ms, self._limiter.worked(self._request, seconds))

    def pay(self, row: Row | None = None, size: int = 0) -> Row | None:
        """Mute the connection of a client that is over its quota. Returns the answer to send instead of `row`, or None
        if `row` stays as it is."""
        if self._api is FETCH:
            self._throttle_ms = self._limiter.fetched(self._request, size, self._throttle_ms)
        if not self._throttle_ms:
            return None
        self._connection.mute(self._throttle_ms)
        version, fields = self._request.version, self._api.response.fields
        if row is None or not any(field.name == _THROTTLE_TIME and version in field.versions for field in fields):
            return None
        return {**row, _THROTTLE_TIME: self._throttle_ms, **(self._empty(row) if self._api is FETCH else {})}

    def _empty(self, row: Row) -> Row:
        """As in Kafka, a fetch that is throttled for whatever reason returns nothing, and begins no session."""
        if self._request.body["sessionEpoch"] > 0:
            return {"responses": []}
        self._end_session(row.get("sessionId", 0))  # the client will not use it
        return {"responses": [], "sessionId": 0}
