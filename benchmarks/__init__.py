"""Benchmarks: each job beside its physical limit, measured in one run; `make bench`, explained in README.md."""
