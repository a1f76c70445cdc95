"""The code book: maps windows to K public codes, and codes to synthetic windows."""
