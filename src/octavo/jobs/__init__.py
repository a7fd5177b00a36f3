"""Long work over whole directories: each job plans independent tasks, runs them with a runner, and commits their
results."""
