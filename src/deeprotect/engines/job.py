"""A distributed release: the information for workers, and the checks before any worker is called."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

import pyarrow as pa
import pyarrow.types as kinds

from deeprotect.bundle import Bundle
from deeprotect.engines.ledger_place import LedgerPlace
from deeprotect.engines.survey import WHERE, Found, Survey
from deeprotect.errors import Argument, InputError, Placeholder, TableError, printable
from deeprotect.privacy.accounting import Spending
from deeprotect.release.ledger import Ledger, MemoryLedger, Price
from deeprotect.release.ledger.ledger import utc_now
from deeprotect.release.ledger.limits import covered
from deeprotect.release.tables import output_schema
from deeprotect.tables.columns import Columns
from deeprotect.tables.passing import PassThrough
from deeprotect.tables.roles import ColumnMap


@dataclass(frozen=True)
class Part:
    """One recording of a table: its number, its row count, and a digest of its content."""

    number: int
    rows: int
    digest: str = ""


@dataclass(frozen=True)
class Job:
    """One release. It is pickled once for each worker process; a pickled bundle is checked like a file."""

    bundle: Bundle
    mapping: ColumnMap
    passing: PassThrough
    source: pa.Schema
    place: LedgerPlace | None = None
    parts: Mapping[str, Part] = field(default_factory=dict)  # by name

    @classmethod
    def of(
        cls,
        bundle: Bundle | str | Path,
        source: pa.Schema,
        *,
        place: LedgerPlace | None = None,
        map: Mapping[str, str] | None = None,
        keep_names: bool = False,
        relative_time: bool = False,
    ) -> Self:
        """Create a job on the driver, with all checks that need no rows."""
        loaded = bundle if isinstance(bundle, Bundle) else Bundle.load(bundle)
        passing = PassThrough("named" if keep_names else "numbered", "relative" if relative_time else "absolute")
        job = cls(loaded, ColumnMap.of_release(loaded.policy, map), passing, source, place)
        job._check_order()
        return job

    def survey(self) -> Survey:
        """A new survey; with a ledger it hashes released columns, because the ledger identifies recordings by
        content."""
        return Survey(self.recording, self.columns.kept if self.place else ())

    def surveyed(self, batches: Iterable[pa.RecordBatch]) -> Found:
        """Survey some worker's share of the table."""
        survey = self.survey()
        for batch in batches:
            survey.add(batch)
        return survey.found

    def of_parts(self, found: Iterable[Found]) -> Self:
        """Add all recordings, numbered in the order of their names; with a ledger, create it if necessary."""
        survey = self.survey()
        for some in found:
            survey.merge(some)
        if self.place is not None:
            from deeprotect.engines.part_ledger import entered

            entered(self.place, Price.of_bundle(self.bundle))
        digest = "{1} {2} {0}".format if self.place else lambda *_: ""
        each = enumerate(sorted(survey.found.items()), start=1)
        whole = replace(self, parts={str(name): Part(n, sums[0], digest(*sums)) for n, (name, sums) in each})
        if self.place is None:
            whole._refuse_beyond_limits()
        return whole

    @property
    def columns(self) -> Columns:
        by_person = self.place is not None and self.place.account.person is None
        return Columns.of(self.source, self.bundle.schema, mapping=self.mapping, where=WHERE, by_person=by_person)

    @property
    def recording(self) -> str:
        """The column that names recordings, which must exist."""
        return str(self.columns.recording_name)

    @property
    def time(self) -> str:
        return str(self.columns.time_name)

    @property
    def output(self) -> pa.Schema:
        """The output schema, as in `protect`."""
        return self.passing.schema(output_schema(self.source, self.columns), self.columns)

    @property
    def spending(self) -> Spending:
        """The cost of all draws of all parts."""
        episode = self.bundle.schema.window * self.bundle.hold.windows
        draws = sum(-(-part.rows // episode) for part in self.parts.values())
        return Spending.of(self.bundle.mechanism.event, draws)

    def ledger(self) -> Ledger:
        """The ledger on a worker: one in memory, or the one that all workers share."""
        price = Price.of_bundle(self.bundle)
        if self.place is None:
            return MemoryLedger(price)
        from deeprotect.engines.part_ledger import PartLedger

        return PartLedger(self.place, price, digests={name: part.digest for name, part in self.parts.items()})

    def _refuse_beyond_limits(self) -> None:
        """Workers without a ledger know nothing of each other's draws, so all of them must be within the limits."""
        price = Price.of_bundle(self.bundle)
        limits = replace(price.limits, when_spent="refuse")  # nobody could say which draws are placeholders
        covered(limits, self.spending.draws, price, now=utc_now(), history=MemoryLedger(price))

    def _check_order(self) -> None:
        """Require a time column: rows of a distributed table have no order of their own."""
        columns = self.columns
        if columns.recording_name is None:
            raise TableError(
                f"{WHERE}: no column names the recording of a row, so rows cannot be distributed; name it with ",
                Argument("map", {"recording": Placeholder("COLUMN")}),
            )
        if columns.time_name is None:
            raise TableError(
                f"{WHERE}: no column has the time of a row, and rows of a distributed table have no other order; "
                "name it with ",
                Argument("map", {"time": Placeholder("COLUMN")}),
            )
        when = self.source.field(columns.time_name).type
        if not (kinds.is_temporal(when) or kinds.is_integer(when) or kinds.is_floating(when) or kinds.is_decimal(when)):
            name = printable(columns.time_name)  # text sorts as text: 10 before 9
            raise TableError(
                f"{WHERE}: column '{name}' is {when}, and rows are sorted by it; cast it to a number or time"
            )
        kind = self.source.field(columns.recording_name).type
        kind = kind.value_type if kinds.is_dictionary(kind) else kind
        if not (kinds.is_string(kind) or kinds.is_large_string(kind) or kinds.is_integer(kind)):
            name = printable(columns.recording_name)
            raise TableError(
                f"{WHERE}: column '{name}' is {kind}; cast it to text, because recordings are identified by name"
            )


def refuse_speculation(setting: str) -> None:
    """Refuse speculation without a ledger: two attempts at one task would draw twice for the same rows."""
    raise InputError(
        f"{setting} runs a task twice at once, and without a ledger each attempt draws noise of its own for the same "
        "rows: a second release, whichever is kept. Turn it off, or give a ledger"
    )


def refuse_no_place() -> None:
    """Refuse a lazy result without a ledger: each computation would draw again."""
    raise InputError(
        "without a ledger a result is drawn again whenever it is recomputed, on request or after a worker is lost; "
        "give out=FOLDER, where it is written once, or a ledger"
    )
