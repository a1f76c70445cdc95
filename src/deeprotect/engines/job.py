"""What a worker must know to release its share of a table, and what is refused before any worker is asked."""

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
from deeprotect.tables.column_map import ColumnMap
from deeprotect.tables.columns import Columns
from deeprotect.tables.passing import PassThrough


@dataclass(frozen=True)
class Part:
    """One recording of a table: its number among them, its rows, and a digest of what is in it."""

    number: int
    rows: int
    digest: str = ""


@dataclass(frozen=True)
class Job:
    """One release. It travels pickled, once for each worker process; a pickled bundle is checked as a file is."""

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
        """On the driver: what can be seen to be wrong without a row is refused here."""
        loaded = bundle if isinstance(bundle, Bundle) else Bundle.load(bundle)
        passing = PassThrough("named" if keep_names else "numbered", "relative" if relative_time else "absolute")
        job = cls(loaded, ColumnMap.of_release(loaded.policy, map), passing, source, place)
        job._check_order()
        return job

    def survey(self) -> Survey:
        """With a ledger, of what leaves: recordings go by their content there."""
        return Survey(self.recording, self.columns.kept if self.place else ())

    def surveyed(self, batches: Iterable[pa.RecordBatch]) -> Found:
        """What some worker's share of the table holds."""
        survey = self.survey()
        for batch in batches:
            survey.add(batch)
        return survey.found

    def of_parts(self, found: Iterable[Found]) -> Self:
        """With all recordings, numbered in the order of their names; with a ledger, which is there from now on."""
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
        """The column that names recordings; there is one."""
        return str(self.columns.recording_name)

    @property
    def time(self) -> str:
        return str(self.columns.time_name)

    @property
    def output(self) -> pa.Schema:
        """As `protect` gives it."""
        return self.passing.schema(output_schema(self.source, self.columns), self.columns)

    @property
    def spending(self) -> Spending:
        """Of every draw of every part."""
        episode = self.bundle.schema.window * self.bundle.hold.windows
        draws = sum(-(-part.rows // episode) for part in self.parts.values())
        return Spending.of(self.bundle.mechanism.event, draws)

    def ledger(self) -> Ledger:
        """On a worker: one that forgets, or the one that all workers share."""
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
        """Rows of a distributed table have no order of their own, and no engine keeps one."""
        columns = self.columns
        if columns.recording_name is None:
            raise TableError(
                f"{WHERE}: no column says which recording a row is of, so that rows cannot be shared out; "
                "name it with ",
                Argument("map", {"recording": Placeholder("COLUMN")}),
            )
        if columns.time_name is None:
            raise TableError(
                f"{WHERE}: no column says when a row was, and rows of a distributed table have no other order; "
                "name it with ",
                Argument("map", {"time": Placeholder("COLUMN")}),
            )
        when = self.source.field(columns.time_name).type
        if not (kinds.is_temporal(when) or kinds.is_integer(when) or kinds.is_floating(when) or kinds.is_decimal(when)):
            name = printable(columns.time_name)  # texts sort as texts: 10 before 9
            raise TableError(
                f"{WHERE}: column '{name}' is {when}, and rows are sorted by it; cast it to a number or time"
            )
        kind = self.source.field(columns.recording_name).type
        kind = kind.value_type if kinds.is_dictionary(kind) else kind
        if not (kinds.is_string(kind) or kinds.is_large_string(kind) or kinds.is_integer(kind)):
            name = printable(columns.recording_name)
            raise TableError(f"{WHERE}: column '{name}' is {kind}; cast it to text, for recordings go by their names")


def refuse_speculation(setting: str) -> None:
    """Without a ledger: two attempts at one task would draw twice for the same rows."""
    raise InputError(
        f"{setting} runs a task twice at once, and without a ledger each attempt draws noise of its own for the same "
        "rows: a second release, whichever is kept. Turn it off, or give a ledger"
    )


def refuse_no_place() -> None:
    """Without a ledger a frame that is computed again is drawn again."""
    raise InputError(
        "without a ledger a result is computed, and drawn, again whenever it is asked for or a worker is lost; "
        "give out=FOLDER, where it is written once, or a ledger"
    )
