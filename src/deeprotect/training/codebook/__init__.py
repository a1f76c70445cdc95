"""The code book: windows become one of K public codes, and codes become synthetic windows."""
