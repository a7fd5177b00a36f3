"""Tests of the coordinators, without a network: their machines, and what they write."""
