"""The verbs of the command line for Python, under the same names and with options of the same names."""

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deeprotect.door import door
from deeprotect.errors import InputError, printable
from deeprotect.policy import Policy
from deeprotect.tables import output_checks
from deeprotect.tables.column_map import ColumnMap
from deeprotect.tables.several import paths_of
from deeprotect.tables.sources import is_of_paths

if TYPE_CHECKING:
    from deeprotect.auditing.audit import Audit
    from deeprotect.bundle.verification.verify import Report
    from deeprotect.evaluation.results import Results
    from deeprotect.evaluation.runs.tune import Tuned
    from deeprotect.policy.draft import Draft
    from deeprotect.policy.repository import Inference
    from deeprotect.release.ledger.statement import Statement
    from deeprotect.tables.checking.report import CheckReport
    from deeprotect.tables.preparing.counts import Counts
    from deeprotect.training.labelled_windows import WindowRows

Path_ = str | Path
AnyPolicy = Policy | Path_ | Mapping[str, Any]
Progress = Callable[[float], None]
Names = str | Sequence[str]
Own = Mapping[str, Any] | Names


@door
def check(
    table: Any,
    policy: AnyPolicy | None = None,
    *,
    map: Mapping[str, str] | None = None,
    columns: Sequence[str] | None = None,
) -> "CheckReport":
    """All problems of a table at once, each with the fix; held against a policy, too, where one is given."""
    from deeprotect.tables.checking.check import check as run

    rules = None if policy is None else Policy.of(policy)
    return run(table, rules, mapping=_mapping(rules, map), columns=columns)


@door
def prepare(
    table: Any,
    out: Path_,
    *,
    rate_hz: float | None = None,
    unit: Sequence[str] = (),
    max_dropped: float = 0.1,
    policy: AnyPolicy | None = None,
    map: Mapping[str, str] | None = None,
    columns: Sequence[str] | None = None,
    force: bool = False,
) -> "Counts":
    """Fix what can be fixed without making data up, and report it: sort, drop, split, resample, convert."""
    from deeprotect.tables.preparing.prepare import PrepareRequest
    from deeprotect.tables.preparing.prepare import prepare as run
    from deeprotect.tables.preparing.tidy import UnitChange

    output_checks.refuse_unknown_kind(out)
    output_checks.refuse_output(out, _files(table), force=force)
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


@door
def init(
    table: Any,
    *,
    useful: Names,
    sensitive: Names = (),
    out: Path_ | None = None,
    rate_hz: float | None = None,
    window: int | None = None,
    epsilon: float | None = None,
    every: str | None = None,
    slots: str | None = None,
    map: Mapping[str, str] | None = None,
    columns: Sequence[str] | None = None,
    force: bool = False,
) -> "Draft":
    """A policy for a table, with ranges of known sensors, never of the data; and what its reader should check."""
    from deeprotect.policy import Repository
    from deeprotect.policy.draft import Draft, assumptions, balanced, columns_of, draft, warnings_for
    from deeprotect.policy.sections import RESERVED_COLUMNS
    from deeprotect.tables.atomic import whole_file
    from deeprotect.tables.checking.check import count_classes, first_look
    from deeprotect.tables.files import READERS, kind_of

    if out is not None:
        output_checks.refuse_output(out, _files(table), force=force)
        if kind_of(out) in READERS:
            raise InputError(
                f"{out}: that is the name of a table, and a policy is TOML; give a name such as policy.toml"
            )
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


