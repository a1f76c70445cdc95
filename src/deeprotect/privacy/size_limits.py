"""How large what a bundle says may be: its numbers are worked out again whenever it is read, its names are printed.

Whatever is larger is refused before any of that work is done. Training makes far smaller mechanisms.
"""

from collections.abc import Iterable

from deeprotect.errors import PolicyError

MOST_CODES = 128  # of a channel, and as many outputs; training makes at most 65
MOST_VARIANTS = 1 << 20  # public windows of one output
MOST_SCRIPTS = 1 << 50  # codes of an episode whose labels may change: numbers, none of which is a row of anything
MOST_SLOTS = 1 << 10  # of a script
MOST_COORDINATES = 1 << 17  # that noise is added to
MOST_SCALES = 1 << 13  # different ones, of noise: fractions that are added exactly
LONGEST = 100
LONGEST_CODE = 1000  # a useful class joins the classes of all useful inferences
LONGEST_IN_BUNDLE = 64  # of an inference, a class, a channel or a unit: whoever wrote a bundle chose it


def is_name(text: str, *, longest: int = LONGEST) -> bool:
    """No line breaks, escapes, or marks that turn the direction of text: none of them is printable."""
    return len(text) <= longest and text.isprintable() and bool(text.strip())


def check_names(names: Iterable[str], what: str, *, longest: int = LONGEST) -> None:
    """Refuse, without repeating it, what a terminal might not show as it is."""
    if not all(is_name(name, longest=longest) for name in names):
        raise PolicyError(f"{what} must be one printable line of at most {longest} characters; rename it")
