"""Benchmarks: each job and its physical limit or peer, measured in one run (`make bench`); see README.md."""
