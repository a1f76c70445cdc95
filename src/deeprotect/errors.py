"""Every error raised on purpose; each says what to change, and none carries private values.

Messages name arguments as Python writes them, `force=True`. They do so with a `Argument`, so that the command line can
show the option to type instead (`deeprotect.cli.wording`).
"""

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

LONGEST_QUOTED = 80
MOST_LISTED = 300  # characters of column names in one message
_DOUBLE_QUOTES = str.maketrans(dict.fromkeys('"«»˝ʺˮ˵˶״“”„‟″‶❝❞❠❮❯⹂〃〝〞〟＂', "'"))
_BLANK = "\u115f\u1160\u2800\u3164\uffa0"  # counted among letters and symbols, and yet nothing is seen of them
_MOST_MARKS = 2  # on one letter; a pile of them would cover the lines around it


class Placeholder(str):
    """A word that stands for a value, such as FILE; it is shown without quotes."""

    __slots__ = ()


@dataclass(frozen=True)
class Argument:
    """An argument, and the value it has or should have; without one, the argument itself is meant.

    Examples:
        >>> from deeprotect.errors import Argument
        >>> print(Argument("force", value=True), Argument("map", {"time": "Timestamp"}), Argument("rate_hz"))
        force=True map={"time": "Timestamp"} `rate_hz`
    """

    name: str
    value: Any = None

    def __str__(self) -> str:
        return f"`{self.name}`" if self.value is None else f"{self.name}={_literal(self.value)}"


_NAME = Placeholder("NAME")


def _literal(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_literal(name)}: {_literal(str(each))}' for name, each in value.items())}}}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"[{', '.join(map(_literal, value))}]"
    if isinstance(value, Placeholder):
        return str(value)
    if isinstance(value, str):
        return f'"{printable(value)}"'
    return f"{value:g}" if isinstance(value, float) else str(value)


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

    @property
    def parts(self) -> tuple[Any, ...]:
        """The message in parts: text, and a `Argument` for each argument that it names."""
        return self.args

    def __str__(self) -> str:
        return "".join(map(str, self.parts))


class InputError(DeeprotectError):
    """Something the user gave is wrong; the message says which part and what to do."""

    exit_code = 2


class ArgumentError(InputError):
    """An argument has a value that it cannot have."""

    def __init__(self, argument: str, reason: str, value: Any = None) -> None:
        super().__init__(argument, reason, value)
        self.argument, self.reason, self.value = argument, reason, value

    @property
    def parts(self) -> tuple[Any, ...]:
        return (Argument(self.argument, self.value), f": {self.reason}")


class OutputExistsError(InputError):
    """There is a file or a folder at `path`, which is not overwritten unasked; `part` is what the folder holds."""

    def __init__(self, path: str, part: str | None = None, *, replaceable: bool = True) -> None:
        super().__init__(path, part)
        self.path, self.part, self.replaceable = path, part, replaceable

    @property
    def parts(self) -> tuple[Any, ...]:
        held = "it exists already" if self.part is None else f"it holds {self.part} already"
        overwrite = (", or overwrite it with ", Argument("force", value=True)) if self.replaceable else ()
        return (f"{self.path}: {held}; choose another name", *overwrite)


class PolicyError(InputError):
    """A policy that cannot be read or cannot be met."""


class TableError(InputError):
    """A table that is not what the policy describes."""


class MissingColumnError(TableError):
    """A table at `where` lacks `column`; it has `columns`."""

    def __init__(self, where: str, column: str, columns: Sequence[str]) -> None:
        super().__init__(where, column, columns)
        self.where, self.column, self.columns = where, column, tuple(columns)

    @property
    def parts(self) -> tuple[Any, ...]:
        has = printable(", ".join(self.columns), MOST_LISTED) or "no columns"
        missing = f"column '{printable(self.column)}' is missing from {self.where}; it has: {has}. "
        return (missing, "Map it with [stream.columns], or with ", Argument("map"))


class AmbiguousColumnError(TableError):
    """Any of `candidates` may be the table's time, recording or person (`role`), and none was named."""

    def __init__(self, where: str, role: str, candidates: Sequence[str]) -> None:
        super().__init__(where, role, candidates)
        self.where, self.role, self.candidates = where, role, tuple(candidates)

    @property
    def guess(self) -> str:
        listed = " or ".join(f"'{printable(each)}'" for each in self.candidates[:3])
        return f"{listed} looks like the {self.role} column"

    @property
    def parts(self) -> tuple[Any, ...]:
        named = Argument("map", {self.role: printable(self.candidates[0])})
        if self.role == "person":
            otherwise: tuple[Any, ...] = (", or, for one account for all rows, give ", Argument("person", _NAME))
        else:
            otherwise = (", or ", Argument("map", {self.role: ""}), " if there is none")
        return (f"{self.where}: {self.guess}; confirm with ", named, *otherwise)


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
