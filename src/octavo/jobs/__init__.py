"""Long work over whole directories: a plan of independent tasks, a runner that runs them, a commit of their results."""
