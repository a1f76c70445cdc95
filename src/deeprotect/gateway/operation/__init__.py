"""What operators see: logs and counts, nothing of it a sample."""
