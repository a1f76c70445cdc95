"""Evaluation on the user's own table: a policy compared with every mechanism at several ε, or an existing bundle."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from deeprotect.attack.models import MODELS
from deeprotect.attack.own_models import own_methods, own_models
from deeprotect.attack.split_spec import SplitSpec, split_of_column, split_of_masks
from deeprotect.bundle import Bundle
from deeprotect.errors import Argument, ArgumentError, InputError, quoted_all
from deeprotect.evaluation.evaluator import FoldRelease, Setup
from deeprotect.evaluation.excerpt import Choose, average, one_recording
from deeprotect.evaluation.experiment import (
    Plan,
    RunResult,
    holds_plan,
    run,
    run_together,
    strangers_plans,
    strangers_rows,
)
from deeprotect.evaluation.methods import WORDS, Method, Setting, check_seed, grid, select
from deeprotect.evaluation.report import layout
from deeprotect.evaluation.report import report_files as files
from deeprotect.evaluation.report.page import aim
from deeprotect.evaluation.results import FormCheck, Results, Row, may_be_people
from deeprotect.evaluation.runner import FittedFold, Progress, seeded
from deeprotect.evaluation.workers import Jobs
from deeprotect.policy import Policy
from deeprotect.policy.draft import MOST_EPSILON
from deeprotect.policy.known_sensors import PERSON, is_person
from deeprotect.policy.policy import quick
from deeprotect.privacy.entropy import SystemEntropy
from deeprotect.release.engine import Pipeline
from deeprotect.release.ledger import MemoryLedger, Price
from deeprotect.release.tables import released
from deeprotect.signals import Channel
from deeprotect.tables.columns import Columns
from deeprotect.tables.fields import decoded
from deeprotect.tables.outputs import Output
from deeprotect.tables.passing import PassThrough
from deeprotect.tables.roles import ColumnMap
from deeprotect.tables.sources import open_source
from deeprotect.training.fitting.fit import export, learn
from deeprotect.training.fitting.fitted_models import FittedModels
from deeprotect.training.fitting.trained import TrainedProtector
from deeprotect.training.labelled_windows import LabelledWindows, read_windows

CHECKED_ROWS = 5_000
"""Rows at the beginning of a table are enough: its form does not change."""
SLACK = 1e-6
"""Tolerance, as a share of a channel's range; columns of 32 bits cannot hold all steps of a fine resolution."""


def check_form(table: pa.Table, bundle: Pipeline, *, mapping: Mapping[str, str]) -> list[FormCheck]:
    """Release rows through the real pipeline and compare the form of output and input."""
    raw = table.slice(0, CHECKED_ROWS)
    ledger = MemoryLedger(Price.of(bundle.mechanism))
    named, entropy = PassThrough(recording="named"), SystemEntropy()
    with released(raw, bundle, mapping=mapping, ledger=ledger, entropy=entropy, passing=named) as tables:
        table = tables.read_all()
    columns = Columns.of(raw.schema, bundle.schema, mapping=mapping, where="the table")
    return [*_frame(raw, table, columns), *_values(table, columns, bundle.schema.channels)]


def _frame(raw: pa.Table, released: pa.Table, columns: Columns) -> Iterator[FormCheck]:
    yield FormCheck("rows", released.num_rows == raw.num_rows, f"{released.num_rows} of {raw.num_rows}")
    kept = [name for name in raw.column_names if name in columns.kept]
    yield FormCheck("columns and order", released.column_names == kept, ", ".join(released.column_names))
    types = all(released.field(name).type == _shown(raw.field(name).type) for name in kept)
    yield FormCheck("column types", types, "as in the raw table" if types else "they differ")
    if columns.time_name is not None:
        name = columns.time_name
        time = [decoded(chunk) for chunk in raw.column(name).chunks]
        same = released.column(name).equals(pa.chunked_array(time, released.field(name).type))
        yield FormCheck("time stamps and rate", same, "unchanged, row for row" if same else "they differ")


