"""The kernels in Cython, a module each; `octavo.kernels` chooses between them and their twin."""
