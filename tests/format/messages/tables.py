"""Every schema that the project declares, except those of `__remote_log_metadata`."""

from __future__ import annotations

from octavo.format.messages.cluster_metadata import METADATA_TYPES
from octavo.format.messages.consumer_offsets import CONSUMER_OFFSETS_TYPES
from octavo.format.messages.consumer_protocol import ASSIGNMENT, SUBSCRIPTION
from octavo.format.messages.control import KRAFT_CONTROL_MESSAGES
from octavo.format.messages.schema import MessageSchema
from octavo.format.messages.share_group_state import SHARE_GROUP_STATE_TYPES
from octavo.format.messages.transaction_state import TRANSACTION_STATE_TYPES
from octavo.format.protocol.apis import APIS

COORDINATOR_TOPICS = {
    "group": CONSUMER_OFFSETS_TYPES,
    "transaction": TRANSACTION_STATE_TYPES,
    "share": SHARE_GROUP_STATE_TYPES,
}

MESSAGES: list[MessageSchema] = [
    *(part for types in COORDINATOR_TOPICS.values() for kind in types.values() for part in (kind.key, kind.value)),
    *(kind.message for kind in METADATA_TYPES.values()),
    *KRAFT_CONTROL_MESSAGES.values(),
    SUBSCRIPTION,
    ASSIGNMENT,
    *(part for api in APIS.values() for part in (api.request, api.response)),
]

VERSIONED = [(message, version) for message in MESSAGES for version in message.versions]
VERSIONED_IDS = [f"{message.name}-v{version}" for message, version in VERSIONED]