def _shown(kind: pa.DataType) -> pa.DataType:
    """The type of a dictionary's values: entries are dropped, because they may name what no row shows."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _values(released: pa.Table, columns: Columns, channels: tuple[Channel, ...]) -> Iterator[FormCheck]:
    for name, channel in zip(columns.channels, channels, strict=True):
        values = released.column(name).to_numpy().astype(np.float64)
        span = channel.high - channel.low
        inside = values.min() >= channel.low - SLACK * span and values.max() <= channel.high + SLACK * span
        found = f"{values.min():.4g} to {values.max():.4g} {channel.unit} inside {channel.low:g} to {channel.high:g}"
        yield FormCheck(f"range of {name}", bool(inside), found)
        if channel.resolution is not None:
            steps = values / channel.resolution
            off = np.abs(steps - np.rint(steps)) * channel.resolution / span
            inside = (values > channel.low) & (values < channel.high)  # sensors saturate at the ends of the range
            off = off[inside].max(initial=0.0)
            yield FormCheck(
                f"resolution of {name}", bool(off <= SLACK), f"steps of {channel.resolution:g} {channel.unit}"
            )


EPSILONS, QUICK_EPSILONS = (1.0, 2.0, 5.0, 10.0), (1.0, 5.0)
QUICK_WINDOWS = 1500
ONE_WINDOW = {"every": None, "listen": None, "slots": None, "changes": None}
QUICK_ATTACKERS = ("ridge", "extra_trees")
MEASURED = 0.93


@dataclass(frozen=True)
class EvaluateRequest:
    """The user's request; empty means all mechanisms, or the usual ε.

    `split` is a kind, COLUMN=VALUE, a column with its values, or training and test windows. `apps`, `attackers` and
    `methods` are the user's own, by name. `sensitive` holds labels to attack in addition to those that a bundle names.
    """

    mechanisms: Sequence[str] = ()
    epsilons: Sequence[float] = ()
    apps: Mapping[str, Any] = field(default_factory=dict)
    attackers: Mapping[str, Any] = field(default_factory=dict)
    methods: Mapping[str, Any] = field(default_factory=dict)
    sensitive: Sequence[str] = ()
    split: Any = "time"
    group: str | None = None
    strangers: str | None = None
    folds: int = 1
    repeats: int = 1
    jobs: Jobs = 1
    quick: bool = False
    seed: int = 0
    show_raw: bool = False
    show_names: bool = False
    mapped: Mapping[str, str] | None = None
    columns: Sequence[str] | None = None
    command: str = "deeprotect evaluate"

    def __post_init__(self) -> None:
        wrong = [epsilon for epsilon in self.epsilons if not 0 < epsilon <= MOST_EPSILON]
        if wrong:
            raise ArgumentError("epsilon", f"epsilon must be positive, and at most {MOST_EPSILON:g}", wrong[0])
        if self.strangers and self.group not in (None, self.strangers):
            both = (Argument("strangers"), " and ", Argument("group"))
            raise InputError(*both, " keep the values of one column together; name the same")
        check_seed(self.seed)
        if self.split_kind is None and self.folds != 1:
            raise InputError(
                Argument("folds"), " is for the splits that we make; leave it out beside a split of your own"
            )
        for name in self.attackers:
            if name in MODELS:
                raise InputError(f"attacker '{name}' is there already; choose another name")
        for name in self.methods:
            if name in WORDS or name == "auto":
                raise InputError(f"method '{name}' is there already; choose another name")
        if not self.split_kind:
            _ = self._tested  # refuse before reading the table

    @property
    def split_kind(self) -> str | None:
        """A built-in split; None for the user's own."""
        return self.split if isinstance(self.split, str) and "=" not in self.split else None

    @property
    def _tested(self) -> tuple[str, tuple[str, ...]] | None:
        """The column and values to test on; None for given windows."""
        if isinstance(self.split, str) and "=" in self.split:
            column, _, values = self.split.partition("=")
            found = column.strip(), tuple(filter(None, map(str.strip, values.split(","))))
        elif isinstance(self.split, Mapping):
            if len(self.split) != 1:
                raise ArgumentError("split", "give one column and the values to test on")
            ((column, given),) = self.split.items()
            several = given if isinstance(given, list | tuple | set) else [given]
            found = str(column), tuple(map(str, several))
        else:
            return None
        if not (found[0] and found[1]):
            raise ArgumentError(
                "split", "write COLUMN=VALUE, or COLUMN=VALUE,VALUE: rows with these values are for testing"
            )
        return found

    def plan(self, policy: Policy) -> tuple[Plan, list[str]]:
        """The plan, and reasons for what is left out."""
        methods, left_out = select(self.mechanisms, policy)
        if not methods:
            raise InputError(f"nothing can be measured: {'; '.join(left_out)}")
        settings = grid(methods, self.epsilons or self._usual(policy.privacy.epsilon))
        settings += [Setting(Method(name, "none", peer=True)) for name in self.methods]
        return self.plan_of(settings if self.mechanisms else [Setting.of(policy), *settings]), left_out

    def _usual(self, own: float) -> tuple[float, ...]:
        """The policy's own ε first, then others for comparison, except the one closest to it."""
        usual = QUICK_EPSILONS if self.quick else EPSILONS
        nearest = min(usual, key=lambda each: abs(math.log(each / own)))
        return (own, *(each for each in usual if each != nearest))

    def plan_of(self, settings: Sequence[Setting]) -> Plan:
        setup = Setup(retrained="extra_trees", seed=self.seed)
        split = SplitSpec(self.split_kind or "time", folds=self.folds, repeats=self.repeats)
        if self.quick:
            setup, split = replace(setup, attackers=QUICK_ATTACKERS), replace(split, most=QUICK_WINDOWS)
        return Plan(settings, setup, split, self.jobs)

    def settled(self, plan: Plan, windows: LabelledWindows, policy: Policy) -> Plan:
        """Add the user's own models and split; the windows determine the classes and the split by a column."""
        given: Any = {"windows": windows, "schema": policy.schema()}
        setup = replace(
            plan.setup,
            own_apps=own_models(self.apps, "app", inferences=policy.inferences.useful, **given),
            own_attackers=own_models(self.attackers, "attacker", inferences=policy.inferences.sensitive, **given),
            own_methods=own_methods(self.methods, policy.schema()),
        )
        if self.split_kind:
            return replace(plan, setup=setup)
        tested = self._tested
        split = split_of_masks(windows, self.split) if tested is None else split_of_column(windows, *tested)
        return replace(plan, setup=setup, split=replace(split, repeats=self.repeats, most=plan.split.most))

    def read(self, table: Any, policy: Policy) -> LabelledWindows:
        beside: Any = {"group": self.strangers or self.group, "tested": None if self.split_kind else self._tested}
        return read_windows(table, policy, **beside, mapped=self.mapped, columns=self.columns)

    def beginning(self, table: Any, policy: Policy) -> pa.Table:
        """The first rows, for checks of form."""
        mapping = ColumnMap.of(policy, self.mapped)
        numbers = [mapping.get(name, name) for name in policy.schema().names]
        with open_source(table, numbers=numbers, columns=self.columns, mapping=mapping) as source:
            found = Columns.of(source.schema, policy.schema(), mapping=mapping, where=source.where)
            return pa.Table.from_batches([next(source.only(found.kept).batches)])

    def shown(self, results: Results, windows: LabelledWindows) -> Results:
        """Replace classes that may be people by numbers, unless names are requested."""
        return results if self.show_names else results.numbered(may_be_people(results, windows))

    @property
    def choose(self) -> Choose:
        """The excerpt to draw: an average, unless raw samples are requested."""
        return one_recording if self.show_raw else average

    def policy(self, policy: Policy) -> Policy:
        """The policy with this evaluation's seed, and less training if time matters."""
        seeded = policy.vary(training={"seed": self.seed})
        return quick(seeded) if self.quick else seeded


