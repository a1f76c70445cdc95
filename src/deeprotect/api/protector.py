"""A protector: train or load one, then protect tables and arrays, or stream."""

import warnings
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, fields, replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Self, TypedDict, TypeVar, Unpack, overload

import numpy as np
import pyarrow as pa

from deeprotect.api.arguments import AnyPolicy, FilePath, Positive, Progress, Whole, checked, silent
from deeprotect.api.arrays import like, release_array
from deeprotect.api.matching import matched
from deeprotect.bundle import Bundle, ready
from deeprotect.bundle.card import card, card_fragment, card_page
from deeprotect.errors import Argument, ClippedWarning, InputError, printable, quoted_all
from deeprotect.policy import Policy
from deeprotect.privacy.entropy import SystemEntropy
from deeprotect.release.engine import encoding_threads
from deeprotect.release.episodes import LISTEN
from deeprotect.release.folders import plan_data_set, release_data_set
from deeprotect.release.ledger import Account, Ledger, MemoryLedger, Price
from deeprotect.release.live import ListenTo, LiveStream
from deeprotect.release.tables import ReleaseSummary, Releasing, released
from deeprotect.tables.addresses import is_address
from deeprotect.tables.atomic import alone
from deeprotect.tables.data_set import parts_of
from deeprotect.tables.outputs import STANDARD, Output, open_pipe, open_sink
from deeprotect.tables.passing import PassThrough
from deeprotect.tables.roles import ColumnMap
from deeprotect.tables.sources import is_of_paths, paths_of

if TYPE_CHECKING:
    from deeprotect.auditing.audit import Audit
    from deeprotect.bundle.verification.verify import Report

T = TypeVar("T")


@dataclass(frozen=True, repr=False)
class Release(ReleaseSummary, Generic[T]):
    """A released table of the input's kind, None if it was written; with its cost. `print` shows no sample.

    Examples:
        >>> import pyarrow as pa
        >>> from deeprotect import Protector
        >>> table = pa.table({"acc_x": [0.1] * 8, "acc_y": [0.2] * 8, "name": ["Ann"] * 8})
        >>> release = Protector.load("protector").protect(table)
        >>> release
        <8 released rows; ldp: ε = 5 per window, ε = 10 for the whole stream (2 windows); left out: name>
        >>> release.cost.per_stream, release.dropped
        (10.0, ('name',))
        >>> release.table.column_names
        ['acc_x', 'acc_y']
    """

    table: T = field(kw_only=True)
    labels: tuple[str, ...] = field(default=(), kw_only=True)  # released unchanged, because of `labels`

    @classmethod
    def of(cls, table: T, summary: ReleaseSummary) -> Self:
        return cls(**{each.name: getattr(summary, each.name) for each in fields(summary)}, table=table)

    def __repr__(self) -> str:
        behind = printable(", ".join(self.dropped), 200) or "nothing"
        labels = f"; labels released unchanged: {printable(', '.join(self.labels), 200)}" if self.labels else ""
        return f"<{self.rows} released rows; {self.cost}; left out: {behind}{labels}>"


Paths = FilePath | Sequence[FilePath]


class ProtectOptions(TypedDict, total=False):
    """The options of `Protector.protect`, which describes them; for type checkers."""

    map: Mapping[str, str] | None
    columns: Sequence[str] | None
    keep_names: bool
    relative_time: bool
    labels: bool
    ledger: Ledger | FilePath | None
    stream: str | None
    person: str | None
    app: str | None
    allow_without_ldp: bool
    workers: int | None
    force: bool
    dry_run: bool
    progress: Progress


