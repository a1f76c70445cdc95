"""Size limits for untrusted bundles: their numbers are derived again on loading, and their names are printed.

Anything larger is refused before that work is done. Training makes far smaller mechanisms.
"""

from collections.abc import Iterable

from deeprotect.errors import PolicyError

MOST_CODES = 128  # of a channel, and as many outputs; training makes at most 65
MOST_VARIANTS = 1 << 20  # public windows of one output
MOST_SCRIPTS = 1 << 50  # scripts of an episode; they are only numbered, so no table grows with them
MOST_SLOTS = 1 << 10  # of a script
MOST_COORDINATES = 1 << 17  # coordinates that get noise
MOST_SCALES = 1 << 13  # different noise scales: fractions that are added exactly
LONGEST = 100
LONGEST_CODE = 1000  # a useful class joins the classes of all useful inferences
LONGEST_IN_BUNDLE = 64  # names of inferences, classes, channels and units, which the author of a bundle chose


def is_name(text: str, *, longest: int = LONGEST) -> bool:
    """Whether a name is printable: no line breaks, escapes, or marks that change the direction of text."""
    return len(text) <= longest and text.isprintable() and bool(text.strip())


def check_names(names: Iterable[str], what: str, *, longest: int = LONGEST) -> None:
    """Refuse names that a terminal might not show as they are, without repeating them."""
    if not all(is_name(name, longest=longest) for name in names):
        raise PolicyError(f"{what} must be one printable line of at most {longest} characters; rename it")
