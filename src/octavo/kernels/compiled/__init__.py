"""The kernels in Cython; `octavo.kernels` chooses between them and their twins."""
