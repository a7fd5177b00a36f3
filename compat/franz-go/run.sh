#!/usr/bin/env bash
# franz-go's pkg/kgo: groups, transactions and long chains of both.
cd "$(dirname "$0")" && . ../lib.sh
need git go
source=$(sources twmb/franz-go adb3a18abe14bdb230f1cd738d03623301013d42)
(cd "$source/pkg/kgo" && go test -c -o "$work/kgo.test" .) >"$work/build.log" 2>&1
start_broker group.initial.rebalance.delay.ms=0
cd "$source/pkg/kgo"
export KGO_SEEDS=$broker KGO_TEST_RF=1 KGO_TEST_RECORDS=10000 KGO_LOG_LEVEL=none
"$work/kgo.test" -test.v -test.count=1 -test.timeout 900s >"$out/kgo.log" 2>&1 || true
"$python" "$root/compat/verdicts.py" go "$out/kgo.log" >>"$out/results.tsv"
finish
