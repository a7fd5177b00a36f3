"""Time, files, processes and threads of this machine, injected so that tests can replace them."""
