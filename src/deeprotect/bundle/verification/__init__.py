"""Checking a bundle: everything it promises, worked out again from its own numbers."""
