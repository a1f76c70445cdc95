"""The page: drawings, the story around them, and the files they go into."""
