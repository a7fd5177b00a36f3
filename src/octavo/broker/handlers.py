"""Maps each API to its handler."""

from __future__ import annotations

from collections.abc import Callable

from octavo.broker.apis import (
    add_offsets_to_txn,
    add_partitions_to_txn,
    alter_configs,
    alter_user_scram_credentials,
    api_versions,
    create_acls,
    create_partitions,
    create_topics,
    delete_acls,
    delete_records,
    delete_topics,
    describe_acls,
    describe_client_quotas,
    describe_cluster,
    describe_configs,
    describe_log_dirs,
    describe_producers,
    describe_topic_partitions,
    describe_transactions,
    describe_user_scram_credentials,
    elect_leaders,
    end_txn,
    fetch,
    incremental_alter_configs,
    init_producer_id,
    list_config_resources,
    list_offsets,
    list_transactions,
    metadata,
    offset_for_leader_epoch,
    produce,
    sasl_authenticate,
    sasl_handshake,
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
    apis.DESCRIBE_ACLS.key: describe_acls.handle,
    apis.CREATE_ACLS.key: create_acls.handle,
    apis.DELETE_ACLS.key: delete_acls.handle,
    apis.DESCRIBE_CONFIGS.key: describe_configs.handle,
    apis.ALTER_CONFIGS.key: alter_configs.handle,
    apis.DESCRIBE_LOG_DIRS.key: describe_log_dirs.handle,
    apis.SASL_AUTHENTICATE.key: sasl_authenticate.handle,
    apis.CREATE_PARTITIONS.key: create_partitions.handle,
    apis.ELECT_LEADERS.key: elect_leaders.handle,
    apis.INCREMENTAL_ALTER_CONFIGS.key: incremental_alter_configs.handle,
    apis.DESCRIBE_CLIENT_QUOTAS.key: describe_client_quotas.handle,
    apis.DESCRIBE_USER_SCRAM_CREDENTIALS.key: describe_user_scram_credentials.handle,
    apis.ALTER_USER_SCRAM_CREDENTIALS.key: alter_user_scram_credentials.handle,
    apis.DESCRIBE_CLUSTER.key: describe_cluster.handle,
    apis.DESCRIBE_PRODUCERS.key: describe_producers.handle,
    apis.DESCRIBE_TRANSACTIONS.key: describe_transactions.handle,
    apis.LIST_TRANSACTIONS.key: list_transactions.handle,
    apis.LIST_CONFIG_RESOURCES.key: list_config_resources.handle,
    apis.DESCRIBE_TOPIC_PARTITIONS.key: describe_topic_partitions.handle,
}
