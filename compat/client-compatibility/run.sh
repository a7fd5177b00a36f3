#!/usr/bin/env bash
# Kafka's ClientCompatibilityTest with the clients of seven versions.
cd "$(dirname "$0")" && . ../lib.sh
need java mvn
[[ -d $kafka_jars ]] || "$root/scripts/kafka.sh"

tools() { # VERSION COORDINATE...: print the folder of that version's tools and of these jars
    jars "tools-$1" "org.apache.kafka:kafka-tools:$1" "${@:2}"
}
test_with() { # VERSION JARS OPTION...
    run_class "$kafka_jars" org.apache.kafka.tools.TopicCommand --bootstrap-server "$broker" --delete --if-exists --topic newtopic >"$out/delete-$1" 2>&1 || true
    run_class "$kafka_jars" org.apache.kafka.tools.TopicCommand --bootstrap-server "$broker" --create --topic "cct-$1" --partitions 1 >"$out/create-$1" 2>&1 || true
    if timeout 120 java "${java_options[@]}" -Dlog4j.configuration="file:$root/compat/log4j.properties" -cp "$2/*" \
        org.apache.kafka.tools.ClientCompatibilityTest --bootstrap-server "$broker" --topic "cct-$1" \
        --offsets-for-times-supported true --cluster-id-supported true --expect-record-too-large-exception false \
        --num-cluster-nodes 1 --create-topics-supported true "${@:3}" >"$out/$1.log" 2>&1 && grep -q '^SUCCESS' "$out/$1.log"; then
        result pass "$1"
    else
        result fail "$1"
    fi
}

start_broker group.initial.rebalance.delay.ms=0 num.partitions=2
acls=(--describe-acls-supported true) configs=(--describe-configs-supported true) idempotence=(--idempotent-producer-supported true)
log4j12=org.slf4j:slf4j-log4j12:1.7.25 jaxb=javax.xml.bind:jaxb-api:2.3.1
test_with 4.3.1 "$kafka_jars" "${acls[@]}" "${configs[@]}" "${idempotence[@]}"
test_with 4.0.0 "$(tools 4.0.0 org.slf4j:slf4j-reload4j:1.7.36)" "${acls[@]}" "${configs[@]}" "${idempotence[@]}"
test_with 3.9.2 "$(tools 3.9.2 org.slf4j:slf4j-reload4j:1.7.36)" "${acls[@]}" "${configs[@]}" "${idempotence[@]}"
test_with 2.8.2 "$(tools 2.8.2 org.slf4j:slf4j-log4j12:1.7.30)" "${acls[@]}" "${configs[@]}"
test_with 2.1.1 "$(tools 2.1.1 $log4j12)" "${acls[@]}"
test_with 1.0.2 "$(tools 1.0.2 $log4j12)" --describe-acls-supported false
test_with 0.11.0.3 "$(tools 0.11.0.3 $log4j12 $jaxb)" --describe-acls-supported false
finish
