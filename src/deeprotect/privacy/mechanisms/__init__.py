"""Mechanisms: what each of them promises, and the noise of those that add some."""
