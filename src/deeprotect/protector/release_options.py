"""What every way of releasing takes, and what becomes of what was not said."""

from collections.abc import Callable, Sequence
from typing import Any, TypedDict

from deeprotect.bundle import Bundle
from deeprotect.release.in_order import encoding_threads
from deeprotect.release.ledger import Ledger, MemoryLedger, Price
from deeprotect.tables.column_map import ColumnMap
from deeprotect.tables.passing import Passing

Progress = Callable[[float], None]


class ReleaseOptions(TypedDict, total=False):
    """What every way of releasing takes.

    `mapped` says which columns are meant (`time=Timestamp`); time and recording are those of these very names where it
    does not. Recordings leave as 1, 2, … without `keep_names`, time as it is without `relative_time`. All cores are
    used, or so many `workers`. Without a `ledger` nothing is remembered.
    """

    mapped: Sequence[str]
    columns: Sequence[str] | None
    keep_names: bool
    relative_time: bool
    workers: int | None
    ledger: Ledger | None
    progress: Progress


def settled(options: ReleaseOptions, bundle: Bundle) -> dict[str, Any]:
    """As `release_table` takes them."""
    return {
        "mapping": ColumnMap.of_release(bundle.policy, options.get("mapped", ())),
        "names": options.get("columns"),
        "passing": passing_of(options),
        "ledger": book_of(options, bundle),
        "workers": options.get("workers") or encoding_threads(),
        "progress": options.get("progress", lambda _: None),
    }


def book_of(options: ReleaseOptions, bundle: Bundle) -> Ledger:
    """The ledger that was given, or one that forgets."""
    return options.get("ledger") or MemoryLedger(Price.of_bundle(bundle))


def passing_of(options: ReleaseOptions) -> Passing:
    return Passing(
        recording="named" if options.get("keep_names") else "numbered",
        time="relative" if options.get("relative_time") else "absolute",
    )


def passing_columns(bundle: Bundle, options: ReleaseOptions) -> set[str]:
    """Names of the columns that leave as they are."""
    mapping = ColumnMap.of_release(bundle.policy, options.get("mapped", ()))
    return {mapping.get(name, name) for name in passing_of(options).untouched}
