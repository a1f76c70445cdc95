"""The table of ratios that `bench` prints."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from deeprotect.benchmark.ratio import Ratio

_BETTER = {"throughput": "more", "time": "less", "memory": "less"}


def ratios_table(ratios: Sequence["Ratio"]) -> None:
    """One row per ratio, and which way is better."""
    table = Table("what", "against", "quantity", "ratio", "better")
    for each in ratios:
        table.add_row(each.what, each.peer, each.quantity, f"{each.ratio:.3g} ×", _BETTER[each.quantity])
    Console().print(table)
