"""Numbers as people write them: which mark is decimal, and which groups thousands."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from deeprotect.signals.schema import Floats
from deeprotect.tables.fields import is_number, is_text, plain

Mask = NDArray[np.bool_]
NUMBER = r"[-+]?(\d+[.,]?\d*|[.,]\d+)([eE][-+]?\d+)?"
OTHER = {".": ",", ",": "."}
_READ = rf"^\s*({NUMBER}|[-+]?(?i:inf|infinity|nan))\s*$"
_WHOLE = r"^\s*[-+]?\d+\s*$"
_NEVER = r"\x00"  # no text file holds one
_BLANK = r"['’ \x{a0}\x{202f}]"


@dataclass
class MarkEvidence:
    """The cells of one column by decimal mark, as far as they are unambiguous, such as 0,5 or 1.234,5.

    `open` counts ambiguous cells by mark, such as 1,234; `whole` those without any mark. `sure` are cells such as
    1,234,567, which are not typing errors.
    """

    telling: Counter[str] = field(default_factory=Counter)
    sure: Counter[str] = field(default_factory=Counter)
    open: Counter[str] = field(default_factory=Counter)
    whole: int = 0

    @classmethod
    def of(cls, cells: Iterable[str | None]) -> "MarkEvidence":
        evidence = cls()
        evidence.add(pa.array(cells, pa.large_string()))
        return evidence

    def add(self, column: pa.Array) -> None:
        marked = column.filter(matches(column, "[.,]"))  # skips whole numbers, which may be many
        for mark, other in OTHER.items() if len(marked) else ():
            self.telling[mark] += _count(marked, _telling(mark, other))
            self.sure[mark] += _count(marked, rf"^\s*[-+]?[1-9]\d{{0,2}}([{other}]\d{{3}}){{2,}}([{mark}]\d*)?\s*$")
            self.open[mark] += _count(marked, rf"^\s*[-+]?[1-9]\d{{0,2}}[{mark}]\d{{3}}\s*$")
        self.whole += _count(column, _WHOLE)

    def mark(self, elsewhere: Iterable["MarkEvidence"] = ()) -> str | None:
        """The decimal mark; None if nothing shows that either mark groups thousands.

        A single typing error must not turn 9.812 into 9812: a mark needs as many cells that show it as it would change.
        Among whole numbers 1,234 is a thousand, unless the column or one `elsewhere` in the table has decimal commas.
        """
        if self.told:
            mark = max(OTHER, key=lambda each: (self.sure[each], self.telling[each]))
            shown = self.telling[mark] + self.whole >= self.open[OTHER[mark]]
            return mark if self.sure[mark] or shown else None
        if not self.whole:
            return None
        commas = any(each.telling[","] > each.telling["."] for each in elsewhere)
        grouping = "." if commas else ","
        return OTHER[grouping] if self.open[grouping] else None

    @property
    def told(self) -> bool:
        """Whether some cell shows the mark, so that nothing has to be assumed."""
        return self.telling.total() + self.sure.total() > 0


def has_decimal_commas(column: pa.Array) -> bool:
    """Whether most cells of a text column are numbers, and some of them show a decimal comma."""
    if not is_text(column.type):
        return False
    cells = plain(column)
    commas = _count(cells, _telling(",", "."))
    return commas > 0 and 2 * _count(cells, _READ) > len(cells) - cells.null_count


def strict_mark(columns: Iterable[MarkEvidence]) -> str | None:
    """For readers that must not assume: a comma only if no number has a point and none may be a thousand."""
    seen = list(columns)
    points, commas = (any(each.telling[mark] or each.open[mark] for each in seen) for mark in OTHER)
    if points or not commas:
        return "." if points else None
    told = any(each.telling[","] for each in seen)
    return "," if told or all(each.mark() is None for each in seen) else "."


@dataclass
class NumberColumn:
    """Numbers of one column over the batches of a source; the decimal mark shown by some cells applies to all."""

    evidence: MarkEvidence = field(default_factory=MarkEvidence)
    mark: str | None = None
    assumed: Literal["thousands", "decimals"] | None = None  # how ambiguous cells such as 1,234 are read

    def look(self, column: pa.Array) -> None:
        """Collect evidence from a batch, before it is read, until a mark is shown."""
        if is_text(column.type) and not (self.mark and self.evidence.told):
            self.evidence.add(column)

    def settle(self, elsewhere: Iterable[MarkEvidence]) -> None:
        """Use the evidence of the table's other columns if this one shows no mark; `elsewhere` includes it."""
        seen = list(elsewhere)
        self.mark = self.evidence.mark(seen)
        shown = {mark for mark in OTHER if any(each.telling[mark] or each.sure[mark] for each in seen)}
        unclear = {mark for mark in OTHER if self.evidence.open[mark]}
        explained = self.mark in shown if self.mark else unclear <= shown
        self.assumed = None if explained else "thousands" if self.mark else "decimals"

    @property
    def mixed(self) -> bool:
        """Whether some cells have decimal points and others decimal commas; each is read correctly."""
        seen = self.evidence
        return self.mark is None and all(seen.telling[mark] + seen.open[mark] for mark in OTHER)

    def read(self, column: pa.Array) -> tuple[Floats, Mask, Mask]:
        """Values as float64, NaN for missing ones; which cells are not numbers; which have thousands separators."""
        kind, none = column.type, np.zeros(len(column), dtype=bool)
        if is_text(kind):
            text, grouped = self.written(column)
            values = pc.cast(text, pa.float64()).to_numpy(zero_copy_only=False)
            bad = pc.and_(matches(column, r"\S"), pc.is_null(text))
            return values, as_mask(bad), as_mask(grouped)
        if is_number(kind):
            values = pc.cast(column, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
            return np.asarray(values, dtype=np.float64), none, none
        return np.full(len(column), np.nan), as_mask(pc.is_valid(column)), none

    def written(self, column: pa.Array) -> tuple[pa.Array, pa.Array]:
        """Text with a decimal point and no other mark, null for cells that are not numbers; and which had others."""
        other = OTHER[self.mark] if self.mark else None
        grouped = matches(column, _grouped(self.mark, other) if self.mark and other else _NEVER)
        good = pc.or_(pc.and_not(matches(column, _READ), matches(column, f"[{other}]" if other else _NEVER)), grouped)
        text = pc.utf8_trim_whitespace(pc.if_else(good, column, None))
        text = pc.if_else(grouped, pc.replace_substring_regex(text, f"{_BLANK}|[{other or ' '}]", ""), text)
        return pc.replace_substring_regex(pc.replace_substring(text, ",", "."), r"^\+", ""), grouped


def _telling(mark: str, other: str) -> str:
    grouped = rf"\d{{1,3}}([{other}]\d{{3}})+[{mark}]\d*"
    single = rf"0*[{mark}]\d+|\d+[{mark}](\d{{1,2}}|\d{{4,}})|\d{{4,}}[{mark}]\d+"
    return rf"^\s*[-+]?({grouped}|{single})([eE][-+]?\d+)?\s*$"


def _grouped(mark: str, other: str) -> str:
    return rf"^\s*[-+]?\d{{1,3}}(([{other}]\d{{3}})+|({_BLANK}\d{{3}})+)([{mark}]\d*)?\s*$"


def matches(text: pa.Array, pattern: str) -> pa.Array:
    """Which cells match; an empty one does not."""
    return pc.fill_null(pc.match_substring_regex(text, pattern), pa.scalar(value=False))


def as_mask(column: pa.Array) -> Mask:
    """Boolean column as a numpy mask."""
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=bool)


def _count(column: pa.Array, pattern: str) -> int:
    return pc.sum(matches(column, pattern)).as_py() or 0
