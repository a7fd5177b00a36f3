#!/usr/bin/env bash
# Kafka 4.3.1's command-line tools: one line per command, with the expected exit code and answer.
cd "$(dirname "$0")" && . ../lib.sh
need java
[[ -d $kafka_jars ]] || "$root/scripts/kafka.sh"
start_broker group.initial.rebalance.delay.ms=0 num.partitions=2

T=org.apache.kafka.tools
expect() { # NAME EXIT-CODE PATTERN CLASS ARGUMENT...: the pattern, unless it is empty, is in a line of the answer
    local name=$1 code=0
    timeout 120 java "${java_options[@]}" -Dlog4j2.configurationFile="$root/compat/log4j2.xml" -cp "$kafka_jars/*" "${@:4}" \
        >"$out/$name.log" 2>&1 || code=$?
    echo "exit code $code, expected $2; pattern: $3" >>"$out/$name.log"
    if [[ $code == "$2" ]] && { [[ -z $3 ]] || head -n -1 "$out/$name.log" | grep -aqE -- "$3"; }; then
        result pass "$name"
    else
        result fail "$name"
    fi
}
on() { # NAME EXIT-CODE PATTERN CLASS ARGUMENT...: for a tool that accepts --bootstrap-server
    expect "$1" "$2" "$3" "$4" --bootstrap-server "$broker" "${@:5}"
}

