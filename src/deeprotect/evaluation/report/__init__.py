"""The page: drawings, the words around them, and the files they go into."""
