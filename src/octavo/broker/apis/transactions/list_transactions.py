"""ListTransactions: lists transactional ids, filtered by state, producer id, duration and a pattern."""

from __future__ import annotations

from octavo.broker.context import Context
from octavo.broker.request import Answer, Request
from octavo.broker.security.acls import Operation
from octavo.coordinator.patterns import BadPatternError, matching
from octavo.coordinator.transactions.metadata import TransactionMetadata
from octavo.format.messages.schema import Row
from octavo.format.messages.transaction_state import TransactionStatus
from octavo.format.protocol.error_codes import ErrorCode

_STATES = {status.kafka_name: status for status in TransactionStatus}


def handle(request: Request, context: Context) -> Answer:
    body, now_ms = request.body, context.log_dir.environment.clock.time_ms()
    unknown = [name for name in dict.fromkeys(body["stateFilters"]) if name not in _STATES]
    found = [known for known in context.transactions.list() if _is_wanted(known, body, now_ms)]
    pattern = body.get("transactionalIdPattern")
    if pattern:
        try:
            matches = set(matching([known.transactional_id for known in found], pattern))
        except BadPatternError:
            return {"errorCode": ErrorCode.INVALID_REGULAR_EXPRESSION}
        found = [known for known in found if known.transactional_id in matches]
    return {
        "unknownStateFilters": unknown,
        "transactionStates": [
            {
                "transactionalId": known.transactional_id,
                "producerId": known.producer_id,
                "transactionState": known.status.kafka_name,
            }
            for known in found
            if context.allows_transactional_id(request.client, Operation.DESCRIBE, known.transactional_id)
        ],
    }


def _is_wanted(known: TransactionMetadata, body: Row, now_ms: int) -> bool:
    if body["producerIdFilters"] and known.producer_id not in body["producerIdFilters"]:
        return False
    if body["stateFilters"] and known.status not in map(_STATES.get, body["stateFilters"]):
        return False
    duration_ms = body.get("durationFilter", -1)
    return bool(duration_ms < 0 or now_ms - known.start_ms > duration_ms)
