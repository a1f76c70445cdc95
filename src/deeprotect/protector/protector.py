"""A protector: fit or load one, then protect tables, release them with their cost, or stream."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, Self, TypeVar, Unpack, overload

import numpy as np
import pyarrow as pa

from deeprotect.bundle import Bundle
from deeprotect.bundle.card import card
from deeprotect.bundle.card_page import card_fragment
from deeprotect.errors import quoted_all
from deeprotect.policy import Policy
from deeprotect.privacy.entropy import SystemEntropy
from deeprotect.protector.arrays import release_array
from deeprotect.protector.kinds import like
from deeprotect.protector.release_options import Progress, ReleaseOptions, book_of, passing_columns, settled
from deeprotect.protector.released_table import ReleasedTable
from deeprotect.release.episodes import LISTEN
from deeprotect.release.in_order import encoding_threads
from deeprotect.release.ledger import Account, Ledger, MemoryLedger
from deeprotect.release.many_files import release_data_set
from deeprotect.release.pricing import price_of
from deeprotect.release.releasing import OpenSink, ReleaseSummary, release_table
from deeprotect.release.streaming import ListenTo, LiveStream
from deeprotect.tables.data_set import parts_of
from deeprotect.tables.output_checks import refuse_among_inputs
from deeprotect.tables.sinks import Memory, open_pipe, open_sink

T = TypeVar("T")
Path_ = str | PathLike[str]


@dataclass(frozen=True, repr=False)
class Protector:
    """Stands between a recording and an app; every release draws fresh randomness from the operating system.

    Examples:
        >>> import pyarrow as pa
        >>> from deeprotect import Policy, Protector
        >>> policy = Policy.of(
        ...     rate_hz=10, window=4, channels={"acc_x": {"unit": "g", "range": [-4.0, 4.0]}},
        ...     useful=["activity"], epsilon=5.0, mechanism="laplace", minimiser="pca", features=2,
        ... )
        >>> table = pa.table({
        ...     "acc_x": [0.1, 0.2] * 40 + [0.1, 0.9] * 40,
        ...     "activity": ["rest"] * 80 + ["walk"] * 80,
        ... })
        >>> protector = Protector.fit(policy, table)
        >>> protector
        <Protector for “activity”; sensitive: everything else; laplace, ε = 5 ldp per window>
        >>> released = protector.protect(table)
        >>> released.num_rows, released.column_names  # labels stay behind
        (160, ['acc_x'])
    """

    bundle: Bundle

    @classmethod
    def fit(
        cls, policy: Policy | Path_ | Mapping[str, Any], table: Any, *, progress: Progress = lambda _: None
    ) -> Self:
        """Learn from a labelled table; needs the `train` extra.

        The policy may be a path or a dictionary, the table a path, or a pyarrow, pandas or polars table.
        """
        from deeprotect.training.fitting.fit import fit

        return cls(fit(Policy.of(policy), table, progress=progress))

    def enrol(self, table: Any) -> Self:
        """A protector that reads one new person better, from seconds of their labelled data; needs the `train` extra.

        The promise is the same one: ε-LDP does not rest on the encoder. The new bundle tells about that person.
        """
        from deeprotect.training.fitting.enrol import enrol

        return type(self)(enrol(self.bundle, table))

    @classmethod
    def load(cls, path: Path_) -> Self:
        """A protector that was saved, or trained on the command line."""
        return cls(Bundle.load(Path(path)))

    def save(self, path: Path_) -> None:
        """As a folder, or as a zip file when the name ends in .zip."""
        self.bundle.save(Path(path))

    @property
    def policy(self) -> Policy:
        return self.bundle.policy

    @property
    def epsilon(self) -> float:
        """Of one draw: one for each window, or for as long as the policy holds it."""
        return self.bundle.mechanism.event.epsilon

    @property
    def guarantee(self) -> str:
        return self.bundle.mechanism.event.guarantee

    @property
    def mechanism(self) -> str:
        """The name of what was chosen, where the policy left the choice."""
        return self.bundle.mechanism.name

    def describe(self) -> str:
        """The model card: what may be inferred, what is promised, what is not."""
        return card(self.bundle)

    @overload
    def protect(self, table: Path_, **options: Unpack[ReleaseOptions]) -> pa.Table: ...
    @overload
    def protect(self, table: T, **options: Unpack[ReleaseOptions]) -> T: ...
    def protect(self, table: Any, **options: Unpack[ReleaseOptions]) -> Any:
        """Release a pyarrow, pandas or polars table, or an array of windows; the same kind comes back."""
        released = self.release(table, **options)
        if released.summary.warning:
            warnings.warn(released.summary.warning, stacklevel=2)
        return released.table

    @overload
    def release(self, table: Path_, **options: Unpack[ReleaseOptions]) -> ReleasedTable[pa.Table]: ...
    @overload
    def release(self, table: T, **options: Unpack[ReleaseOptions]) -> ReleasedTable[T]: ...
    def release(self, table: Any, **options: Unpack[ReleaseOptions]) -> ReleasedTable[Any]:
        """The same, with what it cost and what stayed behind.

        An array is (window, time, channel): windows of one recording, channels in the order of the policy.
        """
        if isinstance(table, np.ndarray):
            given: Any = {
                "ledger": book_of(options, self.bundle),
                "entropy": SystemEntropy(),
                "workers": options.get("workers") or encoding_threads(),
            }
            return ReleasedTable(*release_array(table, self.bundle, **given))
        memory = Memory()
        summary = self._release(table, memory.open, **options)
        return ReleasedTable(like(table, memory.table()), summary)

    def protect_file(
        self, source_path: Path_ | Sequence[Path_], sink_path: Path_, **options: Unpack[ReleaseOptions]
    ) -> ReleaseSummary:
        """Release a file of any size, or several as one table, in constant memory; it appears whole or not at all.

        `mapped` says which columns are meant (`time=Timestamp`), `columns` names those of a file that has no names.
        From standard input to standard output ('-' and '-') rows leave as their windows, or episodes, fill.
        """
        source = str(source_path) if isinstance(source_path, str | PathLike) else [str(each) for each in source_path]
        if str(sink_path) == "-" and source in ("-", ["-"]):
            return self._release(source, open_pipe, live=True, **options)
        return self._release(source, partial(open_sink, Path(sink_path)), **options)

    def protect_files(
        self, sources: Sequence[Path_], folder: Path_, **options: Unpack[ReleaseOptions]
    ) -> ReleaseSummary:
        """Release files, folders and patterns file by file into a folder of the same structure.

        A run that was broken off goes on when it is called again: files that were finished stay as they are.
        """
        out, progress = Path(folder), options.get("progress", lambda _: None)
        ledger = book_of(options, self.bundle)
        parts = parts_of([str(each) for each in sources], passing=passing_columns(self.bundle, options))
        refuse_among_inputs(out, [*map(Path, sources), *(part.source for part in parts)])

        def release_one(source: Path, target: Path, share: Progress) -> ReleaseSummary:
            given: ReleaseOptions = {**options, "ledger": ledger, "progress": share}
            return self._release(str(source), partial(open_sink, target), **given)

        run = release_data_set(parts, out, release_one, bundle=self.bundle.digest, progress=progress)
        return run.summary(self.bundle.mechanism.event)

    def stream(
        self, *, listen_to: ListenTo = "beginning", listen: int | None = None, ledger: Ledger | None = None
    ) -> LiveStream:
        """A live stream: push samples as they come, get released ones back, each when its window is full.

        Where draws are held, a draw is made once the first `listen` windows of its episode are there, which leave
        then; or, listening to what was "before", from the last ones of the episode before, so that no window waits.
        Without `listen`, the policy's, or else three; a named promise always listens as the policy says.
        """
        if listen is None and self.guarantee != "named" and self.policy.privacy.listen is None:
            listen = min(LISTEN, self.bundle.hold.windows)
        return LiveStream(
            self.bundle,
            listen_to=listen_to,
            listen=listen,
            ledger=ledger or MemoryLedger(price_of(self.bundle)),
            entropy=SystemEntropy(),
        )

    def __repr__(self) -> str:
        inferences = self.policy.inferences
        useful, hidden = (
            quoted_all(inferences.useful, ", "),
            quoted_all(inferences.sensitive, ", ") or "everything else",
        )
        return f"<Protector for {useful}; sensitive: {hidden}; {self.mechanism}, {self.bundle.mechanism.event}>"

    def _repr_html_(self) -> str:
        """The card, for notebooks."""
        return card_fragment(self.bundle)

    def __copy__(self) -> Self:
        return self  # nothing in it changes

    def __deepcopy__(self, _: dict[int, Any]) -> Self:
        return self

    def ledger(self, address: Path_, *, stream: str, person: str | None = None, app: str = "") -> Ledger:
        """A ledger that outlives the process: a file, made where there is none, or postgresql+psycopg://…

        Charges are of the person, the stream's own name where none is given, and kept within the person's limits, which
        the policy's budget may tighten.
        """
        from deeprotect.release.ledger.database import Database
        from deeprotect.release.ledger.stored import StoredLedger

        return StoredLedger(Database.existing_or_new(str(address)), Account(stream, person, app), price_of(self.bundle))

    def _release(
        self, table: Any, sink: OpenSink, *, live: bool = False, **options: Unpack[ReleaseOptions]
    ) -> ReleaseSummary:
        given = settled(options, self.bundle)
        return release_table(table, sink, self.bundle, entropy=SystemEntropy(), live=live, **given)
