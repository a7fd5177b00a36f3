#!/usr/bin/env bash
# librdkafka's own tests that need a broker, in full mode, with the classic and the new group protocol. FINDINGS.md says
# which ones are left out. COMPAT_JOBS says how many run at once.
cd "$(dirname "$0")" && . ../lib.sh
need git gcc g++ make java
[[ -d $kafka_jars ]] || "$root/scripts/kafka.sh"
source=$(sources confluentinc/librdkafka 4c3b017c3de8d9c10de12b9eec0ea688e8d5787d)
if [[ ! -x $source/tests/test-runner ]]; then
    # Some tests ask for three replicas; if TEST_RF is set, they ask for that many instead.
    sed -i '/^void test_admin_create_topic(/,/^}/s/^        if (!(rk = use_rk))$/        if (test_getenv("TEST_RF", NULL))\n                replication_factor = atoi(test_getenv("TEST_RF", NULL));\n\n&/' "$source/tests/test.c"
    (cd "$source" && ./configure --disable-curl --disable-sasl && make -j2 libs && make -j2 -C tests build) >"$work/build.log" 2>&1
fi
mkdir -p "$work/kafka/bin"
ln -sfn "$kafka_jars" "$work/kafka/libs"
for tool in run-class: topics:org.apache.kafka.tools.TopicCommand acls:org.apache.kafka.tools.AclCommand; do
    printf '#!/bin/sh\nexec java %s -cp "%s/*:$CLASSPATH" %s "$@"\n' "${java_options[*]}" "$kafka_jars" "${tool#*:}" >"$work/kafka/bin/kafka-${tool%%:*}.sh"
done
chmod +x "$work"/kafka/bin/*.sh
export KAFKA_PATH=$work/kafka TEST_KAFKA_VERSION=4.3.1 TEST_RF=1 LD_LIBRARY_PATH=$source/src:$source/src-cpp
make -C "$source/tests/java" KAFKA_PATH="$KAFKA_PATH" >"$work/java.log" 2>&1
configs=(num.partitions=4 group.initial.rebalance.delay.ms=3000 broker.rack=RACK1
    replica.selector.class=org.apache.kafka.common.replica.RackAwareReplicaSelector)
authorizer=(authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer allow.everyone.if.no.acl.found=true)

tests() { # NAME NUMBER...: run these tests, or all that need a broker, on the broker that was started last
    export BROKERS=$broker RDKAFKA_TEST_CONF=$out/$1.conf
    printf '%s\n' "bootstrap.servers=$broker" broker.address.family=v4 test.timeout.multiplier=2 >"$RDKAFKA_TEST_CONF"
    "$python" run_tests.py "$source/tests" "$out/$1" "${@:2}" >>"$out/results.tsv" 2>>"$out/progress.log"
}

share=$(printf '%04d,' $(seq 170 185)) # share groups are not served
mock=0139,0150 # flagged as tests that need a broker, but they start their own
start_broker "${configs[@]}"
tests classic --leave-out "$share$mock,0081,0107,0109,0111,0115,0119"
TEST_CONSUMER_GROUP_PROTOCOL=consumer tests consumer --leave-out "$share$mock,0068,0075,0076,0077,0081,0088,0094,0107,0109,0111,0115,0119"
start_broker "${configs[@]}" "${authorizer[@]}" super.users=User:ANONYMOUS
tests classic-admin 0081
TEST_CONSUMER_GROUP_PROTOCOL=consumer tests consumer-admin 0081
start_broker "${configs[@]}" "${authorizer[@]}" super.users=User:admin
tests classic-acls 0109 0115 0119
start_broker "${configs[@]}" "${authorizer[@]}" super.users=User:admin auto.create.topics.enable=false
TEST_SCENARIO=noautocreate tests classic-no-autocreate 0045 0107 0111
TEST_SCENARIO=noautocreate TEST_CONSUMER_GROUP_PROTOCOL=consumer tests consumer-no-autocreate 0107 0111
finish
