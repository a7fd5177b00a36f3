"""The command line `octavo`."""
