"""Every error raised on purpose; each says what to change, and none carries private values."""

import unicodedata
from collections.abc import Iterable, Iterator

LONGEST_QUOTED = 80
_DOUBLE_QUOTES = str.maketrans(dict.fromkeys('"«»˝ʺˮ˵˶״“”„‟″‶❝❞❠❮❯⹂〃〝〞〟＂', "'"))
_BLANK = "\u115f\u1160\u2800\u3164\uffa0"  # counted among letters and symbols, and yet nothing is seen of them
_MOST_MARKS = 2  # on one letter; a pile of them would cover the lines around it


class DeeprotectError(Exception):
    """The work failed; nothing raw was released.

    Examples:
        >>> from deeprotect import Policy
        >>> from deeprotect.errors import DeeprotectError
        >>> try:
        ...     Policy.from_toml("version = 2")
        ... except DeeprotectError as error:
        ...     print(error)
        policy: version = 2 is newer than this deeprotect reads (1); upgrade it
    """

    exit_code = 1
    typed: str | None = None
    """What a terminal is shown, where the message names options as Python writes them (`deeprotect.door`)."""


class InputError(DeeprotectError):
    """Something the user gave is wrong; the message says which part and what to do."""

    exit_code = 2


class PolicyError(InputError):
    """A policy that cannot be read or cannot be met."""


class TableError(InputError):
    """A table that is not what the policy describes."""


class DatasetError(InputError):
    """A data set that is unknown, absent, or not the published one."""


class BundleError(InputError):
    """A bundle that is altered, incomplete, foreign or newer than this version."""


class WireError(InputError):
    """A message that is not what its wire format says; nothing of it was kept."""


class EntropyError(DeeprotectError):
    """Randomness that is not good enough for a release."""


class StreamError(DeeprotectError):
    """A live stream failed; what waited in it was dropped, and it goes on with the next sample."""


class BudgetError(DeeprotectError):
    """A release would spend more than the budget allows; nothing was released."""


class ReleasedBeforeError(BudgetError):
    """A release that was made long ago and is not kept any more; it is never made a second time."""


class NotDrawnError(BudgetError):
    """Only a draw that was made before was asked for, and there is none."""


class LedgerError(InputError):
    """A ledger that is missing, foreign, or newer than this version."""


class LedgerUnavailableError(DeeprotectError):
    """A ledger that cannot be reached now; nothing was released."""


class ClippedWarning(UserWarning):
    """Samples lay largely outside their public range, and were clipped to it."""


class ShadowedWarning(UserWarning):
    """A bundle that lies at a path has the name of a ready protector."""


def printable(text: str, most: int = 80) -> str:
    """Text that others wrote, for a line of ours: what does not print is escaped, what is too long is cut.

    A name can then not begin a line of its own, steer a terminal, or turn the direction of writing.
    """
    shown = "".join(each if each.isprintable() else _escaped(each) for each in text[: most + 1])
    return shown if len(shown) <= most else shown[: most - 1] + "…"


def quoted(text: str, most: int = LONGEST_QUOTED) -> str:
    """A name or note that others wrote, for a sentence of ours: where it begins and ends is seen, whatever it says.

    Marks that could be taken for the closing one become apostrophes, and what is written from right to left is kept
    apart from what stands around it.
    """
    plain = unicodedata.normalize("NFC", " ".join(text.translate(_DOUBLE_QUOTES).split()))
    shown = printable("".join(_seen(plain)), most)
    if any(unicodedata.bidirectional(each) in ("R", "AL", "AN") for each in shown):
        return f"“\u2068{shown}\u2069”"
    return f"“{shown}”"


def quoted_all(texts: Iterable[str], joint: str = " and ") -> str:
    """Several of them, each in its own marks."""
    return joint.join(map(quoted, texts))


def _seen(text: str) -> Iterator[str]:
    marks = _MOST_MARKS  # one at the beginning would go onto our own mark
    for each in text:
        marks = marks + 1 if unicodedata.category(each).startswith("M") else 0
        yield _escaped(each) if marks > _MOST_MARKS or each in _BLANK else each


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
