#!/usr/bin/env bash
# See that a Java runtime of version 17 or later is there: Spark and the tests against Kafka's own classes need one.
# Root on Debian gets one from the distribution's packages. Without any the rest of octavo works all the same.
set -euo pipefail

works() {
    local version
    version=$("$1" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -n 1) || return 1
    [[ -n $version && $version -ge 17 ]]
}

found() { { [[ -n ${JAVA_HOME:-} ]] && works "$JAVA_HOME/bin/java"; } || works java; }

if ! found && [[ $(id -u) -eq 0 ]] && command -v apt-get >/dev/null; then
    echo "No Java runtime of version 17 or later: installing Debian's openjdk-17-jre-headless."
    export DEBIAN_FRONTEND=noninteractive
    { apt-get -qq update && apt-get -qq install --yes --no-install-recommends openjdk-17-jre-headless; } >/dev/null 2>&1 || true
fi
if ! found; then
    echo "No Java runtime of version 17 or later (JAVA_HOME or the PATH): tests against Kafka's own classes will be skipped." >&2
fi
