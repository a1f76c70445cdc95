"""Evaluate a policy on a table: every mechanism, several ε, apps and attackers, into a report."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from deeprotect.attack.split_spec import SplitSpec
from deeprotect.errors import InputError
from deeprotect.evaluation.evaluator import Setup
from deeprotect.evaluation.excerpt import Choose, average, one_recording
from deeprotect.evaluation.experiment import Plan, RunResult, run
from deeprotect.evaluation.form import check_form
from deeprotect.evaluation.hold_comparison import compare_holds
from deeprotect.evaluation.methods import select
from deeprotect.evaluation.report import layout
from deeprotect.evaluation.report import report_files as files
from deeprotect.evaluation.report.summary import aim
from deeprotect.evaluation.results import FormCheck, Results, Row
from deeprotect.evaluation.runner import Progress
from deeprotect.evaluation.settings import Setting, grid
from deeprotect.evaluation.strangers import compare_strangers
from deeprotect.evaluation.workers import Jobs
from deeprotect.policy import Policy
from deeprotect.policy.draft import MOST_EPSILON
from deeprotect.policy.quick import quick
from deeprotect.tables.column_map import ColumnMap
from deeprotect.tables.columns import Columns
from deeprotect.tables.output_checks import refuse_unwritable_folder
from deeprotect.tables.sources import open_source
from deeprotect.training.fitting.fit import export, learn
from deeprotect.training.fitting.fitted_models import FittedModels
from deeprotect.training.labelled_windows import LabelledWindows, read_windows

EPSILONS, QUICK_EPSILONS = (1.0, 2.0, 5.0, 10.0), (1.0, 5.0)
QUICK_WINDOWS = 1500
ONE_WINDOW = {"every": None, "listen": None, "slots": None, "changes": None}
QUICK_ATTACKERS = ("ridge", "extra_trees")
MEASURED = 0.93


@dataclass(frozen=True)
class EvaluateRequest:
    """What a user asks for; empty means all mechanisms, or the usual ε."""

    mechanisms: Sequence[str] = ()
    epsilons: Sequence[float] = ()
    split: str = "time"
    group: str | None = None
    strangers: str | None = None
    folds: int = 1
    repeats: int = 1
    jobs: Jobs = 1
    quick: bool = False
    seed: int = 0
    show_raw: bool = False
    mapped: Mapping[str, str] | None = None
    columns: Sequence[str] | None = None
    command: str = "deeprotect evaluate"

    def __post_init__(self) -> None:
        wrong = [epsilon for epsilon in self.epsilons if not 0 < epsilon <= MOST_EPSILON]
        if wrong:
            raise InputError(f"--epsilon {wrong[0]:g}: epsilon must be positive, and at most {MOST_EPSILON:g}")
        if self.strangers and self.group not in (None, self.strangers):
            raise InputError("--strangers and --group keep the values of one column together; name the same")
        if not 0 <= self.seed < 2**32:
            raise InputError(f"--seed {self.seed} must be a whole number from 0 up, below 2^32")

    def plan(self, policy: Policy) -> tuple[Plan, list[str]]:
        """The plan, and what cannot be in it."""
        methods, left_out = select(self.mechanisms, policy)
        if not methods:
            raise InputError(f"nothing can be measured: {'; '.join(left_out)}")
        epsilons = self.epsilons or (QUICK_EPSILONS if self.quick else EPSILONS)
        return self.plan_of(grid(methods, epsilons)), left_out

    def plan_of(self, settings: Sequence[Setting]) -> Plan:
        setup, split = Setup(seed=self.seed), SplitSpec(self.split, folds=self.folds, repeats=self.repeats)
        if self.quick:
            setup, split = replace(setup, attackers=QUICK_ATTACKERS), replace(split, most=QUICK_WINDOWS)
        return Plan(settings, setup, split, self.jobs)

    def read(self, table: Any, policy: Policy) -> LabelledWindows:
        return read_windows(table, policy, group=self.strangers or self.group, mapped=self.mapped, columns=self.columns)

    def beginning(self, table: Any, policy: Policy) -> pa.Table:
        """The first rows, for checks of form."""
        mapping = ColumnMap.of(policy, self.mapped)
        numbers = [mapping.get(name, name) for name in policy.schema().names]
        with open_source(table, numbers=numbers, columns=self.columns, mapping=mapping) as source:
            found = Columns.of(source.schema, policy.schema(), mapping=mapping, where=source.where)
            return pa.Table.from_batches([next(source.only(found.kept).batches)])

    @property
    def choose(self) -> Choose:
        """What is drawn: an average, unless raw samples are asked for."""
        return one_recording if self.show_raw else average

    def policy(self, policy: Policy) -> Policy:
        """With the seed of this evaluation; networks learn less where time matters more."""
        seeded = policy.vary(training={"seed": self.seed})
        return quick(seeded) if self.quick else seeded


def evaluate(
    policy: Policy, table: Any, out: Path, *, request: EvaluateRequest, progress: Progress = lambda _: None
) -> tuple[Results, dict[str, float]]:
    """Writes report.html, results.json, figures and tables into `out`; returns results and where the time went."""
    plan, left_out = request.plan(policy)
    policy = request.policy(policy)
    refuse_unwritable_folder(out)
    windows = request.read(table, policy)
    found = run(windows, policy, plan, choose=request.choose, progress=lambda share: progress(MEASURED * share))
    results = Results(
        rows=found.rows,
        holds=() if request.quick else compare_holds(windows, policy, plan),
        strangers=_strangers(windows, policy, plan, request),
        form=_form(table, windows, policy, request),
        left_out=[*left_out, *found.left_out],
        run=described(request, plan, windows, found) | {"policy": _asked(policy)},
    )
    page = layout.lay_out(
        results,
        policy,
        title=_title(policy),
        lead=aim(policy),
        excerpt=found.excerpt,
        epsilon=plan.nearest(policy.privacy.epsilon),
    )
    files.write(out, results, page)
    progress(1.0)
    return results, found.seconds


def _strangers(windows: LabelledWindows, policy: Policy, plan: Plan, request: EvaluateRequest) -> Mapping[str, Row]:
    if request.strangers is None:
        return {}
    found = compare_strangers(windows, policy, plan, column=request.strangers)
    return {"met": found.met, "strangers": found.strangers}


def _form(table: Any, windows: LabelledWindows, policy: Policy, request: EvaluateRequest) -> list[FormCheck]:
    """Of the cheapest protector that the policy could get: form is the pipe's doing, whatever the mechanism."""
    plain = {"mechanism": "baseline", "guarantee": "ldp", "ldp_ceiling": None, "given": None, **ONE_WINDOW}
    wanted = policy.vary(privacy=plain)
    bundle = export(learn(FittedModels(windows), wanted), wanted, windows=windows, results=[])
    mapping = ColumnMap.of(policy, request.mapped)
    return check_form(request.beginning(table, policy), bundle, mapping=mapping)


def _asked(policy: Policy) -> str:
    privacy = policy.privacy
    surely = f", confidence {privacy.confidence:g}" if privacy.guarantee == "named" else ""
    return f"guarantee {privacy.guarantee}, mechanism {privacy.mechanism}, ε = {privacy.epsilon:g}{surely}"


def _title(policy: Policy) -> str:
    return f"{' and '.join(policy.inferences.useful)}: what a protected stream still tells"


def described(request: EvaluateRequest, plan: Plan, windows: LabelledWindows, found: RunResult) -> dict[str, Any]:
    """What is needed to get the same results again."""
    return {
        "command": request.command,
        "fingerprint": windows.fingerprint,
        "windows": f"{len(windows)} in the table; {found.train} to train on, {found.test} to test on",
        "split": plan.split.words,
        "quick": request.quick,
        "drawn": found.excerpt.origin if found.excerpt else "no signal",
        "app": plan.setup.app,
        "attackers": ", ".join(plan.setup.attackers),
        "seed": request.seed,
        "versions": files.versions(),
    }
