"""The kernels in plain Python: the reference for testing the compiled ones, and their fallback without a compiler."""
