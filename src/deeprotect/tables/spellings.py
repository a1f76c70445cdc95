"""Labels that were written in several ways: `Walk`, `walk ` and `WALK` are one class, and would be learnt as three."""

from collections import Counter
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from deeprotect.tables.cells import plain
from deeprotect.tables.fields import is_text

MOST_LABELS = 1000  # a column with more distinct cells holds no labels


@dataclass
class Spellings:
    """The cells of text columns over the batches of a source."""

    _seen: dict[str, Counter[str] | None] = field(default_factory=dict)

    def see(self, name: str, column: pa.Array | pa.ChunkedArray) -> None:
        known = self._seen.setdefault(name, Counter())
        if known is None or not is_text(column.type):
            return
        for each in pc.value_counts(plain(column)).to_pylist():
            if each["values"] is not None:
                known[each["values"]] += each["counts"]
        if len(known) > MOST_LABELS:
            self._seen[name] = None

    def unusual(self) -> dict[str, dict[str, str]]:
        """By column: spellings that differ from the usual one only by case or blanks, and that one."""
        found = {name: _unusual(counts) for name, counts in self._seen.items() if counts}
        return {name: spellings for name, spellings in found.items() if spellings}


def respelt(column: pa.ChunkedArray, usual: dict[str, str]) -> pa.ChunkedArray:
    """The column with its usual spellings."""
    places = pc.index_in(column, pa.array(usual, column.type))
    return pc.coalesce(pc.take(pa.array(usual.values(), column.type), places), column)


def _unusual(counts: Counter[str]) -> dict[str, str]:
    usual: dict[str, str] = {}
    for text, _ in counts.most_common():
        usual.setdefault(_plain(text).casefold(), _plain(text))
    ways = Counter(_plain(text).casefold() for text in counts)
    return {text: usual[key] for text in counts if ways[key := _plain(text).casefold()] > 1 and text != usual[key]}


def _plain(text: str) -> str:
    return " ".join(text.split())
