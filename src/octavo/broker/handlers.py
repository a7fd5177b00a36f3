"""Maps each API to its handler."""

from __future__ import annotations

from collections.abc import Callable

from octavo.broker.apis.cluster import (
    alter_replica_log_dirs,
    api_versions,
    describe_cluster,
    describe_log_dirs,
    describe_quorum,
)
from octavo.broker.apis.configs import (
    alter_client_quotas,
    alter_configs,
    describe_client_quotas,
    describe_configs,
    incremental_alter_configs,
    list_config_resources,
)
from octavo.broker.apis.data import (
    delete_records,
    describe_producers,
    fetch,
    list_offsets,
    offset_for_leader_epoch,
    produce,
)
from octavo.broker.apis.groups import (
    consumer_group_describe,
    consumer_group_heartbeat,
    delete_groups,
    describe_groups,
    find_coordinator,
    heartbeat,
    join_group,
    leave_group,
    list_groups,
    offset_commit,
    offset_delete,
    offset_fetch,
    sync_group,
)
from octavo.broker.apis.security import (
    alter_user_scram_credentials,
    create_acls,
    delete_acls,
    describe_acls,
    describe_user_scram_credentials,
    sasl_authenticate,
    sasl_handshake,
)
from octavo.broker.apis.topics import (
    alter_partition_reassignments,
    create_partitions,
    create_topics,
    delete_topics,
    describe_topic_partitions,
    elect_leaders,
    list_partition_reassignments,
    metadata,
)
from octavo.broker.apis.transactions import (
    add_offsets_to_txn,
    add_partitions_to_txn,
    describe_transactions,
    end_txn,
    init_producer_id,
    list_transactions,
    txn_offset_commit,
    write_txn_markers,
)
from octavo.broker.context import Context
from octavo.broker.request import Answer, Request
from octavo.format.protocol import apis

Handler = Callable[[Request, Context], Answer]

HANDLERS: dict[int, Handler] = {
    apis.PRODUCE.key: produce.handle,
    apis.FETCH.key: fetch.handle,
    apis.LIST_OFFSETS.key: list_offsets.handle,
    apis.METADATA.key: metadata.handle,
    apis.OFFSET_COMMIT.key: offset_commit.handle,
    apis.OFFSET_FETCH.key: offset_fetch.handle,
    apis.FIND_COORDINATOR.key: find_coordinator.handle,
    apis.JOIN_GROUP.key: join_group.handle,
    apis.HEARTBEAT.key: heartbeat.handle,
    apis.LEAVE_GROUP.key: leave_group.handle,
    apis.SYNC_GROUP.key: sync_group.handle,
    apis.DESCRIBE_GROUPS.key: describe_groups.handle,
    apis.LIST_GROUPS.key: list_groups.handle,
    apis.SASL_HANDSHAKE.key: sasl_handshake.handle,
    apis.API_VERSIONS.key: api_versions.handle,
    apis.CREATE_TOPICS.key: create_topics.handle,
    apis.DELETE_TOPICS.key: delete_topics.handle,
    apis.DELETE_RECORDS.key: delete_records.handle,
    apis.INIT_PRODUCER_ID.key: init_producer_id.handle,
    apis.OFFSET_FOR_LEADER_EPOCH.key: offset_for_leader_epoch.handle,
    apis.ADD_PARTITIONS_TO_TXN.key: add_partitions_to_txn.handle,
    apis.ADD_OFFSETS_TO_TXN.key: add_offsets_to_txn.handle,
    apis.END_TXN.key: end_txn.handle,
    apis.WRITE_TXN_MARKERS.key: write_txn_markers.handle,
    apis.TXN_OFFSET_COMMIT.key: txn_offset_commit.handle,
    apis.DESCRIBE_ACLS.key: describe_acls.handle,
    apis.CREATE_ACLS.key: create_acls.handle,
    apis.DELETE_ACLS.key: delete_acls.handle,
    apis.DESCRIBE_CONFIGS.key: describe_configs.handle,
    apis.ALTER_CONFIGS.key: alter_configs.handle,
    apis.ALTER_REPLICA_LOG_DIRS.key: alter_replica_log_dirs.handle,
    apis.DESCRIBE_LOG_DIRS.key: describe_log_dirs.handle,
    apis.SASL_AUTHENTICATE.key: sasl_authenticate.handle,
    apis.CREATE_PARTITIONS.key: create_partitions.handle,
    apis.DELETE_GROUPS.key: delete_groups.handle,
    apis.ELECT_LEADERS.key: elect_leaders.handle,
    apis.INCREMENTAL_ALTER_CONFIGS.key: incremental_alter_configs.handle,
    apis.ALTER_PARTITION_REASSIGNMENTS.key: alter_partition_reassignments.handle,
    apis.LIST_PARTITION_REASSIGNMENTS.key: list_partition_reassignments.handle,
    apis.OFFSET_DELETE.key: offset_delete.handle,
    apis.DESCRIBE_CLIENT_QUOTAS.key: describe_client_quotas.handle,
    apis.ALTER_CLIENT_QUOTAS.key: alter_client_quotas.handle,
    apis.DESCRIBE_USER_SCRAM_CREDENTIALS.key: describe_user_scram_credentials.handle,
    apis.ALTER_USER_SCRAM_CREDENTIALS.key: alter_user_scram_credentials.handle,
    apis.DESCRIBE_QUORUM.key: describe_quorum.handle,
    apis.DESCRIBE_CLUSTER.key: describe_cluster.handle,
    apis.DESCRIBE_PRODUCERS.key: describe_producers.handle,
    apis.DESCRIBE_TRANSACTIONS.key: describe_transactions.handle,
    apis.LIST_TRANSACTIONS.key: list_transactions.handle,
    apis.CONSUMER_GROUP_HEARTBEAT.key: consumer_group_heartbeat.handle,
    apis.CONSUMER_GROUP_DESCRIBE.key: consumer_group_describe.handle,
    apis.LIST_CONFIG_RESOURCES.key: list_config_resources.handle,
    apis.DESCRIBE_TOPIC_PARTITIONS.key: describe_topic_partitions.handle,
}
