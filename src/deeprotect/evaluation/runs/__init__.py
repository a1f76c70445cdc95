"""The runs that people start: the demo, and an evaluation of their own table."""
