#!/usr/bin/env bash
# Print the newest Python that the installed PySpark allows, from the PATH or pyenv, if it is newer than that of .venv;
# otherwise print nothing. With a version, such as 3.11, print a Python of that version, if there is one.
set -euo pipefail
cd "$(dirname "$0")/.."

newer_versions() {
    .venv/bin/python - <<'END'
import sys
from importlib.metadata import metadata

prefix = "Programming Language :: Python :: 3."
allowed = [name.removeprefix(prefix) for name in metadata("pyspark").get_all("Classifier") or () if name.startswith(prefix)]
for minor in sorted((int(minor) for minor in allowed if minor.isdigit()), reverse=True):
    if minor > sys.version_info.minor:
        print(f"3.{minor}")
END
}

# A command may exist without a working interpreter, like pyenv's shims.
works() { "$1" -c "import ensurepip, sys, venv; sys.exit(sys.version.startswith('$2.') is False)" >/dev/null 2>&1; }

for version in ${1:-$(newer_versions)}; do
    for python in "python$version" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$version".*/bin/python; do
        if works "$python" "$version"; then
            command -v "$python"
            exit
        fi
    done
done