def evaluate(
    policy: Policy, table: Any, out: Path | None, *, request: EvaluateRequest, progress: Progress = lambda _: None
) -> Results:
    """Evaluate, and write report.html, results.json, figures and tables into `out`, if given."""
    plan, left_out = request.plan(policy)
    policy = request.policy(policy)
    if out is not None:
        Output.at(out).check_folder()
    windows = request.read(table, policy)
    plan = request.settled(plan, windows, policy)
    who = request.strangers
    apart = {} if who is None else strangers_plans(windows, policy, plan, column=who)
    held = [] if request.quick else holds_plan(windows, policy, plan)
    found, *others = run_together(
        windows,
        policy,
        [plan, *apart.values(), *held],
        choose=request.choose,
        progress=lambda share: progress(MEASURED * share),
    )
    people, unmet = strangers_rows(dict(zip(apart, others, strict=False)))
    results = Results(
        rows=_once(found.rows),
        holds=[row for each in others[len(apart) :] for row in each.rows],
        strangers=people,
        form=_form(table, windows, policy, request),
        left_out=[*left_out, *found.left_out, *unmet],
        run=described(request, plan, windows, found) | {"policy": _asked(policy)},
        seconds=found.seconds,
    )
    results = request.shown(results, windows)
    title = f"{' and '.join(policy.inferences.useful)}: what a protected stream still reveals"
    nearest = plan.nearest(policy.privacy.epsilon)
    page = layout.lay_out(results, policy, title=title, lead=aim(policy), excerpt=found.excerpt, epsilon=nearest)
    if out is not None:
        files.write(out, results, page)
    progress(1.0)
    return results


