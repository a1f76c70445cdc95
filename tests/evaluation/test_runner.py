"""Cells on folds, in this process and in others."""

from dataclasses import replace

import numpy as np
import pytest

from deeprotect.attack.split_spec import SplitSpec
from deeprotect.errors import TableError
from deeprotect.evaluation.evaluator import Evaluator, Setup
from deeprotect.evaluation.methods import ERASED, FEATURES, Method, Setting, grid
from deeprotect.evaluation.results import FoldPredictions
from deeprotect.evaluation.runner import (
    EvaluationCell,
    FittedFold,
    Folds,
    Question,
    measure_together,
    prepared,
    prepared_together,
    split_into_tasks,
)
from deeprotect.policy import Policy
from deeprotect.training.labelled_windows import LabelledWindows

METHODS = (
    Method("laplace", "ldp"),
    Method("channel", "rldp"),
    Method(ERASED, "none"),
    Method(FEATURES, "none"),
    Method("channel", "ldp"),
)


def test_methods_that_share_what_is_learnt_share_a_task() -> None:
    tasks = split_into_tasks([Question(grid(METHODS, (1.0,)), where).cells(2)])
    assert [(task.fold, [cell.setting.method.mechanism for _, cell in task.cells]) for task in tasks] == [
        (0, ["channel", ERASED]),
        (1, ["channel", ERASED]),
        (0, ["channel"]),
        (1, ["channel"]),
        (0, ["laplace", FEATURES]),
        (1, ["laplace", FEATURES]),
    ]


def where(fold: FittedFold, cell: EvaluationCell) -> tuple[int, int]:
    return cell.fold, len(fold.test)


def test_values_come_in_the_order_of_settings_and_folds(windows: LabelledWindows, policy: Policy) -> None:
    settings, setup = grid(METHODS, (1.0, 2.0)), Setup(attackers=(), pools=())
    with prepared(windows, policy, split=SplitSpec(folds=2), setup=setup) as runner:
        both, first = runner.measure_all([Question(settings, where), Question(settings, where, folds=1)])
        sizes = [(number, len(fold.test)) for number, fold in enumerate(runner.folds)]
    assert list(both.values) == [EvaluationCell(fold, setting) for setting in settings for fold in (0, 1)]
    assert both.by_setting() == dict.fromkeys(settings, sizes)
    assert first.by_setting() == dict.fromkeys(settings, sizes[:1])


def test_an_error_in_a_process_reaches_the_caller(windows: LabelledWindows, policy: Policy) -> None:
    nobody = np.full(len(windows), None, dtype=object)
    empty = replace(windows, labels={**windows.labels, "person": nobody})
    with (
        pytest.raises(TableError, match="'person'"),
        prepared(empty, policy, split=SplitSpec(folds=2), setup=Setup(attackers=("ridge",)), jobs=2),
    ):
        pytest.fail("the folds cannot be prepared")


def test_settings_that_release_the_same_windows_are_read_once(
    windows: LabelledWindows, policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The policy's own channel, and the one that it is compared with at the same ε."""
    read, reads = Evaluator.read, []
    monkeypatch.setattr(Evaluator, "read", lambda *given, **named: reads.append(1) or read(*given, **named))
    policy = policy.vary(privacy={"guarantee": "ldp", "mechanism": "channel", "epsilon": 2.0})
    both = [Setting(Method("channel", "ldp"), 2.0), Setting.of(policy)]
    setup = Setup(attackers=("ridge",), pools=())
    with prepared(windows, policy.vary(training={"max_epochs": 1}), split=SplitSpec(), setup=setup) as runner:
        first, second = (value for (value,) in runner.measure(Question(both, predictions)).by_setting().values())
    assert first is second
    assert len(reads) == 1


def predictions(fold: FittedFold, cell: EvaluationCell) -> FoldPredictions:
    return fold.predictions(fold.release(cell.setting))


def test_several_runners_are_asked_at_once(windows: LabelledWindows, policy: Policy) -> None:
    settings, setup = grid(METHODS, (1.0,)), Setup(attackers=(), pools=())
    several = [Folds(SplitSpec(folds=2), setup), Folds(SplitSpec(held_out=0.5), setup)]
    with prepared_together(windows, policy, several) as runners:
        found = measure_together([(runner, Question(settings, where)) for runner in runners])
        alone = [runner.measure(Question(settings, where)) for runner in runners]
    assert found == alone
    assert [len(results.values) for results in found] == [2 * len(settings), len(settings)]
