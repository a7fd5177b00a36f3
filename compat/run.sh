#!/usr/bin/env bash
# Run all suites, or those that are named, and print one table. --kafka runs them on a real 4.3.1, without the table.
cd "$(dirname "$0")"
options=()
[[ ${1:-} == --kafka ]] && options=(--kafka) && shift
suites=("$@")
[[ $# -gt 0 ]] || suites=(*/run.sh)
for suite in "${suites[@]}"; do
    "${suite%/run.sh}/run.sh" "${options[@]}"
done
[[ ${#options[@]} -gt 0 ]] || python3 judge.py table "${COMPAT_CACHE:-../.cache/compat}"
