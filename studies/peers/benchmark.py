"""The field's own benchmark: peers and ours on MotionSense, with one split and the same apps and attackers."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from deeprotect.attack.models import ConvolutionalClassifier
from deeprotect.attack.own_models import own_models
from deeprotect.attack.split_spec import OWN, SplitSpec
from deeprotect.errors import InputError
from deeprotect.evaluation.evaluator import Setup
from deeprotect.evaluation.experiment import Plan, RunResult, run
from deeprotect.evaluation.methods import Setting, grid
from deeprotect.evaluation.results import Row, Sensitive, Whole
from deeprotect.evaluation.runner import Progress
from deeprotect.evaluation.workers import Jobs
from deeprotect.policy import Policy
from deeprotect.signals.schema import Floats
from deeprotect.training.labelled_windows import LabelledWindows
from studies.peers import PEERS
from studies.peers.comparison import release, select

SENSITIVE = ("gender", "person")
NETWORK = "network"
ATTACKERS = ("ridge", "svm", "extra_trees", "cnn")


class Network(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """An app that is a convolutional network, as in the field's papers; it has never seen a coder of ours."""

    def __init__(self, channels: int = 1, random_state: int = 0) -> None:
        self.channels = channels
        self.random_state = random_state

    def fit(self, windows: Floats, labels: Any) -> Self:
        self.network_ = ConvolutionalClassifier(self.channels, seed=self.random_state).fit(windows, labels)
        self.classes_ = self.network_.classes_
        return self

    def predict(self, windows: Floats) -> Any:
        return self.classes_[self.predict_proba(windows).argmax(axis=1)]

    def predict_proba(self, windows: Floats) -> Floats:
        return self.network_.predict_proba(windows)


def compare_on(
    windows: LabelledWindows,
    policy: Policy,
    split: SplitSpec,
    draws: Sequence[Setting],
    *,
    names: Sequence[str] = (),
    jobs: Jobs = 1,
    seed: int = 0,
    progress: Progress = lambda _: None,
) -> RunResult:
    """A row for each of our draws, then one for each peer; attackers who pool have all tested windows of a person."""
    if not split.tested:
        raise InputError("this study does not name the recordings to test on; use one on motionsense")
    windows, split = by_person(windows, split)
    schema, channels = policy.schema(), len(policy.stream.channels)
    given: Any = {"windows": windows, "schema": schema, "inferences": policy.inferences.useful}
    network = own_models({NETWORK: Network(channels, seed)}, "app", **given)
    setup = Setup(attackers=ATTACKERS, retrained="extra_trees", pools=(4,), seed=seed, own_apps=network)
    peers = select(names) if names else [each for each in PEERS.values() if each.installed()]
    settings = [*draws, *grid([each.method for each in peers], (policy.privacy.epsilon,))]
    return run(windows, policy, Plan(settings, setup, split, jobs), release_of=release, progress=progress)


def by_person(windows: LabelledWindows, split: SplitSpec) -> tuple[LabelledWindows, SplitSpec]:
    """The same split, with the windows of a person next to each other and taken for one recording.

    Whatever follows in a recording still does; the next recording of the same person begins at position 0.
    """
    windows = windows[np.argsort(windows.people, kind="stable")]
    tested = np.isin(windows.recording, split.tested)
    sides = ((~tested, tested),)
    return replace(windows, recording=windows.people), SplitSpec(OWN, sides=sides, told="the field's split by trial")


WORDS = {"none": "none", "ldp": "ε = {:g} (LDP)"}
COLUMNS = (
    "released",
    "promise",
    "activity: forest",
    "network",
    "retrained forest",
    "gender: one window",
    "whole person",
    "who of 24: one window",
    "whole person",
    "at most, one window",
)
"""Apps are trained on raw windows but for the retrained one; attackers learn from released ones."""


def lines(rows: Sequence[Row], useful: str) -> Iterator[str]:
    """The table of docs/results.md: raw windows, each release, and guessing; shares of windows or of people."""
    first = rows[0]
    yield _line(COLUMNS)
    yield _line("---" for _ in COLUMNS)
    app, hidden = first.useful[useful], [first.sensitive[name] for name in SENSITIVE]
    raw = [share for each in hidden for share in (each.raw, whole_of(each).raw)]
    yield _line(["raw", "–", *_shares(app.clean, app.apps[NETWORK].clean, None, *raw, None)])
    for row in rows:
        yield _line([name_of(row), WORDS[row.guarantee].format(row.epsilon), *_shares(*_figures(row, useful))])
    blind = [share for each in hidden for share in (each.floor, max(whole_of(each).from_useful, whole_of(each).chance))]
    yield _line(["guessing", "–", *_shares(app.chance, app.chance, None, *blind, None)])


def _figures(row: Row, useful: str) -> Iterator[float | None]:
    app, hidden = row.useful[useful], [row.sensitive[name] for name in SENSITIVE]
    yield from (app.app, app.apps[NETWORK].app, app.retrained)
    for each in hidden:
        yield from (each.adaptive, whole_of(each).released)
    yield hidden[-1].at_most.get(1)


def whole_of(each: Sensitive) -> Whole:
    """An attacker with all tested windows of a person."""
    assert each.whole is not None  # attackers pool
    return each.whole


def name_of(row: Row) -> str:
    """The peer's name, or how often ours draws."""
    if row.seconds_per_draw is None:
        return row.mechanism
    return f"ours, a draw every {row.seconds_per_draw:g} s"


def _shares(*values: float | None) -> list[str]:
    return ["–" if value is None else f"{value:.3f}" for value in values]


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
