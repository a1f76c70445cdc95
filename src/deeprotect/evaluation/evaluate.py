"""Evaluate a policy on a table: every mechanism, several ε, apps and attackers, into a report."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from deeprotect.attack.split_spec import SplitSpec
from deeprotect.errors import InputError
from deeprotect.evaluation.evaluator import Setup
from deeprotect.evaluation.experiment import Plan, RunResult, run
from deeprotect.evaluation.form import check_form
from deeprotect.evaluation.methods import select
from deeprotect.evaluation.report import files, layout
from deeprotect.evaluation.report.summary import aim
from deeprotect.evaluation.results import FormCheck, Results
from deeprotect.evaluation.runner import Progress
from deeprotect.evaluation.settings import grid
from deeprotect.policy import Policy
from deeprotect.tables.column_map import ColumnMap
from deeprotect.tables.sources import open_source
from deeprotect.training.dataset import LabelledWindows, read_windows
from deeprotect.training.fit import export, learn
from deeprotect.training.fitted import FittedModels

EPSILONS, QUICK_EPSILONS = (1.0, 2.0, 5.0, 10.0), (1.0, 5.0)
QUICK_WINDOWS, QUICK_EPOCHS = 1500, 6
QUICK_ATTACKERS = ("ridge", "extra_trees")
MEASURED = 0.93


@dataclass(frozen=True)
class EvaluateRequest:
    """What a user asks for; empty means all mechanisms, or the usual ε."""

    mechanisms: Sequence[str] = ()
    epsilons: Sequence[float] = ()
    split: str = "time"
    group: str | None = None
    folds: int = 1
    repeats: int = 1
    jobs: int = 1
    quick: bool = False
    seed: int = 0
    command: str = "deeprotect evaluate"

    def plan(self, policy: Policy) -> tuple[Plan, list[str]]:
        """The plan, and what cannot be in it."""
        methods, left_out = select(self.mechanisms, policy)
        if not methods:
            raise InputError(f"nothing can be measured: {'; '.join(left_out)}")
        setup, split = Setup(seed=self.seed), SplitSpec(self.split, folds=self.folds, repeats=self.repeats)
        if self.quick:
            setup, split = replace(setup, attackers=QUICK_ATTACKERS), replace(split, most=QUICK_WINDOWS)
        epsilons = self.epsilons or (QUICK_EPSILONS if self.quick else EPSILONS)
        return Plan(grid(methods, epsilons), setup, split, self.jobs), left_out

    def policy(self, policy: Policy) -> Policy:
        """With the seed of this evaluation; networks learn less where time matters more."""
        training: dict[str, Any] = {"seed": self.seed}
        if self.quick:
            training["max_epochs"] = min(policy.training.max_epochs or QUICK_EPOCHS, QUICK_EPOCHS)
        return policy.vary(training=training)


def evaluate(
    policy: Policy, table: Any, out: Path, *, request: EvaluateRequest, progress: Progress = lambda _: None
) -> tuple[Results, dict[str, float]]:
    """Writes report.html, results.json, figures and tables into `out`; returns results and where the time went."""
    plan, left_out = request.plan(policy)
    policy = request.policy(policy)
    files.make_folders(out, files.FIGURES, files.TABLES)
    windows = read_windows(table, policy, group=request.group)
    epsilon = plan.nearest(policy.privacy.epsilon)
    found = run(windows, policy, plan, shown_epsilon=epsilon, progress=lambda share: progress(MEASURED * share))
    results = Results(
        rows=found.rows,
        form=_form(table, windows, policy),
        left_out=[*left_out, *found.left_out],
        run=_run(request, plan, windows, found),
    )
    page = layout.lay_out(results, title=_title(policy), lead=aim(policy), excerpt=found.excerpt, epsilon=epsilon)
    files.write(out, results, page)
    progress(1.0)
    return results, found.seconds


def _form(table: Any, windows: LabelledWindows, policy: Policy) -> list[FormCheck]:
    """Of the cheapest protector that the policy could get: form is the pipe's doing, whatever the mechanism."""
    wanted = policy.vary(privacy={"mechanism": "baseline", "guarantee": "ldp", "ldp_ceiling": None, "budget": {}})
    bundle = export(learn(FittedModels(windows), wanted), wanted, windows=windows, results=[])
    mapping = ColumnMap.of(policy)
    with open_source(table, numbers=map(policy.stream.column, policy.schema().names), mapping=mapping) as source:
        beginning = pa.Table.from_batches([next(source.batches)])
    return check_form(beginning, bundle, mapping=mapping)


def _title(policy: Policy) -> str:
    return f"{' and '.join(policy.inferences.useful)}: what a protected stream still tells"


def _run(request: EvaluateRequest, plan: Plan, windows: LabelledWindows, found: RunResult) -> dict[str, Any]:
    return {
        "command": request.command,
        "fingerprint": windows.fingerprint,
        "windows": f"{len(windows)} in the table; {found.train} to train on, {found.test} to test on",
        "split": plan.split.words,
        "quick": request.quick,
        "app": plan.setup.app,
        "attackers": ", ".join(plan.setup.attackers),
        "seed": request.seed,
        "versions": files.versions(),
    }
