"""Experiments: a plan to rows, on a small stream."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from tests.evaluation.conftest import SETUP

from deeprotect.attack.split_spec import SplitSpec
from deeprotect.errors import InputError, TableError
from deeprotect.evaluation.evaluator import FoldRelease, Setup
from deeprotect.evaluation.excerpt import average
from deeprotect.evaluation.experiment import Plan, RunResult, measure_rows, run, strangers_rows
from deeprotect.evaluation.methods import FEATURES, MAIN_METHODS, Method, Setting, grid, is_ldp
from deeprotect.evaluation.results import Row
from deeprotect.evaluation.runner import FittedFold, Runner
from deeprotect.policy import Policy
from deeprotect.training.feature_extractors.feature_extractor import FeatureExtractor
from deeprotect.training.labelled_windows import LabelledWindows

METHODS = (Method("baseline", "ldp"), Method("laplace", "ldp"), Method(FEATURES, "none"))
PLAN = Plan(grid(METHODS, (1.0, 20.0)), Setup(attackers=("ridge",), pools=(1, 4)), SplitSpec(folds=2))


@pytest.fixture(scope="module")
def fits() -> Iterator[list[str]]:
    """Which feature extractors were fitted, in order."""
    fit, fits = FeatureExtractor.fit, []

    def counted(self: FeatureExtractor, X: Any, y: Any = None) -> FeatureExtractor:
        fits.append(type(self).__name__)
        return fit(self, X, y)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FeatureExtractor, "fit", counted)
        yield fits


def rows(runner: Runner, *settings: Setting) -> list[Row]:
    return measure_rows(runner, Plan(settings)).rows


@pytest.mark.long
def test_every_mechanism_gives_a_row_and_feature_extractors_are_fitted_once(runner: Runner, fits: list[str]) -> None:
    found = rows(runner, *grid(MAIN_METHODS, (1.0, 50.0)))
    assert [(row.mechanism, row.guarantee, row.epsilon) for row in found] == [
        (method.mechanism, method.guarantee, epsilon) for method in MAIN_METHODS for epsilon in (1.0, 50.0)
    ]
    assert sorted(fits) == ["Autoencoder", "PaperAutoencoder"]
    for row in found:
        assert (row.sensitive["person"].limit is not None) is is_ldp(row.mechanism, row.guarantee)
        assert row.sensitive["person"].raw > 0.9
        assert row.promise
    assert {row.feature_extractor for row in found if row.mechanism == "baseline"} == {"none"}


def test_the_same_seed_gives_the_same_row(windows: LabelledWindows, policy: Policy) -> None:
    plan = Plan(grid([Method("laplace", "ldp")], [5.0]), SETUP)
    first, second = (run(windows, policy, plan).rows for _ in range(2))
    assert first == second


def test_an_unlimited_epsilon_releases_what_the_feature_extractor_releases(runner: Runner) -> None:
    row, reference = rows(runner, *grid([Method("laplace", "ldp"), Method(FEATURES, "none")], [1e5]))
    # The clip box leaves out the farthest hundredth of the features: a small difference remains.
    assert row.useful["activity"].app == pytest.approx(reference.useful["activity"].app, abs=0.1)
    assert (reference.epsilon, reference.useful["activity"].limit) == (None, None)


@pytest.mark.long
def test_the_number_of_processes_does_not_change_the_rows(windows: LabelledWindows, policy: Policy) -> None:
    shares: list[float] = []
    one = run(windows, policy, PLAN, progress=shares.append)
    two = run(windows, policy, replace(PLAN, jobs=2))
    assert one.rows == two.rows
    assert [(row.line, row.epsilon) for row in one.rows] == [
        ("baseline", 1.0),
        ("baseline", 20.0),
        ("laplace", 1.0),
        ("laplace", 20.0),
        ("features", None),
    ]
    assert one.test == len(windows)
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1.0)
    assert one.seconds["attackers"] > 0


def test_the_windows_to_draw_are_those_of_the_nearest_measured_epsilon(
    windows: LabelledWindows, policy: Policy
) -> None:
    assert PLAN.nearest(10.0) == 1.0
    excerpt = run(windows, policy, replace(PLAN, split=SplitSpec()), choose=average).excerpt
    assert excerpt is not None
    assert excerpt.epsilon == 1.0
    assert list(excerpt.released) == ["baseline", "laplace", "features"]
    assert {released.shape for released in excerpt.released.values()} == {excerpt.windows.shape}


def test_a_mechanism_that_cannot_be_learnt_is_left_out_with_its_reason(
    windows: LabelledWindows, policy: Policy
) -> None:
    def refuse(fold: FittedFold, setting: Setting) -> FoldRelease:
        if setting.method.mechanism == "baseline" and setting.epsilon == 20.0:
            raise TableError("too few windows; record more")
        return fold.release(setting)

    found = run(windows, policy, replace(PLAN, split=SplitSpec()), release_of=refuse)
    assert found.left_out == ["baseline: too few windows; record more"]
    assert {row.line for row in found.rows} == {"laplace", "features"}


@pytest.mark.parametrize("epsilons", [(), (0.0,)])
def test_an_epsilon_that_is_none_is_refused(epsilons: tuple[float, ...]) -> None:
    with pytest.raises(InputError):
        grid(METHODS, epsilons)


@pytest.mark.parametrize("wrong", [{"settings": ()}, {"jobs": 0}])
def test_a_wrong_plan_is_refused(wrong: dict) -> None:
    with pytest.raises(InputError):
        replace(PLAN, **wrong)


def test_people_on_whom_nothing_could_be_measured_are_left_out_with_the_reason() -> None:
    """Folds of new people are the smallest; the rest of the report stands without them."""
    nothing = RunResult([], ["auto: too alike to mix"], None, 0, 0, {})
    rows, left_out = strangers_rows({"met": nothing, "strangers": nothing})
    assert rows == {}
    assert left_out == ["new people: auto: too alike to mix"] * 2
