"""How large a mechanism in a bundle may be: each number is worked out again whenever the bundle is read, in seconds.

Whatever is larger is refused before any of that work is done. Training makes far smaller ones.
"""

MOST_CODES = 128
"""Of a channel, and as many outputs; training makes at most 65."""
MOST_VARIANTS = 1 << 20
"""Public windows of one output."""
MOST_SCRIPTS = 1 << 50
"""Codes of an episode whose labels may change; numbers of a few bytes, none of which is a row of anything."""
MOST_SLOTS = 1 << 10
"""Of a script."""
MOST_TABLES = 1 << 10
"""Of named promises: one for each useful class and each inference."""
MOST_RECORDINGS = 1 << 20
"""Of a class, to calibrate with."""
MOST_COORDINATES = 1 << 17
"""That noise is added to."""
MOST_SCALES = 1 << 13
"""Different ones, of noise: fractions that are added exactly."""
