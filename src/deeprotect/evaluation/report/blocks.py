"""The full table in a reader's order: mechanisms, then classical features, then peers and references."""

from collections.abc import Sequence
from dataclasses import dataclass

from deeprotect.evaluation.methods import BY_LINE, Family
from deeprotect.evaluation.results import Row


@dataclass(frozen=True)
class TableBlock:
    """Rows of one line: the same mechanism and promise at several ε."""

    name: str
    rows: Sequence[Row]


@dataclass(frozen=True)
class TableSection:
    """Blocks of one kind."""

    title: str
    blocks: Sequence[TableBlock]


def sections(rows: Sequence[Row]) -> list[TableSection]:
    """Every row stands in exactly one of them; a kind without rows has none."""
    lines = dict.fromkeys(row.line for row in rows)
    blocks = [TableBlock(name, [row for row in rows if row.line == name]) for name in lines]
    kinds = {
        "Mechanisms": [block for block in blocks if _family(block) == "mechanism"],
        "Classical features, with the same certified noise": [
            block for block in blocks if _family(block) == "classical features"
        ],
        "Peers and references": [block for block in blocks if _family(block) in ("peer", "reference")],
    }
    return [TableSection(title, found) for title, found in kinds.items() if found]


def _family(block: TableBlock) -> Family:
    return BY_LINE[block.name].family if block.name in BY_LINE else "reference"
