"""The verbs of the command line as functions: on tables, on bundles, on ledgers."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deeprotect.api.arguments import AnyPolicy, FilePath, Names, Number, Progress, Whole, checked, silent
from deeprotect.errors import Argument, InputError, printable
from deeprotect.policy import Policy
from deeprotect.tables.outputs import Output
from deeprotect.tables.roles import ColumnMap
from deeprotect.tables.sources import is_of_paths, paths_of

if TYPE_CHECKING:
    from deeprotect.auditing.audit import Audit
    from deeprotect.bundle.verification.verify import Report
    from deeprotect.policy.draft import Draft
    from deeprotect.policy.repository import Inference
    from deeprotect.release.ledger.statement import Statement
    from deeprotect.tables.checking.report import CheckReport
    from deeprotect.tables.preparing.counts import Counts
    from deeprotect.training.labelled_windows import WindowRows


@checked
def check(
    table: Any,
    *,
    policy: AnyPolicy | None = None,
    map: Mapping[str, str] | None = None,
    columns: Sequence[str] | None = None,
) -> "CheckReport":
    """List all problems of a table, each with its fix.

    Args:
        table: A pyarrow, pandas or polars table; a path, an address, a folder, a pattern or several of them.
        policy: Compare the table with it, too: its channels, units, ranges, rate and labels.
        map: Which column is the time, the recording, the person or a channel: `{"time": "Timestamp"}`.
        columns: The names of the columns, for a CSV file without a header.
    """
    from deeprotect.tables.checking.check import check as run

    rules = None if policy is None else Policy.of(policy)
    return run(table, rules, mapping=_mapping(rules, map), columns=columns)


@checked
def prepare(
    table: Any,
    out: FilePath,
    *,
    rate_hz: Number | None = None,
    unit: Sequence[str] = (),
    max_dropped: Number = 0.1,
    policy: AnyPolicy | None = None,
    map: Mapping[str, str] | None = None,
    columns: Sequence[str] | None = None,
    force: bool = False,
) -> "Counts":
    """Fix what can be fixed without inventing data: sort, drop, split, resample, convert. Counts the repairs.

    Args:
        table: As for `check`.
        out: The clean table to write; its suffix decides the format.
        rate_hz: Resample to this rate, which must not be above the table's own.
        unit: Units to convert, such as `["acc=m/s2:g"]`: a sensor or a column, its unit, and the new one.
        max_dropped: Refuse if more than this share of the rows would be dropped.
        policy: A policy that names the channels.
        map: As for `check`.
        columns: As for `check`.
        force: Overwrite `out` if it exists.
    """
    from deeprotect.tables.preparing.prepare import PrepareRequest
    from deeprotect.tables.preparing.prepare import prepare as run
    from deeprotect.tables.preparing.tidy import UnitChange

    Output.at(out).check_kind()
    Output.at(out).check(_files(table), force=force)
    rules = None if policy is None else Policy.of(policy)
    request = PrepareRequest(
        mapping=_mapping(rules, map),
        columns=columns,
        rate_hz=rate_hz,
        units=tuple(UnitChange.parse(each) for each in unit),
        policy=rules,
        max_dropped=max_dropped,
    )
    return run(table, str(out), request)


@checked
def init(
    table: Any,
    *,
    useful: Names,
    sensitive: Names = (),
    out: FilePath | None = None,
    rate_hz: Number | None = None,
    window: Whole | None = None,
    epsilon: Number | None = None,
    every: str | None = None,
    slots: str | None = None,
    map: Mapping[str, str] | None = None,
    columns: Sequence[str] | None = None,
    force: bool = False,
) -> "Draft":
    """Draft a policy for a table, with the usual ranges of its sensors, never ranges read from the data.

    Args:
        table: As for `check`; sensors are recognised by the names of its columns.
        useful: The labels that the app may infer.
        sensitive: Labels that attackers try to read in `evaluate`.
        out: A file for the policy, too.
        rate_hz: The sampling rate of a table without a time column.
        window: Samples in a window; by default, two seconds.
        epsilon: The ε of one draw; by default 5, or 11 with `slots`.
        every: Keep each draw for this long, such as `"30 s"`; by default, one draw per window.
        slots: With `every`: draw a sequence of slots of this length, which may differ.
        map: As for `check`.
        columns: As for `check`.
        force: Overwrite `out` if it exists.
    """
    from deeprotect.policy import Repository
    from deeprotect.policy.draft import Draft, assumptions, balanced, columns_of, draft, warnings_for
    from deeprotect.policy.sections import RESERVED_COLUMNS
    from deeprotect.tables.atomic import whole_file
    from deeprotect.tables.checking.check import count_classes, first_look
    from deeprotect.tables.files import READERS, kind_of

    if out is not None:
        Output.at(out).check(_files(table), force=force)
        if kind_of(str(out)) in READERS:
            raise InputError(f"{out}: that is a table's name, and a policy is TOML; use a name such as policy.toml")
    kept, hidden = _several(useful), _several(sensitive)
    mapping = ColumnMap.without_policy(map, labels={*kept, *hidden} - {*RESERVED_COLUMNS})
    seen = first_look(table, mapping=mapping, columns=columns)
    roles, found = seen.roles.settled(seen.where), columns_of(seen.schema)
    policy = draft(
        found,
        useful=kept,
        sensitive=hidden,
        rate_hz=seen.settled_rate(rate_hz),
        window=window,
        epsilon=epsilon,
        every=every,
        slots=slots,
        mapping=roles.columns | {name: column for column, name in mapping.renamed.items()},
    )
    counts = {}
    if not is_of_paths(table) or "-" not in paths_of(table):
        given: Any = {"mapping": mapping, "columns": columns}
        counts = count_classes(table, kept, window=policy.stream.window, **given)
    policy, said = balanced(policy, counts)
    notes = [*assumptions(found, policy), *warnings_for(policy, Repository.load()), *said]
    if seen.problems and not (isinstance(table, str) and table == "-"):
        kinds = ", ".join(dict.fromkeys(each.kind for each in seen.problems))
        notes.append(f"its first rows show problems ({kinds}); see `deeprotect check {printable(_named(table))}`")
    if out is not None:
        with whole_file(Path(out)) as stream:
            stream.write(policy.to_toml().encode())
    return Draft(policy, tuple(notes))


@checked
def windows(
    policy: AnyPolicy,
    table: Any,
    *,
    map: Mapping[str, str] | None = None,
    columns: Sequence[str] | None = None,
) -> "WindowRows":
    """A labelled table as windows for scikit-learn: X, y and groups, in the order of `evaluate`.

    X is (window, time * channels + channel) in the policy's units, as for the apps and attackers of `evaluate`.

    Args:
        policy: A policy, its path or a dictionary.
        table: Labelled recordings, as for `check`.
        map: As for `check`.
        columns: As for `check`.
    """
    from deeprotect.training.labelled_windows import WindowRows, read_windows

    rules = Policy.of(policy)
    return WindowRows.of(read_windows(table, rules, mapped=map, columns=columns), rules)


@checked
def verify(bundle: FilePath, *, key: FilePath | None = None) -> "Report":
    """Recompute everything that a saved bundle promises.

    Args:
        bundle: A folder or a zip file, or the name of a ready protector.
        key: Require a signature by this Ed25519 public key, a PEM file.
    """
    from deeprotect.bundle import signing
    from deeprotect.bundle.verification.verify import verify as run

    return run(Path(bundle), key=None if key is None else signing.public_key(Path(key)))


@checked
def audit(
    bundle: FilePath,
    *,
    runs: Whole = 100_000,
    table: Any = None,
    out: FilePath | None = None,
    force: bool = False,
    progress: Progress = silent,
) -> "Audit":
    """Attack the releases of a saved bundle, for a lower bound on ε with its confidence.

    Args:
        bundle: As for `verify`.
        runs: How often each of the two inputs is released.
        table: Labelled recordings whose windows are tried as inputs, too.
        out: Draw the attack, too, as a PNG file.
        force: Overwrite `out` if it exists.
        progress: Called with the completed share of the work.
    """
    from deeprotect.api.protector import Protector

    return Protector.load(bundle).audit(runs=runs, table=table, out=out, force=force, progress=progress)


@checked
def inferences(name: str | None = None, *, sensor: str | None = None) -> "list[Inference]":
    """The repository of inferences: which sensors reveal what, with references.

    Args:
        name: Only the inference of this name.
        sensor: Only what this sensor reveals.
    """
    from deeprotect.policy import Repository

    if name is not None and sensor is not None:
        raise InputError("give a NAME or ", Argument("sensor"), ": one inference, or what one sensor reveals")
    repository = Repository.load()
    if name is not None:
        return [repository.inference(name)]
    return list(repository.inferences.values()) if sensor is None else repository.reveals([sensor])


@checked
def budget(
    address: FilePath, *, stream: str | None = None, person: str | None = None, app: str | None = None
) -> "Statement":
    """Each person's spending in a ledger, what remains, and when more is available.

    Args:
        address: The ledger: a file, or postgresql+psycopg://….
        stream: Only this stream.
        person: Only this person.
        app: Only this app.
    """
    from deeprotect.release.ledger.database import Database
    from deeprotect.release.ledger.statement import statement

    return statement(Database.existing(str(address))).only(stream=stream, person=person, app=app)


def _mapping(policy: Policy | None, here: Mapping[str, str] | None) -> ColumnMap:
    return ColumnMap.without_policy(here) if policy is None else ColumnMap.of(policy, here)


def _files(table: Any) -> list[str]:
    """The inputs that an output must not replace."""
    return paths_of(table) if is_of_paths(table) else []


def _named(table: Any) -> str:
    return ", ".join(map(str, paths_of(table))) if is_of_paths(table) else "the table"


def _several(names: Names) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)
