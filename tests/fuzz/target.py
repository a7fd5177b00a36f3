"""A fuzz target: how its inputs are made, and what it does with one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from octavo.errors import CorruptionError
from tests.fuzz.mutations import mutated

Seal = Callable[[Random, bytearray], None]


@dataclass(frozen=True, slots=True)
class Target:
    """A decoder under test. `run` returns if it accepts the input, else it raises one of `errors`, and nothing else."""

    name: str
    make: Callable[[Random], bytes]
    run: Callable[[bytes], object]
    weight: int = 1  # its share of the inputs
    errors: tuple[type[Exception], ...] = (CorruptionError,)


def mutating(
    pool: Callable[[], Sequence[bytes]], *, text: bool = False, seal: Seal | None = None
) -> Callable[[Random], bytes]:
    """Make inputs by mutating what the pool holds; with `seal`, most of them get correct checksums again."""

    def make(random: Random) -> bytes:
        seeds = pool()
        data = mutated(random, random.choice(seeds), seeds, text=text)
        if seal is not None and random.random() < 0.8:
            seal(random, data)
        return bytes(data)

    return make
