"""Fuzzing: mutated inputs for every decoder, which must accept them or raise a documented error.

`python -m tests.fuzz --inputs 100000`. An input depends only on the target, the seed and its number, so any finding can
be reproduced.
"""
