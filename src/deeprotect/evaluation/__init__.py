"""Measuring what a release still tells: inference models, attackers, experiments, and the page that shows them."""
