"""ListConfigResources: lists the resources that have configs, of some types or of all."""

from __future__ import annotations

from octavo.broker.context import Context
from octavo.broker.errors import RequestError
from octavo.broker.request import Answer, Request
from octavo.broker.resources import ConfigResource
from octavo.broker.security.acls import Operation
from octavo.format.protocol.error_codes import ErrorCode

_LISTED = frozenset(ConfigResource)


def handle(request: Request, context: Context) -> Answer:
    context.check_cluster(request.client, Operation.DESCRIBE_CONFIGS)
    types = request.body["resourceTypes"]
    if any(kind not in _LISTED for kind in types):
        raise RequestError(ErrorCode.UNSUPPORTED_VERSION)
    wanted = set(types) or (_LISTED if request.version else {ConfigResource.CLIENT_METRICS})
    rows = []
    if ConfigResource.TOPIC in wanted:
        rows += [{"resourceName": name, "resourceType": ConfigResource.TOPIC} for name in context.catalog.topics]
    if ConfigResource.GROUP in wanted:
        rows += [{"resourceName": name, "resourceType": ConfigResource.GROUP} for name in context.groups.configs.values]
    for kind in (ConfigResource.BROKER, ConfigResource.BROKER_LOGGER):
        if kind in wanted:
            rows.append({"resourceName": str(context.node_id), "resourceType": kind})
    return {"configResources": rows}
