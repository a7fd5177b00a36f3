"""Long work over whole directories. Most jobs plan independent tasks, run them with a runner and commit the results."""
