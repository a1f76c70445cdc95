"""What every way of releasing takes, and what a bundle makes of what was not said."""

from collections.abc import Callable, Sequence
from typing import Any, TypedDict

from deeprotect.bundle import Bundle
from deeprotect.policy.usual_names import RECORDING, TIME
from deeprotect.release.in_order import encoding_threads
from deeprotect.release.ledger import Ledger, MemoryLedger
from deeprotect.release.pricing import price_of
from deeprotect.tables.column_map import ColumnMap
from deeprotect.tables.passing import Passing

Progress = Callable[[float], None]


class ReleaseOptions(TypedDict, total=False):
    """What every way of releasing takes.

    Recordings leave as 1, 2, … unless training showed that their names tell nothing sensitive, or `passing` says
    otherwise. All cores are used, or so many `workers`. Without a `ledger` nothing is remembered.
    """

    mapped: Sequence[str]
    columns: Sequence[str] | None
    passing: Passing | None
    workers: int | None
    ledger: Ledger | None
    progress: Progress


def settled(options: ReleaseOptions, bundle: Bundle) -> dict[str, Any]:
    """As `release_table` takes them."""
    safe = Passing("numbered" if bundle.manifest.training.names_may_tell else "named")
    return {
        "mapping": ColumnMap.of(bundle.policy, options.get("mapped", ())),
        "names": options.get("columns"),
        "passing": options.get("passing") or safe,
        "ledger": book_of(options, bundle),
        "workers": options.get("workers") or encoding_threads(),
        "progress": options.get("progress", lambda _: None),
    }


def book_of(options: ReleaseOptions, bundle: Bundle) -> Ledger:
    """The ledger that was given, or one that forgets."""
    return options.get("ledger") or MemoryLedger(price_of(bundle))


def passing_columns(bundle: Bundle, options: ReleaseOptions) -> set[str]:
    """Names of the columns that leave as they are."""
    mapping = ColumnMap.of(bundle.policy, options.get("mapped", ()))
    return {mapping.get(name, name) for name in (TIME, RECORDING)}
