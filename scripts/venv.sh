#!/usr/bin/env bash
# Make .venv with the package (editable) and what its development needs, at the versions of constraints.txt.
# PYTHON names the interpreter to use; without it the first of the usual names that is new enough.
set -euo pipefail
cd "$(dirname "$0")/.."

new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

find_python() {
    local name names=(python3 python3.14 python3.13 python3.12 python3.11 python)
    [[ -z ${PYTHON:-} ]] || names=("$PYTHON")
    for name in "${names[@]}"; do
        if new_enough "$name"; then
            echo "$name"
            return
        fi
    done
    echo "octavo needs Python 3.11 or later, and none was found (tried: ${names[*]}); name one: make PYTHON=/path/to/python" >&2
    return 1
}

if ! { new_enough .venv/bin/python && .venv/bin/python -c 'import pip' 2>/dev/null; }; then
    python=$(find_python)
    if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
        echo "$python cannot make virtual environments; on Debian and Ubuntu the package python3-venv adds that." >&2
        exit 1
    fi
    "$python" -m venv --clear .venv
fi

# Without build isolation the build takes its pinned setuptools and Cython from .venv too.
pip() { .venv/bin/python -m pip --disable-pip-version-check "$@"; }
pip install --quiet --constraint constraints.txt setuptools Cython
pip install --quiet --constraint constraints.txt --no-build-isolation --editable '.[dev]'
