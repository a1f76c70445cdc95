"""Names that people read in a verdict: one printable line, of bounded length."""

from collections.abc import Iterable

from deeprotect.errors import PolicyError

LONGEST = 100
LONGEST_IN_BUNDLE = 64
"""Of an inference, a class, a channel or a unit: whoever wrote a bundle chose it."""


def is_name(text: str, *, longest: int = LONGEST) -> bool:
    """No line breaks, escapes, or marks that turn the direction of text: none of them is printable."""
    return len(text) <= longest and text.isprintable() and bool(text.strip())


def check_names(names: Iterable[str], what: str, *, longest: int = LONGEST) -> None:
    """Refuse, without repeating it, what a terminal might not show as it is."""
    if not all(is_name(name, longest=longest) for name in names):
        raise PolicyError(f"{what} must be one printable line of at most {longest} characters; rename it")
