"""The APIs of Kafka 4.3.1 that Octavo's broker supports: key, name, schemas of request and response.

Requests for other APIs are not answered, and ApiVersions does not list them.
"""

from __future__ import annotations

from typing import NamedTuple

from octavo.format.messages.schema import MessageSchema, Versions
from octavo.format.protocol import cluster, configs, data, producers, security, topics, transactions


class Api(NamedTuple):
    """One kind of request; its versions are those of its schemas."""

    key: int
    request: MessageSchema
    response: MessageSchema
    highest: int | None = None  # set if the schemas have later versions that Kafka does not list yet

    @property
    def name(self) -> str:
        return self.request.name.removesuffix("Request")

    @property
    def versions(self) -> Versions:
        known = self.request.versions
        return known if self.highest is None else Versions(known.lowest, self.highest)


PRODUCE = Api(0, data.PRODUCE_REQUEST, data.PRODUCE_RESPONSE)
FETCH = Api(1, data.FETCH_REQUEST, data.FETCH_RESPONSE)
LIST_OFFSETS = Api(2, data.LIST_OFFSETS_REQUEST, data.LIST_OFFSETS_RESPONSE)
METADATA = Api(3, cluster.METADATA_REQUEST, cluster.METADATA_RESPONSE)
SASL_HANDSHAKE = Api(17, security.SASL_HANDSHAKE_REQUEST, security.SASL_HANDSHAKE_RESPONSE)
API_VERSIONS = Api(18, cluster.API_VERSIONS_REQUEST, cluster.API_VERSIONS_RESPONSE)
CREATE_TOPICS = Api(19, topics.CREATE_TOPICS_REQUEST, topics.CREATE_TOPICS_RESPONSE)
DELETE_TOPICS = Api(20, topics.DELETE_TOPICS_REQUEST, topics.DELETE_TOPICS_RESPONSE)
DELETE_RECORDS = Api(21, data.DELETE_RECORDS_REQUEST, data.DELETE_RECORDS_RESPONSE)
INIT_PRODUCER_ID = Api(22, producers.INIT_PRODUCER_ID_REQUEST, producers.INIT_PRODUCER_ID_RESPONSE, highest=5)
OFFSET_FOR_LEADER_EPOCH = Api(23, data.OFFSET_FOR_LEADER_EPOCH_REQUEST, data.OFFSET_FOR_LEADER_EPOCH_RESPONSE)
ADD_PARTITIONS_TO_TXN = Api(24, transactions.ADD_PARTITIONS_TO_TXN_REQUEST, transactions.ADD_PARTITIONS_TO_TXN_RESPONSE)
ADD_OFFSETS_TO_TXN = Api(25, transactions.ADD_OFFSETS_TO_TXN_REQUEST, transactions.ADD_OFFSETS_TO_TXN_RESPONSE)
END_TXN = Api(26, transactions.END_TXN_REQUEST, transactions.END_TXN_RESPONSE)
WRITE_TXN_MARKERS = Api(27, transactions.WRITE_TXN_MARKERS_REQUEST, transactions.WRITE_TXN_MARKERS_RESPONSE)
DESCRIBE_ACLS = Api(29, security.DESCRIBE_ACLS_REQUEST, security.DESCRIBE_ACLS_RESPONSE)
CREATE_ACLS = Api(30, security.CREATE_ACLS_REQUEST, security.CREATE_ACLS_RESPONSE)
DELETE_ACLS = Api(31, security.DELETE_ACLS_REQUEST, security.DELETE_ACLS_RESPONSE)
DESCRIBE_CONFIGS = Api(32, configs.DESCRIBE_CONFIGS_REQUEST, configs.DESCRIBE_CONFIGS_RESPONSE)
ALTER_CONFIGS = Api(33, configs.ALTER_CONFIGS_REQUEST, configs.ALTER_CONFIGS_RESPONSE)
DESCRIBE_LOG_DIRS = Api(35, cluster.DESCRIBE_LOG_DIRS_REQUEST, cluster.DESCRIBE_LOG_DIRS_RESPONSE)
SASL_AUTHENTICATE = Api(36, security.SASL_AUTHENTICATE_REQUEST, security.SASL_AUTHENTICATE_RESPONSE)
CREATE_PARTITIONS = Api(37, topics.CREATE_PARTITIONS_REQUEST, topics.CREATE_PARTITIONS_RESPONSE)
ELECT_LEADERS = Api(43, cluster.ELECT_LEADERS_REQUEST, cluster.ELECT_LEADERS_RESPONSE)
INCREMENTAL_ALTER_CONFIGS = Api(
    44, configs.INCREMENTAL_ALTER_CONFIGS_REQUEST, configs.INCREMENTAL_ALTER_CONFIGS_RESPONSE
)
DESCRIBE_CLIENT_QUOTAS = Api(48, configs.DESCRIBE_CLIENT_QUOTAS_REQUEST, configs.DESCRIBE_CLIENT_QUOTAS_RESPONSE)
DESCRIBE_USER_SCRAM_CREDENTIALS = Api(
    50, security.DESCRIBE_USER_SCRAM_CREDENTIALS_REQUEST, security.DESCRIBE_USER_SCRAM_CREDENTIALS_RESPONSE
)
ALTER_USER_SCRAM_CREDENTIALS = Api(
    51, security.ALTER_USER_SCRAM_CREDENTIALS_REQUEST, security.ALTER_USER_SCRAM_CREDENTIALS_RESPONSE
)
DESCRIBE_CLUSTER = Api(60, cluster.DESCRIBE_CLUSTER_REQUEST, cluster.DESCRIBE_CLUSTER_RESPONSE)
DESCRIBE_PRODUCERS = Api(61, producers.DESCRIBE_PRODUCERS_REQUEST, producers.DESCRIBE_PRODUCERS_RESPONSE)
DESCRIBE_TRANSACTIONS = Api(65, transactions.DESCRIBE_TRANSACTIONS_REQUEST, transactions.DESCRIBE_TRANSACTIONS_RESPONSE)
LIST_TRANSACTIONS = Api(66, transactions.LIST_TRANSACTIONS_REQUEST, transactions.LIST_TRANSACTIONS_RESPONSE)
LIST_CONFIG_RESOURCES = Api(74, configs.LIST_CONFIG_RESOURCES_REQUEST, configs.LIST_CONFIG_RESOURCES_RESPONSE)
DESCRIBE_TOPIC_PARTITIONS = Api(
    75, cluster.DESCRIBE_TOPIC_PARTITIONS_REQUEST, cluster.DESCRIBE_TOPIC_PARTITIONS_RESPONSE
)

APIS = {value.key: value for value in list(globals().values()) if isinstance(value, Api)}
