#!/usr/bin/env bash
# Fetch the jars of real Kafka that tests compare with, through Maven, into .cache/kafka-<version>/libs.
# OCTAVO_KAFKA_LIBS names another folder that holds kafka-<version>/libs: then nothing is fetched.
# --if-possible: a failure is reported, but is not an error; it is remembered, so that the next run with this option does
# not wait for the network.
set -euo pipefail
cd "$(dirname "$0")/.."
soft=${1:-}
failed=.cache/kafka-failed
limit=(env)
command -v timeout >/dev/null && limit=(timeout 600)

give_up() {
    echo "Kafka's jars are not here: $1. Tests that compare with them are skipped; \`make kafka\` tries again." >&2
    [[ $soft == --if-possible ]] && exit 0
    exit 1
}

[[ -n ${OCTAVO_KAFKA_LIBS:-} ]] && exit 0
mkdir -p .cache
if [[ $soft == --if-possible && -e $failed ]]; then
    give_up "$(cat "$failed")"
fi
rm -f "$failed"
for pom in scripts/kafka-*.pom.xml; do
    version=$(basename "$pom" .pom.xml)
    libs=.cache/$version/libs
    [[ -d $libs ]] && continue
    command -v mvn >/dev/null || give_up "Maven (mvn) is not installed"
    echo "Fetching the jars of $version with Maven."
    rm -rf "$libs.part"
    if ! "${limit[@]}" mvn -q -B -f "$pom" dependency:copy-dependencies \
        -DoutputDirectory="$PWD/$libs.part" -DincludeScope=runtime >".cache/$version.log" 2>&1; then
        echo "Maven could not fetch $version (see .cache/$version.log)" >"$failed"
        give_up "$(cat "$failed")"
    fi
    mv "$libs.part" "$libs" # so that the folder is complete if it exists
done
