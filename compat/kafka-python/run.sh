#!/usr/bin/env bash
# kafka-python's integration tests.
cd "$(dirname "$0")" && . ../lib.sh
need git
source=$(sources dpkp/kafka-python a3b3836ff3a4b34ebaa42fd93500bfcb16c1e9b7)
environment pytest==9.2.0 pytest-timeout==2.4.0 pytest-mock lz4 zstandard python-snappy
start_broker group.initial.rebalance.delay.ms=0 num.partitions=4 group.min.session.timeout.ms=1000 \
    authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer super.users=User:ANONYMOUS \
    allow.everyone.if.no.acl.found=true
cd "$source"
export KAFKA_URI=kafka://$broker KAFKA_VERSION=4.3.0 KAFKA_ROOT=$work PYTHONPATH=$source
pytest_run integration test/integration/test_producer_integration.py test/integration/test_consumer_integration.py \
    test/integration/test_admin_integration.py --timeout 60 --timeout-method=signal
finish
