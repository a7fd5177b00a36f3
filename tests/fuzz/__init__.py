"""Fuzzing: mutated inputs to every decoder, which accepts them or raises the one documented error.

`python -m tests.fuzz --inputs 100000`. An input is made from the seed and its number alone, so that any finding can be
made again.
"""
