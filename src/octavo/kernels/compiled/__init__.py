"""The kernels in Cython, one module each; `octavo.kernels` chooses between them and their twins."""
