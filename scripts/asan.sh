#!/usr/bin/env bash
# Build the kernels with AddressSanitizer and UndefinedBehaviorSanitizer next to the ordinary ones, and run their tests
# and a short fuzz on them.
set -euo pipefail
cd "$(dirname "$0")/.."
inputs=${1:-20000}
cc=${CC:-cc}
build=build/asan
mkdir -p build

OCTAVO_SANITIZE=address,undefined .venv/bin/python -W ignore setup.py --quiet \
    build --build-lib "$build" --build-temp "$build-objects" 2>"$build.log" || { cat "$build.log" >&2; exit 1; }

# The interpreter itself is not instrumented: the runtime must be loaded before it, and so must the C++ library
# that the runtime wraps. Leaks are not reported, because Python does not free all its memory at exit; and a failed
# allocation returns null, because one test asks for more memory than there is.
export LD_PRELOAD="$("$cc" -print-file-name=libasan.so) $("$cc" -print-file-name=libstdc++.so)"
# pytest captures what a test prints, and loses it when the process dies: reports go to files, shown at the end.
reports=$PWD/$build.report
rm -f "$reports".*
show_reports() { cat "$reports".* >&2 2>/dev/null || true; }
trap show_reports EXIT
export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:log_path=$reports
export UBSAN_OPTIONS=print_stacktrace=1:log_path=$reports
# Otherwise small objects are in Python's pools, where the sanitizer does not see an access beyond their end.
export PYTHONMALLOC=malloc
export PYTHONPATH=$PWD/$build
.venv/bin/python -c "
from octavo import kernels
assert kernels.COMPILED and '$build' in kernels.__file__, kernels.__file__"
.venv/bin/python -m pytest -p no:cacheprovider --numprocesses 2 tests/kernels tests/property tests/golden
.venv/bin/python -m tests.fuzz --inputs "$inputs"
