"""The pipe from private windows to released ones, and the files and tables at its two ends."""