@dataclass(frozen=True, repr=False)
class Protector:
    """Sits between a recording and an app; every release draws fresh randomness from the operating system.

    Examples:
        >>> import pyarrow as pa
        >>> from deeprotect import Policy, Protector
        >>> policy = Policy.of(
        ...     rate_hz=10, window=4, channels={"acc_x": {"unit": "g", "range": [-4.0, 4.0]}},
        ...     useful=["activity"], epsilon=5.0, mechanism="laplace", feature_extractor="pca", features=2,
        ... )
        >>> table = pa.table({
        ...     "acc_x": [0.1, 0.2] * 40 + [0.1, 0.9] * 40,
        ...     "activity": ["rest"] * 80 + ["walk"] * 80,
        ... })
        >>> protector = Protector.train(policy, table)
        >>> protector
        <Protector for “activity”; sensitive: everything else; laplace, ε = 5 ldp per window>
        >>> release = protector.protect(table)
        >>> release.table.num_rows, release.table.column_names  # labels are dropped
        (160, ['acc_x'])
        >>> print(release.cost)
        ldp: ε = 5 per window, ε = 200 for the whole stream (40 windows)
    """

    bundle: Bundle

    @classmethod
    @checked
    def train(
        cls,
        policy: AnyPolicy,
        table: Any,
        *,
        map: Mapping[str, str] | None = None,
        columns: Sequence[str] | None = None,
        quick: bool = False,
        progress: Progress = silent,
    ) -> Self:
        """Learn from labelled recordings; needs the `train` extra.

        Args:
            policy: A policy, its path or a dictionary.
            table: A pyarrow, pandas or polars table; or a path, several, a folder or a pattern.
            map: Which column is the time, the recording, the person or a channel: `{"time": "Timestamp"}`.
            columns: The names of the columns, for a CSV file without a header.
            quick: Train a few epochs only, for a first look; the card says so.
            progress: Called with the completed share of the work.
        """
        from deeprotect.policy.policy import quick as shortened
        from deeprotect.training.fitting.fit import fit

        rules = shortened(Policy.of(policy)) if quick else Policy.of(policy)
        return cls(fit(rules, table, mapped=map, columns=columns, progress=progress))

    @checked
    def enrol(self, table: Any, *, map: Mapping[str, str] | None = None, columns: Sequence[str] | None = None) -> Self:
        """Adapt to one new person with seconds of their labelled data; needs the `train` extra.

        The guarantee stays the same, because ε-LDP does not depend on the encoder. The new bundle reveals something
        about that person.

        Args:
            table: As for `train`.
            map: As for `train`.
            columns: As for `train`.
        """
        from deeprotect.training.fitting.fit import enrol

        return type(self)(enrol(self.bundle, table, mapped=map, columns=columns))

    @classmethod
    @checked
    def load(cls, bundle: FilePath, *, key: FilePath | None = None) -> Self:
        """Load a saved protector, or a ready one by its name, such as "activity".

        Args:
            bundle: A folder or a zip file, or the name of a ready protector.
            key: Require a signature by this Ed25519 public key, a PEM file.
        """
        if key is None:
            return cls(Bundle.load(Path(bundle)))
        from deeprotect.bundle import signing

        return cls(signing.load(Path(bundle), key=signing.public_key(Path(key))))

    @checked
    def save(self, out: FilePath, *, sign: FilePath | None = None, force: bool = False) -> None:
        """Write the bundle: everything a release needs, without the recordings.

        Args:
            out: A folder, or a zip file when the name ends in .zip.
            sign: Sign with this Ed25519 private key, a PEM file.
            force: Overwrite a bundle that exists.
        """
        from deeprotect.bundle import signing
        from deeprotect.bundle.store import refuse_place

        refuse_place(Path(out))
        if not force:
            Output.at(out).check_absent()
        if sign is None:
            self.bundle.save(Path(out))
        else:
            signing.save(self.bundle, Path(out), key=signing.private_key(Path(sign)))

    @property
    def policy(self) -> Policy:
        return self.bundle.policy

    @property
    def epsilon(self) -> float:
        """ε of one draw, which covers a window, or as long as the policy holds it."""
        return self.bundle.mechanism.event.epsilon

    @property
    def guarantee(self) -> str:
        return self.bundle.mechanism.event.guarantee

    @property
    def mechanism(self) -> str:
        """The name of the chosen mechanism, if the policy left the choice."""
        return self.bundle.mechanism.name

    @checked
    def describe(self, *, html: bool = False) -> str:
        """The model card: what may be inferred, what is guaranteed, what is not.

        Args:
            html: Return a page instead of text.
        """
        return card_page(self.bundle) if html else card(self.bundle)

    def verify(self) -> "Report":
        """Recompute everything that the bundle promises; `deeprotect.verify` checks files and signature, too."""
        from deeprotect.bundle.verification.verify import verify_content

        return verify_content(self.bundle)

    @checked
    def audit(
        self,
        *,
        runs: Whole = 100_000,
        table: Any = None,
        out: FilePath | None = None,
        force: bool = False,
        progress: Progress = silent,
    ) -> "Audit":
        """Attack the releases, for a lower bound on ε with its confidence.

        Args:
            runs: How often each of the two inputs is released.
            table: Labelled recordings whose windows are tried as inputs, too.
            out: Draw the attack, too, as a PNG file.
            force: Overwrite `out` if it exists.
            progress: Called with the completed share of the work.
        """
        from deeprotect.auditing.audit import audit
        from deeprotect.evaluation.report.figures import write_audit
        from deeprotect.training.labelled_windows import read_windows

        if out is not None:
            if Path(out).suffix.lower() != ".png":
                raise InputError(f"{out}: the picture is a PNG file; give a name that ends in .png")
            Output.at(out).check(paths_of(table) if is_of_paths(table) else [], force=force)
        windows = None if table is None else read_windows(table, self.policy).flat
        result = audit(self.bundle, runs=runs, windows=windows, progress=progress)
        if out is not None:
            write_audit(Path(out), result.findings)
        return result

    @overload
    def protect(self, table: Paths, out: None = None, **options: Unpack[ProtectOptions]) -> Release[pa.Table]: ...
    @overload
    def protect(self, table: T, out: None = None, **options: Unpack[ProtectOptions]) -> Release[T]: ...
    @overload
    def protect(self, table: Any, out: FilePath, **options: Unpack[ProtectOptions]) -> Release[None]: ...
    @checked
    def protect(
        self,
        table: Any,
        out: FilePath | None = None,
        *,
        map: Mapping[str, str] | None = None,
        columns: Sequence[str] | None = None,
        keep_names: bool = False,
        relative_time: bool = False,
        labels: bool = False,
        ledger: Ledger | FilePath | None = None,
        stream: str | None = None,
        person: str | None = None,
        app: str | None = None,
        allow_without_ldp: bool = False,
        workers: Positive | None = None,
        force: bool = False,
        dry_run: bool = False,
        progress: Progress = silent,
    ) -> Release[Any]:
        """Release a table; the result includes its cost and the dropped columns.

        Args:
            table: A pyarrow, pandas or polars table, which is returned as the same kind; a path, a folder, a pattern or
                several of them; or an array of windows (window, time, channel) of one recording.
            out: A file, written atomically and in constant memory; several inputs are released into it as one table. Or
                a folder, written file by file: an interrupted run resumes when it is called again. '-' and '-' are
                standard input and output, where rows are released once their windows, or episodes, are full.
            map: Names of columns, `{"time": "Timestamp"}`. By default, time and recording are the columns with these
                names; nothing else is released unchanged.
            columns: The names of the columns, for a CSV file without a header.
            keep_names: Keep the names of recordings, and of files and folders; by default they become 1, 2, … .
            relative_time: Count time from the start of each recording.
            labels: For research on your own table: release the policy's labels unchanged, with the samples. They are
                exactly what a release should hide; no guarantee covers them.
            ledger: Records charges and draws: a ledger from `Protector.ledger`, or its address, a file or
                postgresql+psycopg://…, together with `stream`. Without one nothing is recorded.
            stream: The name of this stream in the ledger.
            person: The person the data is about. By default, each person in the table's `person` column, or the one
                in `map`, is charged on an account of their own.
            app: The app that gets the release.
            allow_without_ldp: Release despite limits even if draws have no LDP bound, so that no limit can count them;
                the ledger records the permission.
            workers: Encoding threads; by default all cores but one.
            force: Overwrite existing files, but never an input.
            dry_run: Read and check everything, and return the cost; draw, charge and write nothing. Draws in a ledger
                cost nothing more, so with a ledger this is an upper bound.
            progress: Called with the completed share of the work.
        """
        if ready.comes_with_package(self.bundle.digest) and is_of_paths(table) and STANDARD not in paths_of(table):
            map = matched(table, self.bundle, mapped=map or {}, columns=columns)
        labelled = self._labels if labels else ()
        passing = PassThrough(
            "named" if keep_names else "numbered", "relative" if relative_time else "absolute", labels=labelled
        )
        read: Any = {"mapping": ColumnMap.of_release(self.policy, map), "passing": passing}
        who: Any = {"stream": stream, "person": person, "app": app, "allowed": allow_without_ldp}
        given: Any = {
            "ledger": self._book(ledger, out, **who, made_with_first_draw=True, dry_run=dry_run),
            "entropy": SystemEntropy(),
            "workers": workers or encoding_threads(),
        }
        releasing: Releasing = partial(released, bundle=self.bundle, progress=progress, names=columns, **read, **given)
        if isinstance(table, np.ndarray):
            _refuse_beside_an_array(out, map or columns or keep_names or relative_time or labels)
            release: Release[Any] = Release.of(*release_array(table, self.bundle, dry_run=dry_run, **given))
        elif out is None and not dry_run:
            with releasing(table) as tables:
                release = Release.of(like(table, tables.read_all()), tables.summary)
        elif out is not None and Output.at(out).is_folder:
            folder: Any = {"bundle": self.bundle, "progress": progress, **read}
            release = Release.of(None, _write_folder(table, Path(out), releasing, dry_run=dry_run, **folder))
        else:
            release = Release.of(None, _write(table, str(out or STANDARD), releasing, force=force, dry_run=dry_run))
        if release.warning:
            warnings.warn(release.warning, ClippedWarning, stacklevel=3)
        return replace(release, labels=tuple(name for name in release.unchanged if name in labelled))

    @checked
    def stream(
        self,
        *,
        listen_to: ListenTo = "beginning",
        listen: Whole | None = None,
        ledger: Ledger | FilePath | None = None,
        stream: str | None = None,
        person: str | None = None,
        app: str | None = None,
        allow_without_ldp: bool = False,
    ) -> LiveStream:
        """A live stream: push samples as they arrive, and get each back released when its window is full.

        A held draw is made, and its windows released, once the first windows of its episode are complete. A script is
        released when its episode is over.

        Args:
            listen_to: The windows that a held draw observes: the "beginning" of its episode, or those "before" it, the
                last ones of the previous episode, so that no window waits.
            listen: How many windows a held draw observes; by default the policy's number, or else three.
            ledger: As for `protect`.
            stream: As for `protect`.
            person: As for `protect`.
            app: As for `protect`.
            allow_without_ldp: As for `protect`.
        """
        if listen is None and self.bundle.mechanism.scripts is None and self.policy.privacy.listen is None:
            listen = min(LISTEN, self.bundle.hold.windows)
        who: Any = {"stream": stream, "person": person, "app": app, "allowed": allow_without_ldp}
        book = self._book(ledger, None, **who, made_with_first_draw=False, dry_run=False)
        return LiveStream(self.bundle, listen_to=listen_to, listen=listen, ledger=book, entropy=SystemEntropy())

    @checked
    def ledger(
        self,
        address: FilePath,
        *,
        stream: str,
        person: str | None = None,
        app: str = "",
        allow_without_ldp: bool = False,
    ) -> Ledger:
        """Open a ledger that outlives the process.

        Charges are kept within the person's limits, which the policy's budget may tighten.

        Args:
            address: A file, which is created if it does not exist, or postgresql+psycopg://….
            stream: The name of the stream.
            person: The person the data is about; by default, the stream counts as a person of its own.
            app: The app that gets the release.
            allow_without_ldp: As for `protect`.
        """
        from deeprotect.release.ledger.database import Database
        from deeprotect.release.ledger.stored import StoredLedger

        account = Account(stream, person, app)
        price = Price.of_bundle(self.bundle, allow_without_ldp=allow_without_ldp)
        return StoredLedger(Database.existing_or_new(str(address)), account, price)

    @property
    def _labels(self) -> tuple[str, ...]:
        """Columns that a training table has in addition to its samples."""
        inferences = self.policy.inferences
        return (*inferences.useful, *inferences.sensitive)

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
        return self  # immutable

    def __deepcopy__(self, _: dict[int, Any]) -> Self:
        return self

    def _book(
        self,
        ledger: Ledger | FilePath | None,
        out: FilePath | None,
        *,
        stream: str | None,
        person: str | None,
        app: str | None,
        allowed: bool,
        made_with_first_draw: bool,
        dry_run: bool,
    ) -> Ledger:
        """The given or named ledger, or one in memory."""
        address = ledger if isinstance(ledger, str | PathLike) else None
        account = Account.at(address, stream, person=person, app=app)
        if address is not None and out is not None and Path(address).resolve() == Path(out).resolve():
            raise InputError(f"{out}: it is the ledger, and a release never replaces it; choose another name")
        if address is not None and account is not None:
            if dry_run or (made_with_first_draw and "://" not in str(address) and not Path(address).exists()):
                from deeprotect.release.ledger.stored import LaterLedger

                return LaterLedger(str(address), account, Price.of_bundle(self.bundle, allow_without_ldp=allowed))
            who: Any = {"stream": account.stream, "person": person, "app": account.app}
            return self.ledger(address, **who, allow_without_ldp=allowed)
        price = Price.of_bundle(self.bundle, allow_without_ldp=allowed)
        if ledger is None:
            return MemoryLedger(price)
        assert isinstance(ledger, Ledger)
        if allowed:
            raise InputError("this ledger is already open; pass ", Argument("allow_without_ldp"), " when you open it")
        if replace(ledger.price, allowed=False) != price:
            raise InputError("this ledger was opened with another protector; use `ledger` of this one")
        return ledger


