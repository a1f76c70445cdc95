"""Bundles in the form that other places run: the browser."""
