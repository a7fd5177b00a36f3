#!/usr/bin/env bash
# Set up .venv at the versions of constraints.txt, and say what is being done.
#   venv.sh demo   the package (editable), its dependencies, PySpark: what `make demo` needs
#   venv.sh dev    in addition, what tests, lint, docs and benchmarks need
# PYTHON names the interpreter to use. Without it, the system's own comes first, if it can make environments and compile
# extensions: distributions build it with profile-guided optimization, and our broker answers a small request on it in two
# thirds of the time that it takes on pyenv's default build. Then come the usual names on the PATH.
set -euo pipefail
cd "$(dirname "$0")/.."
unset PYTHONPATH # if src were on it, pip would consider the package installed

new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

has_everything() {
    "$1" -c 'import ensurepip, venv, os, sysconfig, sys; sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))' \
        >/dev/null 2>&1
}

find_python() {
    local name system=/usr/bin/python3 names=(python3 python3.14 python3.13 python3.12 python3.11 python)
    if [[ -n ${PYTHON:-} ]]; then
        names=("$PYTHON")
    elif has_everything "$system"; then
        names=("$system" "${names[@]}")
    fi
    for name in "${names[@]}"; do
        if new_enough "$name"; then
            echo "$name"
            return
        fi
    done
    echo "octavo needs Python 3.11 or later, and none was found (tried: ${names[*]}); name one: make PYTHON=/path/to/python" >&2
    return 1
}

step() { printf '[%3d s] %s\n' "$SECONDS" "$1"; }

# One line for each package that pip downloads or takes from its cache: name, version, size.
packages='/^ *(Downloading|Using cached) / && !/[.]metadata/ {
    size = /[)]$/ ? $(NF - 1) " " $NF : ""; file = size ? $(NF - 2) : $NF # a wheel that pip built itself has no size
    sub(".*/", "", file); split(file, part, "-"); sub("[.](whl|zip|tar.*)$", "", part[2])
    printf "            %s %s %s\n", part[1], part[2], size; fflush()
}'
install() {
    .venv/bin/python -m pip --disable-pip-version-check install --no-input --progress-bar off --constraint constraints.txt "$@" | awk "$packages"
}

# The requirements in pyproject.toml: the package's own and those of an extra, except for references to the package.
requirements() {
    .venv/bin/python - "$1" <<'END'
import sys, tomllib
with open("pyproject.toml", "rb") as file:
    project = tomllib.load(file)["project"]
wanted = project["dependencies"] + project["optional-dependencies"][sys.argv[1]]
print("\n".join(name for name in wanted if not name.startswith("octavo")))
END
}

install_extra() {
    local wanted=()
    while IFS= read -r name; do wanted+=("$name"); done < <(requirements "$1")
    install "${wanted[@]}"
}

case $1 in
demo)
    if ! { new_enough .venv/bin/python && .venv/bin/python -c 'import pip' 2>/dev/null; }; then
        python=$(find_python)
        if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
            echo "$python cannot make virtual environments; on Debian and Ubuntu the package python3-venv adds that." >&2
            exit 1
        fi
        step "Making .venv with $("$python" --version)"
        "$python" -m venv --clear .venv
    fi
    step "Installing the dependencies and PySpark, about 600 MB on the first run"
    install setuptools Cython
    install_extra spark
    step "Compiling the kernels and installing octavo itself"
    # Without build isolation, the build uses the pinned setuptools and Cython of .venv.
    install --quiet --no-deps --no-build-isolation --editable .
    step "Looking for Java, which Spark needs"
    scripts/java.sh
    ;;
dev)
    step "Installing what tests, lint and benchmarks need: pytest, mypy, ruff, JPype, moto, Sphinx ..."
    install_extra dev
    install_extra docs
    ;;
esac
step "Done"
