"""ApiVersions: lists the APIs and their versions."""

from __future__ import annotations

import re

from octavo.broker.context import Context
from octavo.broker.request import Answer, Request
from octavo.format.messages.schema import Row
from octavo.format.protocol.apis import APIS, PRODUCE
from octavo.format.protocol.error_codes import ErrorCode

_SOFTWARE_FROM_VERSION = 3
_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


def handle(request: Request, context: Context) -> Answer:
    body = request.body
    if request.version >= _SOFTWARE_FROM_VERSION and not all(
        _SOFTWARE.fullmatch(body[name]) for name in ("clientSoftwareName", "clientSoftwareVersion")
    ):
        return {"errorCode": ErrorCode.INVALID_REQUEST}
    return {"apiKeys": LISTED}


def _listed(key: int, lowest: int, highest: int) -> Row:
    # Old librdkafka takes a Produce without version 0 for one without compression, so Kafka lists it, and refuses it.
    return {"apiKey": key, "minVersion": 0 if key == PRODUCE.key else lowest, "maxVersion": highest}


LISTED = [_listed(api.key, api.versions.lowest, api.versions.highest) for _, api in sorted(APIS.items())]
