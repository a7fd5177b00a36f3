"""ApiVersions: lists the APIs and their versions, and the features of the cluster.

Unlike Kafka: what this broker does not have is not listed, such as the APIs for share groups, streams groups,
delegation tokens and other nodes, and the features that go with them.
"""

from __future__ import annotations

import re

from octavo.broker.context import Context
from octavo.broker.request import Answer, Request
from octavo.format.messages.schema import Row
from octavo.format.protocol.apis import APIS, PRODUCE
from octavo.format.protocol.error_codes import ErrorCode

_SOFTWARE_FROM_VERSION = 3
_ZERO_FROM_VERSION = 4  # older clients fail on features whose lowest level is 0
# The levels of Kafka 4.3.1. A new cluster has the highest: producers then use the second version of transactions.
_FEATURES = {"metadata.version": (7, 30), "group.version": (0, 1), "transaction.version": (0, 2)}
_FINALIZED = [
    {"name": name, "maxVersionLevel": highest, "minVersionLevel": highest} for name, (_, highest) in _FEATURES.items()
]
_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


def handle(request: Request, context: Context) -> Answer:
    body = request.body
    if request.version >= _SOFTWARE_FROM_VERSION and not all(
        _SOFTWARE.fullmatch(body[name]) for name in ("clientSoftwareName", "clientSoftwareVersion")
    ):
        return {"errorCode": ErrorCode.INVALID_REQUEST}
    supported = [
        {"name": name, "minVersion": lowest, "maxVersion": highest}
        for name, (lowest, highest) in _FEATURES.items()
        if lowest or request.version >= _ZERO_FROM_VERSION
    ]
    return {
        "apiKeys": LISTED,
        "supportedFeatures": supported,
        "finalizedFeaturesEpoch": 0,
        "finalizedFeatures": _FINALIZED,
    }


def _listed(key: int, lowest: int, highest: int) -> Row:
    # Old versions of librdkafka do not compress unless Produce has version 0, so Kafka lists that, but refuses it.
    return {"apiKey": key, "minVersion": 0 if key == PRODUCE.key else lowest, "maxVersion": highest}


LISTED = [_listed(api.key, api.versions.lowest, api.versions.highest) for _, api in sorted(APIS.items())]
