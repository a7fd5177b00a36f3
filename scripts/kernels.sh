#!/usr/bin/env bash
# Compile in place the kernels whose sources changed; without a compiler, remove all of them and say so.
set -euo pipefail
cd "$(dirname "$0")/.."
kernels=src/octavo/kernels/compiled

# A kernel whose source is gone must not be imported any more.
for binary in "$kernels"/*.so; do
    name=$(basename "$binary")
    [[ -e $kernels/${name%%.*}.pyx ]] || rm -f "$binary"
done

log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! .venv/bin/python -W ignore setup.py --quiet build_ext --inplace >"$log" 2>&1; then
    cat "$log" >&2
    exit 1
fi
if grep -q 'no working C compiler' "$log"; then
    rm -f "$kernels"/*.so
    echo "No C compiler works here (${CC:-cc}): octavo runs on its plain-Python kernels, with the same results but slower."
fi
