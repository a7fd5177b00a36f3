"""Build the compiled kernels and the description that PyPI shows.

Where no C compiler works, no kernel is built: the package runs on their plain-Python twin, and its wheel is tagged
`py3-none-any`, so that nothing mistakes it for a compiled one. A kernel that a working compiler refuses is an error,
never a silent fallback. OCTAVO_SANITIZE=address,undefined builds the kernels with these sanitizers (`make asan`).
"""

import os
import re
import sys
import sysconfig
import tempfile
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

from distutils.ccompiler import new_compiler  # isort: skip  (setuptools provides it, once imported)
from distutils.errors import CompileError  # isort: skip
from distutils.sysconfig import customize_compiler  # isort: skip

KERNELS = Path("src/octavo/kernels/compiled")
LIMITED_API = "0x030B0000"  # Python 3.11: one binary serves every later version
SANITIZE = os.environ.get("OCTAVO_SANITIZE")
SANITIZE_ARGS = ["-O1", "-g", "-fno-omit-frame-pointer", f"-fsanitize={SANITIZE}", "-fno-sanitize-recover=all"]
SANITIZE_ARGS += ["-fno-wrapv"]  # Python's own flags make signed overflow wrap, which would hide it
STRIP = ["-Wl,-s"] if sys.platform == "linux" else []  # symbols are four fifths of a kernel's size


def compiler_works() -> bool:
    compiler = new_compiler()
    customize_compiler(compiler)
    with tempfile.TemporaryDirectory() as folder:
        probe = Path(folder, "probe.c")
        probe.write_text(f"#define Py_LIMITED_API {LIMITED_API}\n#include <Python.h>\n")
        try:
            compiler.compile([str(probe)], output_dir=folder, include_dirs=[sysconfig.get_path("include")])
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
        extra_compile_args=SANITIZE_ARGS if SANITIZE else ["-O3", "-g0"],
        extra_link_args=SANITIZE_ARGS if SANITIZE else STRIP,
        py_limited_api=True,
    )


class BuildKernels(build_ext):
    """Removes the building Python's library folders (rpath) from the binaries: a kernel links to no library there."""

    def build_extensions(self) -> None:
        self.compiler.linker_so = [word for word in self.compiler.linker_so if not word.startswith("-Wl,-rpath")]
        super().build_extensions()


def kernels() -> list[Extension]:
    if not compiler_works():
        print("warning: no working C compiler: octavo is built without compiled kernels", file=sys.stderr)
        return []
    return cythonize(
        [kernel(source) for source in sorted(KERNELS.glob("*.pyx"))],
        compiler_directives={"language_level": 3, "boundscheck": False, "wraparound": False, "cdivision": True},
        build_dir="build",
        quiet=True,
    )


def description() -> str:
    """The README without its pictures, and without links to files that PyPI does not have."""
    text = re.sub(r"^!\[[^]]*\]\([^)]*\)\n+", "", Path("README.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    return re.sub(r"\[([^]]+)\]\((?!https?://|#)[^)]*\)", r"\1", text)


setup(
    cmdclass={"build_ext": BuildKernels},
    ext_modules=kernels(),
    long_description=description(),
    long_description_content_type="text/markdown",
    options={"bdist_wheel": {"py_limited_api": "cp311"}, "build_ext": {"parallel": os.cpu_count()}},
)
