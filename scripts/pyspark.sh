#!/usr/bin/env bash
# Run a short Spark suite on a PySpark other than that of .venv: scripts/pyspark.sh 4.2.1 [pytest's arguments]
# It is installed into .cache/pyspark-<version> and comes first on the path; everything else is from .venv.
set -euo pipefail
cd "$(dirname "$0")/.."
version=${1:?name a version, as in scripts/pyspark.sh 4.2.1}
shift
home=.cache/pyspark-$version
if [[ ! -d $home ]]; then
    echo "Installing PySpark $version into $home."
    rm -rf "$home.part"
    .venv/bin/pip install --quiet --target "$home.part" "pyspark==$version"
    mv "$home.part" "$home" # so that the folder is complete if it exists
fi
export PYTHONPATH=$PWD/$home:$PWD/src:$PWD
found=$(.venv/bin/python -c 'import pyspark; print(pyspark.__version__)')
[[ $found == "$version" ]] || { echo "found PySpark $found in $home, expected $version: remove this folder and run the script again" >&2; exit 1; }
exec .venv/bin/python -m pytest -p no:cacheprovider -q "$@" \
    tests/spark/test_{source,stream_reader,damage,arrow_scan,sql,commit_group,sink,jobs,version}.py
