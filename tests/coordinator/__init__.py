"""Tests of the coordinators' machines, which need no log and no network."""
