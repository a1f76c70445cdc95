"""A short table for each case study that was run again."""

from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from deeprotect.reproduction.case_page import Story
    from deeprotect.reproduction.case_result import Outcome


def case_table(story: "Story", epsilon: float) -> None:
    """Each mechanism at one ε: how often the app and the best attacker are right; then the paper's numbers."""
    console, case = Console(), story.chapter.case
    console.print(f"\nCase study {case.number}: {case.title}", style="bold", highlight=False)
    table = Table("part", "mechanism", "ε", box=None, pad_edge=False)
    for title in ("app", "raw", "chance", "attacker", "raw", "chance"):
        table.add_column(title, justify="right")
    for outcome in story.chapter.outcomes:
        _add(table, outcome, epsilon)
    console.print(table)
    for part, line in story.beside:
        console.print(f"{part} {line.what}. Paper: {line.paper}. Ours: {line.ours}.", highlight=False, markup=False)


def _add(table: Table, outcome: "Outcome", epsilon: float) -> None:
    part = outcome.part
    for line in dict.fromkeys(row.line for row in outcome.rows):
        row = outcome.row(line, epsilon)
        if row is not None:
            app, attack = row.useful[part.useful], row.sensitive[part.sensitive]
            shares = (app.app, app.clean, app.chance, attack.adaptive, attack.raw, attack.chance)
            table.add_row(part.name, line, f"{row.epsilon:g}", *(f"{share:.3f}" for share in shares))
