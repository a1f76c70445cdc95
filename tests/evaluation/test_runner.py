"""Cells on folds, in this process and in others."""

from dataclasses import replace

import numpy as np
import pytest

from deeprotect.attack.split_spec import SplitSpec
from deeprotect.errors import TableError
from deeprotect.evaluation.evaluator import Setup
from deeprotect.evaluation.methods import FEATURES, Method, grid
from deeprotect.evaluation.runner import EvaluationCell, FittedFold, Question, prepared, split_into_tasks
from deeprotect.policy import Policy
from deeprotect.training.labelled_windows import LabelledWindows

METHODS = (Method("laplace", "ldp"), Method("subspace", "rldp"), Method(FEATURES, "none"), Method("channel", "ldp"))


def test_methods_that_share_what_is_learnt_share_a_task() -> None:
    tasks = split_into_tasks([Question(grid(METHODS, (1.0,)), where).cells(2)])
    assert [(task.fold, [cell.setting.method.mechanism for _, cell in task.cells]) for task in tasks] == [
        (0, ["channel"]),
        (1, ["channel"]),
        (0, ["laplace", "subspace", FEATURES]),
        (1, ["laplace", "subspace", FEATURES]),
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