@door
def evaluate(
    policy: AnyPolicy | None = None,
    data: Any = None,
    *,
    out: Path_ | None = None,
    bundle: Path_ | None = None,
    sensitive: Names = (),
    mechanism: Names = (),
    epsilon: float | Sequence[float] = (),
    apps: Own = (),
    attackers: Own = (),
    methods: Own = (),
    split: Any = "time",
    group: str | None = None,
    strangers: str | None = None,
    folds: int = 1,
    repeats: int = 1,
    jobs: int | None = None,
    scheduler: str | None = None,
    quick: bool = False,
    seed: int = 0,
    show_raw: bool = False,
    show_names: bool = False,
    map: Mapping[str, str] | None = None,
    columns: Sequence[str] | None = None,
    force: bool = False,
    progress: Progress = lambda _: None,
) -> "Results":
    """What apps and attackers read of a release, the policy's own first; with a report in the folder `out`.

    `apps`, `attackers` and `methods` are scikit-learn estimators by name, or "module:object", beside the built-in.
    `split` is a kind; a column with the values that are tested on, {"session": "2"}; or the windows to train on and to
    test on, as masks or numbers: docs/evaluation.md#your-own-app-attacker-or-method
    """
    mechanisms, epsilons = _several(mechanism), (epsilon,) if isinstance(epsilon, float | int) else tuple(epsilon)
    _check_asked(policy, bundle, data, chosen=bool(mechanisms or epsilons or strangers))
    if sensitive and bundle is None:
        raise InputError("--sensitive is for --bundle; a POLICY names its own sensitive inferences")
    if isinstance(split, str) and split == "group" and group is None:
        raise InputError("--split group needs the column to split by; give it with --group")
    from deeprotect.attack.own_models import loaded
    from deeprotect.bundle import Bundle
    from deeprotect.evaluation.report.report_files import REPORT
    from deeprotect.evaluation.runs.own_table import EvaluateRequest, evaluate_bundle
    from deeprotect.evaluation.runs.own_table import evaluate as run

    if out is not None:
        refuse_report(Path(out), REPORT, force=force)
    own: Any = {"app": apps, "attacker": attackers, "method": methods}
    asked: Any = {
        "group": group,
        "strangers": strangers,
        "folds": folds,
        "repeats": repeats,
        "seed": seed,
    }
    by_group = group and isinstance(split, str) and split == "time"
    request = EvaluateRequest(
        mechanisms=mechanisms,
        epsilons=epsilons,
        apps=loaded(apps, "app"),
        attackers=loaded(attackers, "attacker"),
        methods=loaded(methods, "method"),
        sensitive=_several(sensitive),
        split="group" if by_group else split,
        jobs=processes_or_cluster(jobs, scheduler),
        quick=quick,
        show_raw=show_raw,
        show_names=show_names,
        mapped=map,
        columns=columns,
        command=_command(
            "evaluate",
            policy,
            data=data,
            bundle=bundle,
            sensitive=_several(sensitive),
            mechanism=mechanisms,
            epsilon=epsilons,
            quick=quick,
            split=split,
            **own,
            **asked,
        ),
        **asked,
    )
    place = None if out is None else Path(out)
    if bundle is not None:
        return evaluate_bundle(Bundle.load(Path(bundle)), data, place, request=request, progress=progress)
    assert policy is not None
    return run(Policy.of(policy), data, place, request=request, progress=progress)


@door
def windows(
    table: Any,
    policy: AnyPolicy,
    *,
    map: Mapping[str, str] | None = None,
    columns: Sequence[str] | None = None,
) -> "WindowRows":
    """A labelled table as windows for scikit-learn: X, y and groups, in the order in which `evaluate` takes them.

    X is (window, time * channels + channel) in the policy's units, as the apps and attackers of `evaluate` get it.
    """
    from deeprotect.training.labelled_windows import WindowRows, read_windows

    rules = Policy.of(policy)
    return WindowRows.of(read_windows(table, rules, mapped=map, columns=columns), rules)


@door
def tune(
    table: Any,
    policy: AnyPolicy,
    *,
    out: Path_,
    accuracy: float | None = None,
    epsilon_per_hour: float | None = None,
    jobs: int | None = None,
    map: Mapping[str, str] | None = None,
    columns: Sequence[str] | None = None,
    force: bool = False,
    progress: Progress = lambda _: None,
) -> "Tuned":
    """Propose ε, hold or script, window and mechanism for one goal; with a policy and a report in the folder `out`."""
    from deeprotect.evaluation.report.report_files import REPORT
    from deeprotect.evaluation.runs.tune import POLICY, Goal
    from deeprotect.evaluation.runs.tune import tune as run

    goal = Goal(accuracy, epsilon_per_hour)
    refuse_report(Path(out), (*REPORT, POLICY), force=force)
    given: Any = {"mapped": map, "columns": columns, "jobs": processes_or_cluster(jobs, None)}
    return run(Policy.of(policy), table, Path(out), goal=goal, progress=progress, **given)


@door
def verify(bundle: Path_, *, key: Path_ | None = None) -> "Report":
    """Recompute everything that a bundle promises; with a public `key`, check its signature, too."""
    from deeprotect.bundle import signing
    from deeprotect.bundle.verification.verify import verify as run

    return run(Path(bundle), key=None if key is None else signing.public_key(Path(key)))


