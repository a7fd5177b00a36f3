#!/usr/bin/env bash
# Kafka's own integration tests of clients, as franz-go's kfake has ported them; a stand-in points them at a real address.
cd "$(dirname "$0")" && . ../lib.sh
need git go
source=$(sources twmb/franz-go adb3a18abe14bdb230f1cd738d03623301013d42)
module=$work/module
rm -rf "$module"
mkdir -p "$module/kfake"
cp -r "$source/pkg/kfake/kafka_tests" "$module/"
cp stand_in.go.txt "$module/kfake/kfake.go"
printf 'module github.com/twmb/franz-go/pkg/kfake\n\ngo 1.25.0\n' >"$module/kfake/go.mod"
cat >"$module/go.mod" <<END
module compat

go 1.25.0

replace (
	github.com/twmb/franz-go => $source
	github.com/twmb/franz-go/pkg/kadm => $source/pkg/kadm
	github.com/twmb/franz-go/pkg/kfake => ./kfake
	github.com/twmb/franz-go/pkg/kmsg => $source/pkg/kmsg
)
END
(cd "$module" && go mod tidy && go test -c -o "$work/kfake.test" ./kafka_tests) >"$work/build.log" 2>&1
tests() { # NAME ARGUMENT...
    (cd "$module/kafka_tests" && KGO_SEEDS=$broker SHIM_SETTLE=200ms "$work/kfake.test" -test.v -test.count=1 -test.parallel 1 -test.timeout 600s "${@:2}") >"$out/$1.log" 2>&1 || true
    "$python" "$root/compat/verdicts.py" go "$out/$1.log" >>"$out/results.tsv"
}
# These tests were written for a cluster whose defaults differ from Kafka's.
configs=(group.initial.rebalance.delay.ms=0 group.consumer.min.heartbeat.interval.ms=100
    group.consumer.heartbeat.interval.ms=100 group.consumer.min.session.timeout.ms=3000 group.min.session.timeout.ms=100)
start_broker "${configs[@]}"
tests all -test.skip TestGroupMaxSize
start_broker "${configs[@]}" group.max.size=1 group.consumer.max.size=1
tests max-size -test.run TestGroupMaxSize
finish
