"""Peers beside the policy's own channel: the same folds, apps and attackers."""

from collections.abc import Sequence

from deeprotect.errors import InputError
from deeprotect.evaluation.evaluator import FoldRelease, ReleasedRows
from deeprotect.evaluation.experiment import RunResult, own_setting, run
from deeprotect.evaluation.methods import Setting, grid
from deeprotect.evaluation.runner import FittedFold, Progress
from deeprotect.evaluation.runs.own_table import EvaluateRequest
from deeprotect.policy import Policy
from deeprotect.training.labelled_windows import LabelledWindows
from studies.peers import PEERS, Peer


def compare(
    windows: LabelledWindows, policy: Policy, request: EvaluateRequest, *, progress: Progress = lambda _: None
) -> RunResult:
    """A row for the policy's own promise, then one for each peer that the request names, or that there is."""
    peers = select(request.mechanisms)
    epsilons = request.epsilons or (policy.privacy.epsilon,)
    settings = [own_setting(policy), *grid([each.method for each in peers], epsilons)]
    return run(windows, policy, request.plan_of(settings), release_of=release, progress=progress)


def select(names: Sequence[str]) -> list[Peer]:
    """Peers by name; without names, those that are installed and whose results repeat."""
    for name in names:
        if name not in PEERS:
            raise InputError(f"peer '{name}' is unknown; use one of: {', '.join(PEERS)}")
        if not PEERS[name].installed():
            raise InputError(f"{name} is not installed; install deeprotect[studies]")
    return [PEERS[name] for name in names] or [each for each in PEERS.values() if each.installed() and each.seeded]


def release(fold: FittedFold, setting: Setting) -> FoldRelease:
    """The release of a peer, or of the fold's own protector."""
    if not setting.method.peer:
        return fold.release(setting)
    with fold.stopwatch(f"learning {setting.method.mechanism}"):
        fitted = PEERS[setting.method.mechanism].fit(fold.train, fold.policy, setting.epsilon)
    return FoldRelease(lambda private, _: ReleasedRows(fitted(private)))
