#!/usr/bin/env bash
# Make .venv-newest with the given Python, and install what the tests that run there need.
# The package itself is not installed: src is imported, and its kernels work with every Python from 3.11 on.
set -euo pipefail
cd "$(dirname "$0")/.."
python=$1
wanted="$("$python" --version) $(cat pyproject.toml constraints.txt "$0" | cksum)"

[[ -e .venv-newest/.installed && $(cat .venv-newest/.installed) == "$wanted" ]] && exit
echo "Setting up .venv-newest with $("$python" --version)."
"$python" -m venv --clear .venv-newest
needed=(hypothesis pytest pytest-xdist)
while IFS= read -r dependency; do needed+=("$dependency"); done < <(.venv/bin/python -c "
import tomllib
with open('pyproject.toml', 'rb') as file:
    print('\n'.join(tomllib.load(file)['project']['dependencies']))")
.venv-newest/bin/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt "${needed[@]}"
echo "$wanted" >.venv-newest/.installed