@door
def audit(
    bundle: Path_,
    *,
    runs: int = 100_000,
    data: Any = None,
    out: Path_ | None = None,
    force: bool = False,
    progress: Progress = lambda _: None,
) -> "Audit":
    """Attack the release: a lower bound on ε with its confidence, and a picture of it in `out`, a PNG file."""
    from deeprotect.auditing.audit import audit as run
    from deeprotect.bundle import Bundle
    from deeprotect.training.labelled_windows import read_windows

    if out is not None:
        if Path(out).suffix.lower() != ".png":
            raise InputError(f"{out}: the picture is a PNG file; give a name that ends in .png")
        output_checks.refuse_output(out, _files(data), force=force)
    protector = Bundle.load(Path(bundle))
    windows = None if data is None else read_windows(data, protector.policy).flat
    result = run(protector, runs=runs, windows=windows, progress=progress)
    if out is not None:
        from deeprotect.evaluation.report.figures import write_audit

        write_audit(Path(out), result.findings)
    return result


@door
def inferences(name: str | None = None, *, sensor: str | None = None) -> "list[Inference]":
    """The repository of inferences: all of them, the one of that name, or what one sensor reveals."""
    from deeprotect.policy import Repository

    if name is not None and sensor is not None:
        raise InputError("give a NAME or --sensor: one inference, or what one sensor reveals")
    repository = Repository.load()
    if name is not None:
        return [repository.inference(name)]
    return list(repository.inferences.values()) if sensor is None else repository.reveals([sensor])


@door
def budget(
    address: Path_, *, stream: str | None = None, person: str | None = None, app: str | None = None
) -> "Statement":
    """Who has spent what in a ledger, what is left, and when more is available; all of it, or one name's part."""
    from deeprotect.release.ledger.database import Database
    from deeprotect.release.ledger.statement import statement

    return statement(Database.existing(str(address))).only(stream=stream, person=person, app=app)


def _mapping(policy: Policy | None, here: Mapping[str, str] | None) -> ColumnMap:
    return ColumnMap.without_policy(here) if policy is None else ColumnMap.of(policy, here)


def _files(table: Any) -> list[str]:
    """What an output may not replace."""
    return paths_of(table) if is_of_paths(table) else []


def refuse_report(out: Path, parts: Iterable[str], *, force: bool) -> None:
    """Before the work: a folder that cannot be, or that holds an earlier report."""
    output_checks.refuse_unwritable_folder(out)
    if not force:
        output_checks.refuse_existing_in(out, parts)


def processes_or_cluster(jobs: int | None, scheduler: str | None) -> int | str:
    """So many, or one per core; or a cluster elsewhere."""
    if jobs is not None and scheduler is not None:
        raise InputError("--jobs are processes here, --scheduler is a cluster elsewhere; give one of them")
    return scheduler or (cores() if jobs is None else jobs)


def cores() -> int:
    from joblib import cpu_count

    return int(cpu_count())


def _check_asked(policy: AnyPolicy | None, bundle: Path_ | None, data: Any, *, chosen: bool) -> None:
    if (policy is None) == (bundle is None):
        raise InputError("give either a POLICY or --bundle, which brings its own policy")
    if bundle is not None and chosen:
        raise InputError("--bundle is measured as it is; leave out --mechanism, --epsilon and --strangers")
    if data is None:
        raise InputError("--data: give the labelled recordings to measure on")
    if is_of_paths(data) and "-" in paths_of(data):
        raise InputError("--data - cannot be read twice; give a file")


def _several(names: Names) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _named(table: Any) -> str:
    return ", ".join(map(str, paths_of(table))) if is_of_paths(table) else "the table"


def _command(verb: str, *given: Any, **options: Any) -> str:
    """The line that does the same again, as far as what was given has a name."""
    words = ["deeprotect", verb, *(str(each) for each in given if isinstance(each, str | Path))]
    for name, value in options.items():
        listed = paths_of(value) if name == "data" and is_of_paths(value) else value
        for each in listed if isinstance(listed, list | tuple) else [listed]:
            if isinstance(each, str | int | float | Path) and each is not False:
                words += [f"--{name.replace('_', '-')}", *([] if each is True else [f"{each}"])]
    return shlex.join(words)
