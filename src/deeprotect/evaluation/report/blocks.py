"""The full table in the order of its story: mechanisms, then classical features, then peers and references."""

from collections.abc import Sequence
from dataclasses import dataclass

from deeprotect.evaluation.report.figures import MAIN
from deeprotect.evaluation.results import CLASSICAL, Row


@dataclass(frozen=True)
class Block:
    """Rows of one line: the same mechanism and promise at several ε."""

    name: str
    rows: Sequence[Row]


@dataclass(frozen=True)
class Section:
    """Blocks of one kind."""

    title: str
    blocks: Sequence[Block]


def sections(rows: Sequence[Row]) -> list[Section]:
    """Every row stands in exactly one of them; a kind without rows has none."""
    lines = dict.fromkeys(row.line for row in rows)
    blocks = [Block(name, [row for row in rows if row.line == name]) for name in lines]
    kinds = {
        "Mechanisms": [block for block in blocks if block.name in MAIN],
        "Classical features, with the same certified noise": [block for block in blocks if _classical(block)],
        "Peers and references": [block for block in blocks if block.name not in MAIN and not _classical(block)],
    }
    return [Section(title, found) for title, found in kinds.items() if found]


def _classical(block: Block) -> bool:
    return block.name not in MAIN and block.rows[0].minimiser in CLASSICAL and block.rows[0].epsilon is not None
