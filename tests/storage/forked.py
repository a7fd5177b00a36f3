"""Runs work in a forked child."""

from __future__ import annotations

import os
from collections.abc import Callable


def in_child(work: Callable[[], object]) -> str:
    """The repr of what `work` returns in a forked child, or the error that it raises."""
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        try:
            answer = repr(work())
        except BaseException as error:
            answer = f"{type(error).__name__}: {error}"
        os.write(writer, answer.encode())
        os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    with os.fdopen(reader) as pipe:
        return pipe.read()
