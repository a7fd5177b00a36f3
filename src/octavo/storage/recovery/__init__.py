"""Loads a log: finishes, checks and cuts what a crash left behind."""