def _once(rows: Sequence[Row]) -> list[Row]:
    """Remove duplicate releases, keeping the policy's own row."""
    found: dict[Any, Row] = {}
    for row in rows:
        found.setdefault((row.mechanism, row.guarantee, row.epsilon, row.seconds_per_draw, row.slots), row)
    return list(found.values())


def _form(table: Any, windows: LabelledWindows, policy: Policy, request: EvaluateRequest) -> list[FormCheck]:
    """Check the form with the policy's cheapest protector: the form depends on the pipeline, not on the mechanism."""
    plain = {"mechanism": "baseline", "guarantee": "ldp", **ONE_WINDOW}
    wanted = policy.vary(privacy=plain)
    bundle = export(learn(FittedModels(windows), wanted), wanted, windows=windows, results=[])
    return check_form(request.beginning(table, policy), bundle, mapping=ColumnMap.of(policy, request.mapped))


def _asked(policy: Policy) -> str:
    privacy = policy.privacy
    return f"guarantee {privacy.guarantee}, mechanism {privacy.mechanism}, ε = {privacy.epsilon:g}"


def described(request: EvaluateRequest, plan: Plan, windows: LabelledWindows, found: RunResult) -> dict[str, Any]:
    """The facts needed to reproduce the results."""
    return {
        "command": request.command,
        "fingerprint": windows.fingerprint,
        "windows": f"{len(windows)} in the table; {found.train} to train on, {found.test} to test on",
        "split": plan.split.words,
        "quick": request.quick,
        "drawn": found.excerpt.origin if found.excerpt else "no signal",
        "app": ", ".join([plan.setup.app, *plan.setup.own_apps]),
        "attackers": ", ".join([*plan.setup.attackers, *plan.setup.own_attackers]),
        "seed": request.seed,
        "versions": files.versions(),
    }


OTHER_WINDOWS = (
    "the fingerprint of these windows and their labels differs from the one that the bundle names; a part of the "
    "training table, or the same windows in another order, would not be noticed"
)


def _shipped(fold: FittedFold, _: Setting, *, bundle: Bundle) -> FoldRelease:
    """The bundle's own release, with reproducible noise for evaluation; trains nothing."""
    protector = TrainedProtector(bundle.mechanism, bundle.encoder, bundle.decoder, {}, bundle.hold)
    return seeded(protector, fold.evaluator.setup.seed, useful=fold.policy.inferences.useful)


