"""DescribeCluster: lists the nodes, of which there is only one."""

from __future__ import annotations

from octavo.broker.context import Context
from octavo.broker.request import Answer, Request
from octavo.format.messages.schema import Row
from octavo.format.protocol.error_codes import ErrorCode

_BROKERS, _CONTROLLERS = 1, 2


def handle(request: Request, context: Context) -> Answer:
    kind = request.body["endpointType"]
    if kind != _BROKERS:
        is_known = kind == _CONTROLLERS
        code = ErrorCode.MISMATCHED_ENDPOINT_TYPE if is_known else ErrorCode.UNSUPPORTED_ENDPOINT_TYPE
        problem = "The request was sent to an endpoint of the wrong type." if is_known else "Unsupported endpoint type."
        return {"errorCode": code, "errorMessage": problem}
    host, port = request.peer.endpoint
    row: Row = {
        "clusterId": context.cluster_id,
        "controllerId": context.node_id,
        "brokers": [{"brokerId": context.node_id, "host": host, "port": port}],
    }
    if request.body["includeClusterAuthorizedOperations"]:
        row["clusterAuthorizedOperations"] = context.authorizer.allowed_on_cluster(request.client)
    return row
