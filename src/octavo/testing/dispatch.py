"""A test broker's dispatcher: it notes the requests that it can read, and lets a fault answer instead of the broker."""

from __future__ import annotations

from concurrent.futures import Executor

from octavo.broker.context import Context
from octavo.broker.dispatch import Dispatcher, Pending
from octavo.broker.network.connection import Connection
from octavo.format.messages.codec import Part
from octavo.format.protocol.apis import APIS
from octavo.format.protocol.frames import read_header, wire_format
from octavo.testing.asked import Asked
from octavo.testing.faults import Faults
from octavo.testing.journal import Journal


class FaultDispatcher(Dispatcher):
    """Lives on the loop's thread."""

    def __init__(self, context: Context, executor: Executor, faults: Faults, journal: Journal) -> None:
        super().__init__(context, executor)
        self._faults = faults
        self._journal = journal

    def answer(self, frame: memoryview, connection: Connection) -> list[Part] | Pending | None:
        if connection.peer.sends_bare_tokens:
            return super().answer(frame, connection)
        header = read_header(frame)
        api = APIS.get(header.api_key)
        if api is None or header.api_version not in api.versions:
            return super().answer(frame, connection)
        fault = None
        if not self._faults.is_empty:
            # A copy, since the connection may receive more before a delayed request is handled.
            copied, handle = memoryview(bytearray(frame)), super().answer
            body = wire_format(api, header.api_version).read_body(copied, header.end)
            asked = Asked(api, header, body, connection, self.context, lambda: handle(copied, connection))
            fault = self._faults.hitting(asked)
        self._journal.note(api.name, header.api_version, header.client_id, None if fault is None else str(fault.action))
        return super().answer(frame, connection) if fault is None else fault.action.answer(asked)
