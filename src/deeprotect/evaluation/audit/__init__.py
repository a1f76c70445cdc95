"""Attacking a release to see how much of its ε can be shown."""
