"""Build the compiled kernels; the package works without them, on their plain-Python twin."""

from pathlib import Path

from setuptools import Extension, setup

KERNELS = Path("src/octavo/kernels")

try:
    from Cython.Build import cythonize
except ImportError:  # an environment without Cython installs the twin alone
    modules = []
else:
    modules = cythonize(
        [
            Extension(
                f"octavo.kernels.{source.stem}",
                [str(source)],
                define_macros=[("Py_LIMITED_API", "0x030B0000"), ("CYTHON_LIMITED_API", "1")],
                extra_compile_args=["-O3"],
                py_limited_api=True,
                optional=True,  # no compiler: the build goes on
            )
            for source in sorted(KERNELS.glob("*.pyx"))
        ],
        compiler_directives={"language_level": 3, "boundscheck": False, "wraparound": False, "cdivision": True},
        build_dir="build",
    )

setup(ext_modules=modules, options={"bdist_wheel": {"py_limited_api": "cp311"}})
