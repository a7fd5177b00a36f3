"""Benchmarks: each job next to its physical limit, measured in one run; `make bench`, explained in README.md."""