on topics-create 0 '^Created topic in\.' $T.TopicCommand --create --topic in --partitions 1 --replication-factor 1
on topics-create-with-config 0 '^Created topic out\.' $T.TopicCommand --create --topic out --partitions 2 --replication-factor 1 --config max.message.bytes=2000000
on topics-create-again 1 "TopicExistsException" $T.TopicCommand --create --topic out --partitions 2 --replication-factor 1
on topics-describe 0 'Topic: out\s+Partition: 1\s+Leader: 0\s+Replicas: 0\s+Isr: 0' $T.TopicCommand --describe --topic out
on topics-alter 0 '' $T.TopicCommand --alter --topic out --partitions 3
on topics-list 0 '^in$' $T.TopicCommand --list
on verifiable-producer 0 '"sent":5000,"acked":5000' $T.VerifiableProducer --topic in --max-messages 5000 --throughput -1 --acks -1 --repeating-keys 10
expect transactional-message-copier 0 '"ShutdownComplete".*"totalProcessed":5000,"consumed":5000,"remaining":0' $T.TransactionalMessageCopier --broker-list "$broker" --input-topic in --input-partition 0 --output-topic out --max-messages 5000 --consumer-group copier --transaction-size 250 --transactional-id copy --use-group-metadata
expect transactional-message-copier-aborts 0 '"ShutdownComplete".*"totalProcessed":5000,"consumed":5000,"remaining":0' $T.TransactionalMessageCopier --broker-list "$broker" --input-topic in --input-partition 0 --output-topic out --max-messages 5000 --consumer-group aborting-copier --transaction-size 250 --transactional-id copy-and-abort --enable-random-aborts --group-mode --use-group-metadata
on copied-exactly-once 0 'Processed a total of 10000 messages' $T.consumer.ConsoleConsumer --topic out --from-beginning --isolation-level read_committed --timeout-ms 15000 --group counted
on verifiable-consumer-classic 0 '"offset":5000}\],"success":true' $T.VerifiableConsumer --topic in --group-id classic --group-protocol classic --max-messages 5000 --session-timeout 30000 --reset-policy earliest
on verifiable-consumer-consumer 0 '"offset":5000}\],"success":true' $T.VerifiableConsumer --topic in --group-id consumer --group-protocol consumer --max-messages 5000 --reset-policy earliest
echo isolation.level=read_committed >"$out/committed.properties"
on verifiable-consumer-read-committed 0 '"name":"offsets_committed".*"success":true' $T.VerifiableConsumer --topic out --group-id committed --group-protocol consumer --max-messages 10000 --reset-policy earliest --command-config "$out/committed.properties"
on verifiable-share-consumer 0 '"name":"offsets_acknowledged"' $T.VerifiableShareConsumer --topic in --group-id share --max-messages 5000 --offset-reset-strategy earliest --acknowledgement-mode sync
on end-to-end-latency 0 'Percentiles: 50th' $T.EndToEndLatency --topic latency --num-records 500 --producer-acks all --record-size 100
on producer-performance 0 '^200000 records sent' $T.ProducerPerformance --topic performance --num-records 200000 --record-size 100 --throughput -1 --command-property acks=all
on producer-performance-transactional 0 '^50000 records sent' $T.ProducerPerformance --topic performance --num-records 50000 --record-size 100 --throughput -1 --transactional-id performance --transaction-duration-ms 100
on consumer-performance 0 ', 2[0-9]{5}, ' $T.ConsumerPerformance --topic performance --num-records 200000 --timeout 20000
on groups-list 0 '^classic +Classic' $T.GroupsCommand --list
on consumer-groups-list 0 '^classic$' $T.consumer.group.ConsumerGroupCommand --list
on consumer-groups-state 0 '^classic +127\.0\.0\.1:[0-9]+ +\(0\) .*Empty +0' $T.consumer.group.ConsumerGroupCommand --describe --group classic --state
on consumer-groups-describe 0 '^consumer +in +0 +5000 +5000 +0 ' $T.consumer.group.ConsumerGroupCommand --describe --group consumer
on consumer-groups-reset 0 '^classic +in +0 +100' $T.consumer.group.ConsumerGroupCommand --reset-offsets --group classic --topic in --to-offset 100 --execute
on consumer-groups-delete-offsets 0 '^in +0 +Successful' $T.consumer.group.ConsumerGroupCommand --delete-offsets --group classic --topic in
on consumer-groups-delete 0 "Deletion of requested consumer groups \('classic'\) was successful" $T.consumer.group.ConsumerGroupCommand --delete --group classic
on share-groups-describe 0 '^share +in +0 ' $T.consumer.group.ShareGroupCommand --describe --group share
on transactions-list 0 '^copy\s+0\s.*CompleteCommit' $T.TransactionsCommand list
on transactions-describe 0 '^0\s+copy\s.*CompleteCommit' $T.TransactionsCommand describe --transactional-id copy
on transactions-producers 0 '^[0-9]+\s+[0-9]+\s+0\s+-1\s' $T.TransactionsCommand describe-producers --topic out --partition 0
on transactions-hanging 0 '^Topic\s' $T.TransactionsCommand find-hanging --broker-id 0
on configs-alter-topic 0 '^Completed updating config for topic out\.' kafka.admin.ConfigCommand --alter --entity-type topics --entity-name out --add-config retention.ms=86400000
on configs-describe-topic 0 'retention.ms=86400000 sensitive=false synonyms=\{DYNAMIC_TOPIC_CONFIG:retention.ms=86400000' kafka.admin.ConfigCommand --describe --entity-type topics --entity-name out
on configs-alter-topic-unknown 1 'InvalidConfigurationException' kafka.admin.ConfigCommand --alter --entity-type topics --entity-name out --add-config no.such=1
on configs-describe-broker 0 'transaction.state.log.num.partitions=50 ' kafka.admin.ConfigCommand --describe --all --entity-type brokers --entity-name 0
on configs-alter-broker 0 '^Completed updating config for broker 0\.' kafka.admin.ConfigCommand --alter --entity-type brokers --entity-name 0 --add-config log.cleaner.backoff.ms=15000
on configs-delete-broker 0 '^Completed updating config for broker 0\.' kafka.admin.ConfigCommand --alter --entity-type brokers --entity-name 0 --delete-config log.cleaner.backoff.ms
on configs-alter-quota 0 '^Completed updating config for client c1\.' kafka.admin.ConfigCommand --alter --entity-type clients --entity-name c1 --add-config producer_byte_rate=1000000
on configs-describe-quota 0 "client-id 'c1' are producer_byte_rate=1000000.0" kafka.admin.ConfigCommand --describe --entity-type clients --entity-name c1
on configs-alter-scram 0 '^Completed updating config for user u1\.' kafka.admin.ConfigCommand --alter --entity-type users --entity-name u1 --add-config 'SCRAM-SHA-256=[iterations=4096,password=pw]'
on acls-list-without-authorizer 1 'SecurityDisabledException: No Authorizer is configured' $T.AclCommand --list
on acls-add-without-authorizer 1 'SecurityDisabledException: No Authorizer is configured' $T.AclCommand --add --allow-principal User:alice --operation Read --topic in
on log-dirs 0 '"partition":"in-0","size":[0-9]+,"offsetLag":0,"isFuture":false' $T.LogDirsCommand --describe --topic-list in
on offsets-latest 0 '^in:0:5000$' $T.GetOffsetShell --topic in
on offsets-earliest 0 '^in:0:0$' $T.GetOffsetShell --topic in --time earliest
on offsets-max-timestamp 0 '^in:0:[0-9]+$' $T.GetOffsetShell --topic in --time max-timestamp
on offsets-latest-tiered 0 '' $T.GetOffsetShell --topic in --time latest-tiered
echo '{"partitions":[{"topic":"in","partition":0,"offset":1000}],"version":1}' >"$out/delete.json"
on delete-records 0 'partition: in-0\s+low_watermark: 1000' $T.DeleteRecordsCommand --offset-json-file "$out/delete.json"
on offsets-after-delete 0 '^in:0:1000$' $T.GetOffsetShell --topic in --time -2
expect cluster-id 0 '^Cluster ID: octavo-compat-cluster0' $T.ClusterTool cluster-id --bootstrap-server "$broker"
on api-versions 0 'Produce\(0\): 0 to 13 \[usable: 13\]' $T.BrokerApiVersionsCommand
on features 0 'Feature: metadata.version' $T.FeatureCommand describe
on quorum 0 'LeaderId: +0' $T.MetadataQuorumCommand describe --status
on leader-election 0 'Valid replica already elected for partitions in-0' $T.LeaderElectionCommand --election-type preferred --topic in --partition 0
on client-metrics 0 '' $T.ClientMetricsCommand --list
printf 'a:1\nb:2\n' | on console-producer 0 '' $T.ConsoleProducer --topic console --reader-property parse.key=true --reader-property key.separator=:
on console-consumer 0 '^b\s2$' $T.consumer.ConsoleConsumer --topic console --from-beginning --max-messages 2 --timeout-ms 20000 --formatter-property print.key=true
on topics-delete 0 '' $T.TopicCommand --delete --topic in
finish
