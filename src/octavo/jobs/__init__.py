"""Long work over whole directories: plans independent tasks, runs them by a runner, and commits their results."""
