"""Fuzzing: mutated inputs for every decoder, which must accept them or raise the one documented error.

`python -m tests.fuzz --inputs 100000`. An input depends only on the seed and its number, so that any finding can be
reproduced.
"""
