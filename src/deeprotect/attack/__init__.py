"""Apps and attackers: models, what they predict, how sure one can be of it, and on which split."""
