"""OffsetCommit: stores how far a group has read."""

from __future__ import annotations

from octavo.broker.apis.groups.offset_topics import committed, refused
from octavo.broker.context import Context
from octavo.broker.errors import RequestError
from octavo.broker.request import Answer, Request
from octavo.coordinator.groups.commit_rules import Committer

_IDS_FROM_VERSION = 10


def handle(request: Request, context: Context) -> Answer:
    body, commit = request.body, context.groups.offsets.commit
    key = "topicId" if request.version >= _IDS_FROM_VERSION else "name"
    committer = Committer(body["memberId"], body["groupInstanceId"], body["generationIdOrMemberEpoch"], request.version)
    try:
        context.check_member(request.client, body["groupId"])
    except RequestError as error:
        return refused(request, key, error.code)
    return committed(
        request,
        context,
        key,
        lambda offsets, ids: commit(body["groupId"], offsets, ids, committer, body["retentionTimeMs"]),
    )