def _write(source: Any, out: str, releasing: Releasing, *, force: bool, dry_run: bool) -> ReleaseSummary:
    output = Output(out)
    output.check_kind()
    inputs = paths_of(source) if is_of_paths(source) else []
    output.check(inputs, force=force)
    if dry_run:
        with releasing(source) as tables:
            return tables.plan()
    live = out == STANDARD and inputs == [STANDARD]
    with nullcontext() if out == STANDARD or is_address(out) else alone(Path(out)):
        if not force:
            output.check_absent()  # again: another run may have ended meanwhile
        with (
            releasing(STANDARD if live else source, live=live) as tables,
            open_pipe(tables.schema) if live else open_sink(out, tables.schema) as sink,
        ):
            return tables.write(sink)


def _write_folder(
    source: Any,
    out: Path,
    releasing: Releasing,
    *,
    mapping: Mapping[str, str],
    passing: PassThrough,
    bundle: Bundle,
    progress: Progress,
    dry_run: bool,
) -> ReleaseSummary:
    if not is_of_paths(source):
        raise InputError(f"{out}: a table in memory goes into a file; give a name such as {out}.parquet")
    sources = [str(each) for each in ([source] if isinstance(source, str | PathLike) else source)]
    untouched = {mapping.get(name, name) for name in passing.untouched}
    parts = parts_of(sources, passing=untouched, numbered=passing.recording == "numbered")
    Output.at(out).check_apart([*map(Path, sources), *(part.source for part in parts)])
    release = plan_data_set if dry_run else release_data_set
    return release(parts, out, releasing, bundle=bundle, passing=passing, progress=progress)


def _refuse_beside_an_array(out: FilePath | None, columns: object) -> None:
    if out is not None:
        raise InputError("an array of windows is returned, not written; leave out `out`")
    if columns:
        raise InputError("an array has no columns; leave out map, columns, keep_names, relative_time and labels")
