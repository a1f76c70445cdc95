"""Complete runs: the demo, and an evaluation of the user's own table."""
