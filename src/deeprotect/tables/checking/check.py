"""`deeprotect check`: one pass over a table, and at the end all that is wrong with it."""

from collections.abc import Sequence
from itertools import islice
from typing import Any

from deeprotect.policy import Policy
from deeprotect.tables.checking.checker import Checker
from deeprotect.tables.checking.problems import ProblemCount
from deeprotect.tables.checking.report import CheckReport
from deeprotect.tables.checking.seen import unique_names
from deeprotect.tables.column_map import ColumnMap
from deeprotect.tables.roles import roles_of
from deeprotect.tables.sources import open_source


def check(
    table: Any, policy: Policy | None = None, *, mapping: ColumnMap | None = None, columns: Sequence[str] | None = None
) -> CheckReport:
    """Reads every row once. What cannot be read at all raises a TableError; everything else is a problem or a note."""
    return _look(table, policy, mapping=mapping, columns=columns, batches=None)


def first_look(table: Any, *, mapping: ColumnMap, columns: Sequence[str] | None) -> CheckReport:
    """The same of the first rows only."""
    return _look(table, None, mapping=mapping, columns=columns, batches=1)


def _look(
    table: Any,
    policy: Policy | None,
    *,
    mapping: ColumnMap | None,
    columns: Sequence[str] | None,
    batches: int | None,
) -> CheckReport:
    ragged = ProblemCount()
    if mapping is None:
        mapping = ColumnMap.of(policy) if policy else ColumnMap()

    def count(_: int) -> None:
        ragged.count += 1

    with open_source(table, numbers=(), columns=columns, mapping=mapping, ragged=count) as source:
        names = unique_names(source.schema.names)
        checker = Checker(source, roles_of(names, mapping, policy=policy, where=source.where), policy, mapping)
        for seen in islice(checker.reader.read(source), batches):
            checker.see(seen)
    what = f"lines with too few or too many cells for {len(names)} column names"
    return checker.report(ragged.problem("ragged", what, "correct them; `deeprotect prepare` drops them"))
