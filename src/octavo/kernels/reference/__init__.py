"""The kernels in plain Python: the oracle of the compiled ones, and their stand-in where no compiler was."""
