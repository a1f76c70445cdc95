"""`evaluate`: what apps and attackers can infer from a release; `tune`: the best policy for one goal."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deeprotect.api.arguments import AnyPolicy, FilePath, Names, Number, Own, Progress, Whole, checked, silent
from deeprotect.errors import Argument, ArgumentError, InputError, Placeholder
from deeprotect.policy import Policy
from deeprotect.tables.outputs import Output
from deeprotect.tables.sources import is_of_paths, paths_of

if TYPE_CHECKING:
    from deeprotect.evaluation.results import Results
    from deeprotect.evaluation.runs.tune import Tuned


@checked
def evaluate(
    policy: AnyPolicy | None = None,
    table: Any = None,
    *,
    out: FilePath | None = None,
    bundle: FilePath | None = None,
    sensitive: Names = (),
    mechanism: Names = (),
    epsilon: Number | Sequence[Number] = (),
    apps: Own = (),
    attackers: Own = (),
    methods: Own = (),
    split: Iterable[Any] = "time",
    group: str | None = None,
    strangers: str | None = None,
    folds: Whole = 1,
    repeats: Whole = 1,
    jobs: Whole | None = None,
    scheduler: str | None = None,
    quick: bool = False,
    seed: Whole = 0,
    show_raw: bool = False,
    show_names: bool = False,
    map: Mapping[str, str] | None = None,
    columns: Sequence[str] | None = None,
    force: bool = False,
    progress: Progress = silent,
) -> "Results":
    """Measure what apps and attackers can infer from a release, the policy's own first.

    Args:
        policy: A policy, its path or a dictionary; None with `bundle`.
        table: Labelled recordings: a pyarrow, pandas or polars table, or a path, several, a folder or a pattern.
        out: A folder for report.html and results.json.
        bundle: Measure this bundle as it ships, on a table that it was not trained on.
        sensitive: With `bundle`: additional labels to attack.
        mechanism: Only these mechanisms.
        epsilon: The ε of a draw, one or several; by default the policy's, and 1, 2, 5, 10.
        apps: Your own apps, scikit-learn estimators by name or "module:object", besides the built-in ones.
        attackers: Your own attackers, in the same form.
        methods: Your own releases, transformers, in the same form: docs/evaluation.md#your-own-app-attacker-or-method
        split: How test windows are held out: "time", "pieces", "recording" or "group"; `{"session": "2"}`, a column
            with the values to test on; or training and test windows, as masks or numbers.
        group: Rows with the same value of this column stay on one side.
        strangers: Also measure on people, named in this column, whom the protector was not trained on.
        folds: Folds of cross-validation; 1 holds out one part.
        repeats: Repeat everything with this many seeds.
        jobs: Processes; by default one per core.
        scheduler: Run on the Dask cluster of this scheduler, tcp://HOST:PORT.
        quick: Fewer windows, ε, attackers and epochs; about a minute.
        seed: Random seed for splits, models and noise.
        show_raw: Show raw samples of one recording in the report, not an average.
        show_names: Name classes that may be people; by default they are numbered.
        map: Which column is the time, the recording, the person or a channel: `{"time": "Timestamp"}`.
        columns: The names of the columns, for a CSV file without a header.
        force: Overwrite an earlier report in `out`.
        progress: Called with the completed share of the work.
    """
    mechanisms, epsilons = _several(mechanism), tuple(epsilon) if isinstance(epsilon, Sequence) else (epsilon,)
    _check_asked(policy, bundle, table, chosen=bool(mechanisms or epsilons or strangers))
    if sensitive and bundle is None:
        named = "; a POLICY names its own sensitive inferences"
        raise InputError(Argument("sensitive"), " is for ", Argument("bundle"), named)
    if isinstance(split, str) and split == "group" and group is None:
        column = " needs the column to split by; give it with "
        raise InputError(Argument("split", Placeholder("group")), column, Argument("group"))
    from deeprotect.attack.own_models import loaded
    from deeprotect.bundle import Bundle
    from deeprotect.evaluation.report.report_files import REPORT
    from deeprotect.evaluation.runs.own_table import EvaluateRequest, evaluate_bundle
    from deeprotect.evaluation.runs.own_table import evaluate as run

    if out is not None:
        Output.at(out).check_report(REPORT, force=force)
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
            data=table,
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
        return evaluate_bundle(Bundle.load(Path(bundle)), table, place, request=request, progress=progress)
    assert policy is not None
    return run(Policy.of(policy), table, place, request=request, progress=progress)


@checked
def tune(
    policy: AnyPolicy,
    table: Any,
    *,
    out: FilePath,
    accuracy: Number | None = None,
    epsilon_per_hour: Number | None = None,
    jobs: Whole | None = None,
    map: Mapping[str, str] | None = None,
    columns: Sequence[str] | None = None,
    force: bool = False,
    progress: Progress = silent,
) -> "Tuned":
    """Propose ε, hold or script, window and mechanism for one goal.

    Args:
        policy: The policy to start from: a policy, its path or a dictionary.
        table: Labelled recordings, as for `evaluate`.
        out: A folder for policy.toml and report.html.
        accuracy: The accuracy that the app needs, such as 0.9; finds the lowest ε an hour.
        epsilon_per_hour: What an hour may cost, such as 60; finds the best accuracy.
        jobs: Processes; by default one per core.
        map: As for `evaluate`.
        columns: As for `evaluate`.
        force: Overwrite an earlier report in `out`.
        progress: Called with the completed share of the work.
    """
    from deeprotect.evaluation.report.report_files import REPORT
    from deeprotect.evaluation.runs.tune import POLICY, Goal
    from deeprotect.evaluation.runs.tune import tune as run

    goal = Goal(accuracy, epsilon_per_hour)
    Output.at(out).check_report((*REPORT, POLICY), force=force)
    given: Any = {"mapped": map, "columns": columns, "jobs": processes_or_cluster(jobs, None)}
    return run(Policy.of(policy), table, Path(out), goal=goal, progress=progress, **given)


def processes_or_cluster(jobs: int | None, scheduler: str | None) -> int | str:
    """The number of processes, by default one per core; or a cluster's address."""
    if jobs is not None and scheduler is not None:
        elsewhere = " is a cluster; give one of them"
        raise InputError(Argument("jobs"), " are local processes, ", Argument("scheduler"), elsewhere)
    return scheduler or (cores() if jobs is None else jobs)


