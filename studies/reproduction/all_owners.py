"""Every person as the owner of a device in turn, with one coder that tells all of them apart."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from deeprotect.errors import TableError
from deeprotect.evaluation.evaluator import Evaluator
from deeprotect.evaluation.experiment import CellMeasure, Plan, RunResult, row_of
from deeprotect.evaluation.runner import EvaluationCell, FittedFold, Progress, Question, seeded
from deeprotect.policy import Policy
from deeprotect.training.codebook.codebook import LearntCodes, Subclasses, outputs_of, read_targets
from deeprotect.training.fitting.fit import learn
from deeprotect.training.fitting.fitted_models import FittedModels
from deeprotect.training.labelled_windows import LabelledWindows
from studies.reproduction.owners import OTHER, OWNER, against_the_rest

Measured = Sequence[CellMeasure]
"""Results of several settings."""
RUN = 10
"""Neighbouring windows of others that are tested together: an episode."""


def measure_owners(
    windows: LabelledWindows, policy: Policy, plan: Plan, *, person: str, progress: Progress = lambda _: None
) -> RunResult:
    """Rows over all owners; a coder learns who it is, once on each fold, and serves them all.

    Each owner's test is balanced: all of their windows, and as many of others, of everybody.
    """
    base = replace(plan, setup=replace(plan.setup, attackers=plan.setup.attackers[:1], pools=()))
    owners = sorted({str(name) for name in windows.labels[person]})
    with base.prepared(windows, policy.vary(inferences={"useful": [person]})) as runner:
        questions = [
            Question(plan.settings[-1:], partial(_measure, owner=owner, plan=plan, person=person)) for owner in owners
        ]
        results = runner.measure_all(questions, progress=progress)
    measured = [value for each in results for value in each.values.values()]
    left_out = [f"{method.line}: {why}" for each in results for method, why in each.failed]
    asked = owner_policy(policy, alarm=1.0)
    rows = [row_of(setting, [each[place] for each in measured], asked) for place, setting in enumerate(plan.settings)]
    tested = sum(each[0].predictions.windows for each in measured)
    return RunResult(rows, left_out, None, len(runner.folds[0].train), tested, dict(runner.seconds))


def owner_policy(policy: Policy, *, alarm: float) -> Policy:
    """Is it the owner; a false alarm costs `alarm` of what it costs to miss them."""
    costs = {OWNER: {OTHER: {OWNER: alarm}}}
    inferences = {"useful": [OWNER], "sensitive": list(policy.inferences.sensitive)}
    return policy.vary(inferences=inferences, training={"cost_matrix": costs})


def _measure(fold: FittedFold, cell: EvaluationCell, *, owner: str, plan: Plan, person: str) -> Measured:
    """All settings for one owner: what does not depend on them is made once."""
    seed, train = fold.evaluator.setup.seed, _labelled(fold.train, owner, person)
    own = float(np.mean(train.labels[OWNER] == OWNER))
    policy = owner_policy(fold.policy, alarm=own / (1 - own))
    learnt_from, tested = (_balanced(side, owner, person, seed=seed) for side in (fold.train, fold.test))
    evaluator = Evaluator.prepare(learnt_from, tested, policy, setup=replace(plan.setup, seed=seed))
    people = fold.codes(cell.setting)
    models = FittedModels(train, fold.longest, _codes={(): owner_codes(people, train, policy)})
    return [
        CellMeasure(
            evaluator.predictions(seeded(learn(models, setting.policy(policy)), seed, useful=policy.inferences.useful)),
            None,
        )
        for setting in plan.settings
    ]


def owner_codes(people: LearntCodes, windows: LabelledWindows, policy: Policy) -> LearntCodes:
    """Codes of one owner, whose labels the windows carry, by the coder that has learnt from them to tell people apart.

    A coder that is asked for the owner alone would be the same one: it serves them all.
    """
    targets, joint = read_targets(windows, policy)
    subclasses = Subclasses.of(people.targets, targets, policy)
    if subclasses is None:
        raise TableError(f"'{policy.inferences.useful[0]}' is not one person against all others; learn a coder for it")
    outputs = outputs_of(windows, policy, joint, subclasses=subclasses)
    useful = tuple(policy.inferences.useful)
    return LearntCodes(windows, useful, targets, joint, people.coder, people.scores, outputs, subclasses)


def _labelled(side: LabelledWindows, owner: str, person: str) -> LabelledWindows:
    """All windows, with `owner` instead of the name."""
    own = np.where(side.labels[person].astype(str) == owner, OWNER, OTHER).astype(object)
    return replace(side, labels={OWNER: own, **{name: each for name, each in side.labels.items() if name != person}})


def _balanced(side: LabelledWindows, owner: str, person: str, *, seed: int) -> LabelledWindows:
    drawn = against_the_rest(side, person=person, owners=[owner], seed=seed, run=RUN)
    number = side.people[np.flatnonzero(side.labels[person].astype(str) == owner)[0]]
    return replace(drawn, group=np.full(len(drawn), number))
