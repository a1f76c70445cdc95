"""The pipeline from private to released windows, and the files, tables and streams at its ends."""
