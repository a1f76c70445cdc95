"""Evaluate a bundle as it is shipped: its own networks and mechanism, on windows that it was not trained on."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from deeprotect.bundle import Bundle
from deeprotect.errors import InputError, quoted_all
from deeprotect.evaluation.evaluator import FoldRelease
from deeprotect.evaluation.experiment import RunResult, run
from deeprotect.evaluation.fitted_fold import FittedFold, seeded
from deeprotect.evaluation.form import check_form
from deeprotect.evaluation.methods import Method
from deeprotect.evaluation.report import layout
from deeprotect.evaluation.report import report_files as files
from deeprotect.evaluation.report.page import Page
from deeprotect.evaluation.report.summary import aim
from deeprotect.evaluation.results import Results, Row
from deeprotect.evaluation.runner import Progress
from deeprotect.evaluation.runs.own_table import MEASURED, EvaluateRequest, described
from deeprotect.evaluation.settings import Setting
from deeprotect.policy import Policy
from deeprotect.tables.column_map import ColumnMap
from deeprotect.tables.output_checks import refuse_unwritable_folder
from deeprotect.training.fitting.trained import TrainedProtector
from deeprotect.training.labelled_windows import LabelledWindows

OTHER_WINDOWS = (
    "the fingerprint of these windows and their labels differs from the one that the bundle names; a part of the "
    "training table, or the same windows in another order, would not be noticed"
)


@dataclass(frozen=True)
class _Shipped:
    """The bundle's own release, with evaluation noise that repeats; nothing is learnt on the fold."""

    bundle: Bundle

    def __call__(self, fold: FittedFold, _: Setting) -> FoldRelease:
        bundle = self.bundle
        protector = TrainedProtector(bundle.mechanism, bundle.encoder, bundle.decoder, {}, bundle.hold)
        return seeded(protector, fold.evaluator.setup.seed)


def evaluate_bundle(
    bundle: Bundle, table: Any, out: Path, *, request: EvaluateRequest, progress: Progress = lambda _: None
) -> tuple[Results, dict[str, float]]:
    """Writes the same files as `evaluate` does, on one row: what is shipped."""
    refuse_unwritable_folder(out)
    policy, event = _as_kept(bundle), bundle.mechanism.event
    windows = request.read(table, policy)
    _refuse_training_windows(windows, bundle)
    plan = request.plan_of([Setting(Method(bundle.mechanism.name, event.guarantee), event.epsilon)])
    shares = lambda share: progress(MEASURED * share)  # noqa: E731
    found = run(windows, policy, plan, choose=request.choose, release_of=_Shipped(bundle), progress=shares)
    results = Results(
        rows=[_named(row, bundle) for row in found.rows],
        form=check_form(request.beginning(table, policy), bundle, mapping=ColumnMap.of(policy, request.mapped)),
        left_out=found.left_out,
        run=described(request, plan, windows, found) | _origin(bundle),
    )
    files.write(out, results, _page(results, policy, found, event.epsilon))
    progress(1.0)
    return results, found.seconds


def _page(results: Results, policy: Policy, found: RunResult, epsilon: float) -> Page:
    title = f"{quoted_all(policy.inferences.useful)}: what the shipped protector still tells"
    lead = aim(policy, below="Below, a bundle as it is shipped releases windows; an app reads them, and attackers try.")
    return layout.lay_out(results, policy, title=title, lead=lead, excerpt=found.excerpt, epsilon=epsilon)


def _as_kept(bundle: Bundle) -> Policy:
    """The policy with the promise that the mechanism keeps, which may be a stronger one than was asked for."""
    event, privacy = bundle.mechanism.event, bundle.policy.privacy
    named = {"ldp_ceiling": privacy.ldp_ceiling, "given": privacy.given}
    kept = {"guarantee": event.guarantee, "epsilon": event.epsilon, "mechanism": bundle.mechanism.name}
    return bundle.policy.vary(privacy=kept | (named if event.guarantee == "named" else dict.fromkeys(named)))


def _refuse_training_windows(windows: LabelledWindows, bundle: Bundle) -> None:
    if windows.fingerprint == bundle.manifest.training.fingerprint:
        raise InputError(
            "--data is the table that the bundle was trained on, and would flatter it; give recordings that were held "
            "back from training"
        )


def _named(row: Row, bundle: Bundle) -> Row:
    return replace(row, minimiser=bundle.manifest.minimiser.name)


def _origin(bundle: Bundle) -> dict[str, Any]:
    training = bundle.manifest.training
    return {
        "bundle": f"made {bundle.manifest.created}, from windows with fingerprint {training.fingerprint[:16]}…",
        "other_windows": OTHER_WINDOWS,
    }