def cores() -> int:
    from joblib import cpu_count

    return int(cpu_count())


def _check_asked(policy: AnyPolicy | None, bundle: FilePath | None, table: Any, *, chosen: bool) -> None:
    if (policy is None) == (bundle is None):
        raise InputError("give either a POLICY or ", Argument("bundle"), ", which brings its own policy")
    if bundle is not None and chosen:
        chosen_by = (Argument("mechanism"), ", ", Argument("epsilon"), " and ", Argument("strangers"))
        raise InputError(Argument("bundle"), " is measured unchanged; leave out ", *chosen_by)
    if table is None:
        raise ArgumentError("table", "give the labelled recordings to measure on")
    if is_of_paths(table) and "-" in paths_of(table):
        raise InputError(Argument("table", Placeholder("-")), " cannot be read twice; give a file")


def _several(names: Names) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _command(verb: str, *given: Any, **options: Any) -> str:
    """The command that repeats the call, as far as its arguments have names."""
    words = ["deeprotect", verb, *(str(each) for each in given if isinstance(each, str | Path))]
    for name, value in options.items():
        listed = paths_of(value) if name == "data" and is_of_paths(value) else value
        for each in listed if isinstance(listed, list | tuple) else [listed]:
            if isinstance(each, str | int | float | Path) and each is not False:
                words += [f"--{name.replace('_', '-')}", *([] if each is True else [f"{each}"])]
    return shlex.join(words)
