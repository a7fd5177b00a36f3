"""Time, files, processes and threads of this machine, injected so that tests put their own in their place."""
