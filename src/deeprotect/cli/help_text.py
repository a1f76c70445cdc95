"""What `--help` shows: a verb's docstring, with its examples on lines of their own."""

from collections.abc import Callable
from inspect import cleandoc
from typing import Any

Verb = Callable[..., Any]
_AS_IT_STANDS = "\b\n"  # before a paragraph that is not to be wrapped anew


def with_examples(verb: Verb) -> str:
    """The docstring; an example can be copied as it is shown."""
    text = cleandoc(verb.__doc__ or "")
    return text.replace("\n\nExample: ", f"\n\n{_AS_IT_STANDS}Example:\n  ")