FEWEST_PEOPLE = 3
"""Units that are on one side: the app learns from some and is tested on others."""


def evaluate_bundle(
    bundle: Bundle, table: Any, out: Path | None, *, request: EvaluateRequest, progress: Progress = lambda _: None
) -> Results:
    """Evaluate a bundle, and write the same files as `evaluate`, with a single row."""
    if out is not None:
        Output.at(out).check_folder()
    policy, event, manifest = _as_kept(bundle, request.sensitive), bundle.mechanism.event, bundle.manifest
    request, given = _of_other_people(request, bundle), request
    made_from = f"from windows with fingerprint {manifest.training.fingerprint[:16]}…"
    origin = {"bundle": f"made {manifest.created}, {made_from}", "other_windows": OTHER_WINDOWS}
    windows = request.read(table, policy)
    if windows.fingerprint == manifest.training.fingerprint:
        raise InputError(
            Argument("table"),
            " is the one that the bundle was trained on, and would flatter it; give recordings that were held back "
            "from training",
        )
    if request.split != given.split and len(np.unique(windows.groups)) < FEWEST_PEOPLE:
        request = given  # the app knows the tested people, as `split` asks
    plan = request.plan_of([Setting(Method(bundle.mechanism.name, event.policy_guarantee), event.epsilon)])
    plan = request.settled(plan, windows, policy)
    shares = lambda share: progress(MEASURED * share)  # noqa: E731
    found = run(
        windows, policy, plan, choose=request.choose, release_of=partial(_shipped, bundle=bundle), progress=shares
    )
    results = Results(
        rows=[replace(row, feature_extractor=manifest.feature_extractor.name, own=True) for row in found.rows],
        form=check_form(request.beginning(table, policy), bundle, mapping=ColumnMap.of(policy, request.mapped)),
        left_out=found.left_out,
        run=described(request, plan, windows, found) | origin,
        seconds=found.seconds,
    )
    results = request.shown(results, windows)
    title = f"{quoted_all(policy.inferences.useful)}: what the shipped protector still reveals"
    lead = aim(
        policy, below="Below, the shipped bundle releases windows; an app and attackers try to recognise their labels."
    )
    page = layout.lay_out(results, policy, title=title, lead=lead, excerpt=found.excerpt, epsilon=event.epsilon)
    if out is not None:
        files.write(out, results, page)
    progress(1.0)
    return results


def _as_kept(bundle: Bundle, sensitive: Sequence[str]) -> Policy:
    """The policy with the mechanism's actual guarantee, which may be stronger than the requested one."""
    event, own = bundle.mechanism.event, bundle.policy.inferences.sensitive
    kept = {"guarantee": event.policy_guarantee, "epsilon": event.epsilon, "mechanism": bundle.mechanism.name}
    attacked = list(dict.fromkeys([*own, *sensitive]))
    if bundle.policy.erased and len(attacked) > len(own):
        raise InputError(
            Argument("sensitive"),
            f": the bundle erases directions of {quoted_all(own, ', ')}, and promises nothing of that kind about "
            "others; evaluate a policy that names them",
        )
    return bundle.policy.vary(privacy=kept, inferences={"sensitive": attacked})


def _of_other_people(request: EvaluateRequest, bundle: Bundle) -> EvaluateRequest:
    """If the bundle is for new people, train and test the app on different people, like the bundle.

    An app that knew the tested people would be compared with a protector that does not. A bundle with people as an
    inference has learnt from the people concerned.
    """
    if request.split != "time" or request.group is not None:
        return request
    policy = bundle.policy
    own = (*policy.inferences.useful, *policy.inferences.sensitive)
    people = ColumnMap.of(policy, request.mapped).get(PERSON) or next(filter(is_person, request.sensitive), None)
    return request if people is None or people in own else replace(request, split="strangers", group=people)
