#!/usr/bin/env bash
# confluent-kafka-python's integration tests of admin clients, producers and consumers; those of consumers run with both
# group protocols.
cd "$(dirname "$0")" && . ../lib.sh
need git
source=$(sources confluentinc/confluent-kafka-python 8b1c7a613434eee3d0e1287d624d7af04932f410)
environment confluent-kafka==2.16.1 pytest==9.2.0 pytest-asyncio pytest-timeout trivup==0.12.2 authlib httpx cachetools \
    attrs orjson fastavro avro jsonschema protobuf googleapis-common-protos requests
start_broker group.initial.rebalance.delay.ms=0 num.partitions=4 group.min.session.timeout.ms=1000 \
    authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer super.users=User:ANONYMOUS \
    allow.everyone.if.no.acl.found=true
cd "$source"
export BROKERS=$broker
pytest_run classic tests/integration/admin tests/integration/producer tests/integration/consumer --timeout 90 \
    --deselect tests/integration/admin/test_describe_operations.py # it starts a cluster of its own
TEST_CONSUMER_GROUP_PROTOCOL=consumer pytest_run consumer tests/integration/consumer --timeout 90
finish
