"""The trial: bundles trained on half of the people each, and what an attacker makes of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import joblib
import numpy as np

from deeprotect.errors import InputError
from deeprotect.policy import Policy
from deeprotect.signals.schema import Floats
from deeprotect.training.fitting.fit import learn
from deeprotect.training.fitting.fitted_models import HELD_OUT, FittedModels
from deeprotect.training.labelled_windows import LabelledWindows
from deeprotect.training.splits import contiguous
from studies.reproduction.membership.exposed import Exposed
from studies.reproduction.membership.guessing import Members, attacks
from studies.reproduction.membership.scores import SCORES, Candidate
from studies.reproduction.membership.success import Success, auc, measure

PRIVACY = {"guarantee": "ldp", "epsilon": 2.0}
SHUFFLES = 100
"""Randomly reassigned memberships, to see what the best of all attacks reaches by chance."""
SETTINGS = ("own", "later")
"""The attacker holds the very windows that would have been trained on, or the person's later ones."""


@dataclass(frozen=True)
class MembershipFinding:
    """All attacks of one setting, the strongest first.

    chance: the mean and the 95 % quantile of the strongest one's AUC when memberships are dealt anew.
    """

    setting: str
    successes: Sequence[Success]
    chance: tuple[float, float]

    def to_json(self) -> dict[str, Any]:
        body = {"setting": self.setting, "strongest_by_chance": list(self.chance)}
        return body | {"attacks": [each.to_json() for each in self.successes]}


def draw_members(people: int, bundles: int, *, seed: int) -> Members:
    """Half of the people for each bundle, drawn anew."""
    if people < 4 or bundles < 4:
        raise InputError(f"{people} people and {bundles} bundles; a membership attack needs at least four of each")
    random = np.random.default_rng(seed)
    return np.stack([random.permutation(np.arange(people) < people // 2) for _ in range(bundles)])


def run(
    windows: LabelledWindows,
    policy: Policy,
    *,
    bundles: int = 10,
    seed: int = 0,
    jobs: int = 1,
    report: Callable[[int], None] = lambda _: None,
) -> list[MembershipFinding]:
    """Train bundles on half of the people each, with the windows that `fit` would take, and attack them."""
    members = draw_members(len(np.unique(windows.people)), bundles, seed=seed)
    scores = np.empty((bundles, len(SETTINGS), len(SCORES), members.shape[1]))
    calls = (joblib.delayed(_scores)(windows, policy, members[place], seed=place) for place in range(bundles))
    parallel = joblib.Parallel(n_jobs=jobs, return_as="generator_unordered")
    for done, (place, found) in enumerate(parallel(calls), start=1):
        scores[place] = found
        report(done)
    return [
        judge(setting, dict(zip(SCORES, scores[:, place].swapaxes(0, 1), strict=True)), members)
        for place, setting in enumerate(SETTINGS)
    ]


def judge(setting: str, scores: dict[str, Floats], members: Members) -> MembershipFinding:
    """Every attack on these scores (bundle, person), and what the strongest would reach by chance."""
    successes = [measure(name, each, members) for name, each in attacks(scores, members).items()]
    random, best = np.random.default_rng(0), []
    for _ in range(SHUFFLES):
        dealt = members[:, random.permutation(members.shape[1])]
        best.append(max(auc(each, dealt) for each in attacks(scores, dealt).values()))
    ordered = sorted(successes, key=lambda success: -success.auc)
    return MembershipFinding(setting, ordered, (float(np.mean(best)), float(np.quantile(best, 0.95))))


def _scores(windows: LabelledWindows, policy: Policy, took_part: Members, *, seed: int) -> tuple[int, Floats]:
    """(setting, score, person) of one bundle."""
    (useful,) = policy.inferences.useful
    earlier, later = (windows[part] for part in contiguous(windows, held_out=HELD_OUT, seed=0))
    everybody = np.unique(windows.people)
    learnt = earlier[np.isin(earlier.people, everybody[took_part])]
    classes = sorted(set(learnt.labels[useful][learnt.labelled(useful)]))
    protection = learn(FittedModels(learnt), policy.vary(training={"seed": seed}))
    bundle = Exposed.of(protection, classes=classes, channels=windows.samples.shape[2])
    return seed, np.array(
        [
            [[score(bundle, each) for each in candidates] for score in SCORES.values()]
            for candidates in (_candidates(side, everybody, useful, classes) for side in (earlier, later))
        ]
    )


def _candidates(windows: LabelledWindows, everybody: Any, useful: str, classes: Sequence[str]) -> list[Candidate]:
    """Everybody's windows of classes that the bundle knows."""
    known = windows[np.isin(windows.labels[useful].astype(str), classes)]
    targets, usual = np.searchsorted(classes, known.labels[useful].astype(str)), known.flat.mean(axis=0)
    return [Candidate(known.flat[here], targets[here], usual) for here in (known.people == who for who in everybody)]
