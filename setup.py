"""Build the compiled kernels; where no C compiler works, build none: the package runs on their plain-Python twin.

A kernel that a working compiler refuses is an error, never a silent fall-back. OCTAVO_SANITIZE=address,undefined
builds the kernels with these sanitizers (`make asan`).
"""

import os
import tempfile
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import CompileError

KERNELS = Path("src/octavo/kernels/compiled")
LIMITED_API = "0x030B0000"  # Python 3.11: one binary serves every later version
SANITIZE = os.environ.get("OCTAVO_SANITIZE")
SANITIZE_ARGS = ["-O1", "-g", "-fno-omit-frame-pointer", f"-fsanitize={SANITIZE}", "-fno-sanitize-recover=all"]
SANITIZE_ARGS += ["-fno-wrapv"]  # Python's own flags define what happens when a signed number overflows


class BuildKernels(build_ext):
    """Tries the compiler before it is needed."""

    def build_extensions(self) -> None:
        if self._compiler_works():
            super().build_extensions()
        else:
            self.warn("no working C compiler: octavo is built without compiled kernels")
            self.extensions = []

    def _compiler_works(self) -> bool:
        with tempfile.TemporaryDirectory() as folder:
            probe = Path(folder, "probe.c")
            probe.write_text(f"#define Py_LIMITED_API {LIMITED_API}\n#include <Python.h>\n")
            try:
                self.compiler.compile([str(probe)], output_dir=folder, include_dirs=self.include_dirs)
            except CompileError:
                return False
        return True


def kernel(source: Path) -> Extension:
    return Extension(
        f"octavo.kernels.compiled.{source.stem}",
        [str(source)],
        depends=[str(path) for pattern in ("*.h", "*.pxd") for path in sorted(KERNELS.glob(pattern))],
        include_dirs=[str(KERNELS)],
        define_macros=[("Py_LIMITED_API", LIMITED_API), ("CYTHON_LIMITED_API", "1")],
        extra_compile_args=SANITIZE_ARGS if SANITIZE else ["-O3"],
        extra_link_args=SANITIZE_ARGS if SANITIZE else [],
        py_limited_api=True,
    )


setup(
    cmdclass={"build_ext": BuildKernels},
    ext_modules=cythonize(
        [kernel(source) for source in sorted(KERNELS.glob("*.pyx"))],
        compiler_directives={"language_level": 3, "boundscheck": False, "wraparound": False, "cdivision": True},
        build_dir="build",
        quiet=True,
    ),
    options={"bdist_wheel": {"py_limited_api": "cp311"}, "build_ext": {"parallel": os.cpu_count()}},
)
