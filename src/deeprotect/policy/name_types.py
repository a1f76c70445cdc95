"""Names and notes in a policy: printable, of one line and bounded, because people read them in verdicts."""

from collections.abc import Callable
from typing import Annotated

from pydantic import AfterValidator, Field

from deeprotect.privacy.names import LONGEST_IN_BUNDLE, is_name

LONGEST_NOTE = 300


def _line(longest: int, fix: str) -> Callable[[str], str]:
    def checked(text: str) -> str:
        if not is_name(text, longest=longest):
            raise ValueError(f"must be one printable line of at most {longest} characters; {fix} it")
        return text

    return checked


Name = Annotated[str, Field(min_length=1), AfterValidator(_line(LONGEST_IN_BUNDLE, "rename"))]
Names = Annotated[tuple[Name, ...], Field(strict=False)]  # TOML and JSON have lists, not tuples
Note = Annotated[str, Field(min_length=1), AfterValidator(_line(LONGEST_NOTE, "shorten"))]
