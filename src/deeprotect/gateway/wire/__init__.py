"""Wire formats: bytes to readings and back, without a network."""
