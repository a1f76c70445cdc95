"""Verification: everything that a bundle promises, derived again from its own numbers."""
