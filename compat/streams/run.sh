#!/usr/bin/env bash
# Kafka Streams' StreamsSmokeTest with exactly_once_v2: a whole application with state, repartitioning and transactions.
cd "$(dirname "$0")" && . ../lib.sh
need java mvn
libs=$(jars streams-4.3.1 org.apache.kafka:kafka-streams:4.3.1 org.apache.kafka:kafka-streams:4.3.1:test \
    org.apache.kafka:kafka-clients:4.3.1:test org.apache.kafka:kafka-tools:4.3.1 org.apache.logging.log4j:log4j-slf4j-impl:2.24.3)
start_broker group.initial.rebalance.delay.ms=0 num.partitions=2
for topic in data echo max min min-suppressed min-raw dif sum sws-raw sws-suppressed cnt avg tagg fk; do
    run_class "$libs" org.apache.kafka.tools.TopicCommand --bootstrap-server "$broker" --create --topic $topic --partitions 5 >>"$out/topics.log" 2>&1
done
printf '%s\n' "bootstrap.servers=$broker" processing.guarantee=exactly_once_v2 "state.dir=$out/state" num.standby.replicas=0 \
    commit.interval.ms=1000 replication.factor=1 >"$out/streams.properties"
smoke() { # process|run
    exec java -Xmx768m -Dlog4j2.configurationFile="$root/compat/log4j2.xml" -cp "$libs/*" \
        org.apache.kafka.streams.tests.StreamsSmokeTest "$out/streams.properties" "$1" >"$out/$1.log" 2>&1
}
smoke process &
application=$!
if (smoke run) && grep -q ALL-RECORDS-DELIVERED "$out/run.log" && grep -qx SUCCESS "$out/run.log"; then
    result pass exactly_once_v2
else
    result fail exactly_once_v2
fi
kill $application
wait $application || true
finish
