# What the suites share; each run.sh sources it from its own folder. Shell functions, in the order of use.
set -euo pipefail

against=octavo
[[ ${1:-} == --kafka ]] && against=kafka && shift
suite=$(basename "$PWD")
root=$(cd ../.. && pwd)
cache=${COMPAT_CACHE:-$root/.cache/compat}
work=$cache/$suite
out=$work/$against
python=${PYTHON:-$root/.venv/bin/python}
[[ -x $python ]] || python=python3
kafka_jars=${OCTAVO_KAFKA_LIBS:-$root/.cache}/kafka-4.3.1/libs
java_options=(-Xmx512m -XX:+UseSerialGC -XX:TieredStopAtLevel=1)
broker_pids=()
rm -rf "$out"
mkdir -p "$out"
exec 3>&1 # what the reader sees; the suites' own output goes to files in $out

say() { echo "$suite: $*" >&3; }

need() { # COMMAND...: skip the suite, and say why, if one of them is missing
    for command in "$@"; do
        command -v "$command" >/dev/null || { say "skipped: $command is not installed"; exit 77; }
    done
}

# --- sources and packages, by their public names

sources() { # OWNER/NAME COMMIT: print the folder of a checkout at this commit
    local folder=$cache/sources/${1#*/}
    if [[ ! -d $folder ]]; then
        rm -rf "$folder.part"
        mkdir -p "$cache/sources"
        git clone --quiet "${COMPAT_GIT:-https://github.com}/$1" "$folder.part" >&2
        git -C "$folder.part" checkout --quiet "$2"
        mv "$folder.part" "$folder" # so that the folder is complete if it exists
    fi
    echo "$folder"
}

environment() { # PACKAGE...: make the suite's virtual environment, once
    [[ -e $work/venv/.made ]] && return
    rm -rf "$work/venv"
    "$python" -m venv "$work/venv"
    "$work/venv/bin/pip" install --quiet --disable-pip-version-check "$@" >"$work/pip.log" 2>&1
    touch "$work/venv/.made"
}

jars() { # NAME GROUP:ARTIFACT:VERSION[:CLASSIFIER]...: print the folder of these jars and what they need
    local folder=$cache/jars/$1 pom=$cache/jars/$1.xml
    if [[ ! -d $folder ]]; then
        mkdir -p "$cache/jars"
        {
            echo '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
            echo "<groupId>octavo</groupId><artifactId>compat</artifactId><version>1</version><packaging>pom</packaging><dependencies>"
            local coordinate group artifact version classifier
            for coordinate in "${@:2}"; do
                IFS=: read -r group artifact version classifier <<<"$coordinate"
                echo "<dependency><groupId>$group</groupId><artifactId>$artifact</artifactId><version>$version</version>"
                [[ -z $classifier ]] || echo "<classifier>$classifier</classifier>"
                echo "</dependency>"
            done
            echo "</dependencies></project>"
        } >"$pom"
        rm -rf "$folder.part"
        mvn -q -B -f "$pom" dependency:copy-dependencies -DoutputDirectory="$folder.part" -DincludeScope=runtime >"$folder.log" 2>&1
        mv "$folder.part" "$folder"
    fi
    echo "$folder"
}

run_class() { # JARS CLASS ARGUMENT...
    java "${java_options[@]}" -Dlog4j2.configurationFile="$root/compat/log4j2.xml" \
        -Dlog4j.configuration="file:$root/compat/log4j.properties" -cp "$1/*" "${@:2}"
}

# --- the broker under test

# A port below the range from which the system assigns ports to connections, so that it stays free until the broker starts.
free_port() {
    local port
    until port=$(shuf -i 10000-32000 -n 1) && "$python" -c 'import socket, sys; socket.socket().bind(("", int(sys.argv[1])))' "$port" 2>/dev/null; do :; done
    echo "$port"
}

start_broker() { # KEY=VALUE...: a broker with these configs on a fresh directory; its address is in $broker
    local port controller folder
    port=$(free_port) controller=$(free_port)
    folder=$out/broker-${#broker_pids[@]}
    mkdir -p "$folder"
    printf '%s\n' offsets.topic.replication.factor=1 transaction.state.log.replication.factor=1 \
        transaction.state.log.min.isr=1 "$@" >"$folder/server.properties"
    local listeners=PLAINTEXT://127.0.0.1:$port
    [[ $against == octavo ]] || listeners=$listeners,CONTROLLER://127.0.0.1:$controller
    printf '%s\n' "listeners=$listeners" "advertised.listeners=$listeners" >>"$folder/server.properties"
    if [[ $against == kafka ]]; then
        printf '%s\n' process.roles=broker,controller node.id=0 "log.dirs=$folder/logs" \
            share.coordinator.state.topic.replication.factor=1 share.coordinator.state.topic.min.isr=1 \
            "controller.quorum.bootstrap.servers=127.0.0.1:$controller" controller.listener.names=CONTROLLER \
            >>"$folder/server.properties"
        run_class "$kafka_jars" kafka.tools.StorageTool format -t octavo-compat-cluster0 \
            -c "$folder/server.properties" --standalone >"$folder/format.log" 2>&1
        java -Xmx1g -Dlevel=INFO -Dlog4j2.configurationFile="$root/compat/log4j2.xml" -cp "$kafka_jars/*" \
            kafka.Kafka "$folder/server.properties" >"$folder/log" 2>&1 &
    else
        mkdir "$folder/logs" # the suites expect node 0
        printf '%s\n' version=1 node.id=0 cluster.id=octavo-compat-cluster0 >"$folder/logs/meta.properties"
        PYTHONPATH=$root/src "$python" -m octavo broker "$folder/logs" \
            --config-file "$folder/server.properties" >"$folder/log" 2>&1 &
    fi
    broker_pids+=($!)
    broker=127.0.0.1:$port
    local second
    for second in $(seq 120); do
        run_probe "$port" && return
        kill -0 "${broker_pids[-1]}" 2>/dev/null || break
        sleep 0.5
    done
    say "the broker did not start: $(tail -3 "$folder/log")"
    exit 1
}

run_probe() { (exec 4<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

stop_brokers() {
    local pid
    for pid in "${broker_pids[@]}"; do
        kill "$pid" 2>/dev/null || continue
        wait "$pid" 2>/dev/null || true
    done
    broker_pids=()
}
trap stop_brokers EXIT

# --- the verdict

result() { printf '%s\t%s\n' "$1" "$2" >>"$out/results.tsv"; } # pass|fail|skip NAME

pytest_run() { # NAME ARGUMENT...: run pytest in the suite's environment; NAME is put before the names of its tests
    "$work/venv/bin/python" -P -m pytest -v -p no:cacheprovider --junitxml="$out/$1.xml" "${@:2}" >"$out/$1.log" 2>&1 || true
    "$python" "$root/compat/verdicts.py" junit "$out/$1.xml" "$1/" >>"$out/results.tsv"
}

finish() { # compare with what 4.3.1 passes and what has passed here; the exit status says whether something is worse
    stop_brokers
    "$python" "$root/compat/judge.py" "$suite" "$against" "$out/results.tsv"
}
