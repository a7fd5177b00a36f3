#!/usr/bin/env bash
# Look for a Java runtime of version 17 or later, which Spark and the tests against Kafka's own classes need. If there is
# none, and root runs this where there is apt-get, install one with it. Everything else works without Java.
set -euo pipefail

works() {
    local version
    version=$("$1" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -n 1) || return 1
    [[ -n $version && $version -ge 17 ]]
}

found() { { [[ -n ${JAVA_HOME:-} ]] && works "$JAVA_HOME/bin/java"; } || works java; }

if ! found && [[ $(id -u) -eq 0 ]] && command -v apt-get >/dev/null; then
    echo "No Java runtime of version 17 or later: installing one with apt-get."
    export DEBIAN_FRONTEND=noninteractive
    apt-get -qq update >/dev/null 2>&1 || true
    for package in openjdk-17-jre-headless default-jre-headless; do # newer releases have no 17
        apt-get -qq install --yes --no-install-recommends "$package" >/dev/null 2>&1 && break
    done
fi
if ! found; then
    echo "No Java runtime of version 17 or later in JAVA_HOME or on the PATH: install one to run Spark and the tests that need Java." >&2
fi
