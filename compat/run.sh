#!/usr/bin/env bash
# Run all suites, or those that are named, and print one table. --kafka runs them on a real 4.3.1, without the table.
cd "$(dirname "$0")"
options=()
[[ ${1:-} == --kafka ]] && options=(--kafka) && shift
suites=("$@")
[[ $# -gt 0 ]] || suites=(*/run.sh)
failed=0
for suite in "${suites[@]}"; do
    code=0
    "${suite%/run.sh}/run.sh" "${options[@]}" || code=$?
    if [[ $code -ne 0 && $code -ne 77 ]]; then # 77: skipped, because something is not installed
        echo "${suite%/run.sh}: failed with exit code $code"
        failed=1
    fi
done
[[ ${#options[@]} -gt 0 ]] || python3 judge.py table "${COMPAT_CACHE:-../.cache/compat}" || failed=1
exit $failed
