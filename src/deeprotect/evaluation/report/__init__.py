"""The report: figures, the text around them, and its files."""
