"""Running a plan over folds and processes."""

from dataclasses import replace

import numpy as np
import pytest

from deeprotect.attack.split_spec import Cut
from deeprotect.errors import InputError, TableError
from deeprotect.evaluation.evaluator import Setup
from deeprotect.evaluation.experiment import Experiment
from deeprotect.evaluation.methods import FEATURES, Option
from deeprotect.evaluation.runner import Plan, run
from deeprotect.evaluation.tasks import split
from deeprotect.policy import Policy
from deeprotect.training.dataset import LabelledWindows

PLAN = Plan(
    options=(Option("baseline", "ldp"), Option("laplace", "ldp", minimiser="pca"), Option("downsampling", "none")),
    epsilons=(1.0, 20.0),
    setup=Setup(attackers=("ridge",), pools=(1, 4)),
    cut=Cut(folds=2),
    shown=10.0,
)


def test_the_number_of_processes_does_not_change_the_rows(windows: LabelledWindows, policy: Policy) -> None:
    shares: list[float] = []
    one = run(windows, policy, PLAN, progress=shares.append)
    two = run(windows, policy, replace(PLAN, jobs=2))
    assert one.rows == two.rows
    assert [(row.line, row.epsilon) for row in one.rows] == [
        ("baseline", 1.0),
        ("baseline", 20.0),
        ("laplace pca", 1.0),
        ("laplace pca", 20.0),
        ("downsampling", None),
    ]
    assert one.test == len(windows)
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1.0)
    assert one.seconds["attackers"] > 0


def test_the_windows_to_draw_are_those_of_the_nearest_measured_epsilon(
    windows: LabelledWindows, policy: Policy
) -> None:
    excerpt = run(windows, policy, replace(PLAN, cut=Cut())).excerpt
    assert excerpt.epsilon == 1.0
    assert list(excerpt.released) == ["baseline", "downsampling"]  # classical features are there for their numbers
    assert {released.shape for released in excerpt.released.values()} == {excerpt.windows.shape}


def test_a_mechanism_that_cannot_be_learnt_is_left_out_with_its_reason(
    windows: LabelledWindows, policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = Experiment.release

    def refuse(self: Experiment, option: Option, epsilon: float) -> object:
        if option.mechanism == "baseline" and epsilon == 20.0:
            raise TableError("too few windows; record more")
        return release(self, option, epsilon)

    monkeypatch.setattr(Experiment, "release", refuse)
    found = run(windows, policy, replace(PLAN, cut=Cut()))
    assert found.left_out == ["baseline: too few windows; record more"]
    assert {row.line for row in found.rows} == {"laplace pca", "downsampling"}


def test_options_that_share_what_is_learnt_share_a_task() -> None:
    options = (Option("laplace", "ldp"), Option("subspace", "rldp"), Option(FEATURES, "none"), Option("channel", "ldp"))
    tasks = split(options, (1.0,), folds=2, shown=1.0)
    assert [(task.fold, [option.mechanism for option in task.options]) for task in tasks] == [
        (0, ["channel"]),
        (1, ["channel"]),
        (0, ["laplace", "subspace", FEATURES]),
        (1, ["laplace", "subspace", FEATURES]),
    ]
    assert [task.shown for task in tasks] == [1.0, None, 1.0, None]


@pytest.mark.parametrize("wrong", [{"epsilons": ()}, {"epsilons": (0.0,)}, {"jobs": 0}])
def test_a_wrong_plan_is_refused(wrong: dict) -> None:
    with pytest.raises(InputError):
        replace(PLAN, **wrong)


def test_an_error_in_a_process_reaches_the_caller(windows: LabelledWindows, policy: Policy) -> None:
    nobody = np.full(len(windows), None, dtype=object)
    empty = replace(windows, labels={**windows.labels, "person": nobody})
    with pytest.raises(TableError, match="'person'"):
        run(empty, policy, replace(PLAN, jobs=2))
