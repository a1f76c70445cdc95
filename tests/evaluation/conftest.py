"""A small made-up stream: what is done shows in the swing of one channel, who does it in the rest of the other."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest

from deeprotect.attack.split_spec import SplitSpec
from deeprotect.evaluation.evaluator import Evaluator, Setup
from deeprotect.evaluation.runner import Runner, prepared
from deeprotect.policy import Policy
from deeprotect.training.fitting import fitted_models as fitted
from deeprotect.training.labelled_windows import LabelledWindows, read_windows

ACTIVITIES = {"sit": 0.05, "walk": 0.3, "run": 0.7}
PEOPLE = {"ann": -0.5, "bob": 0.0, "eve": 0.5}
ROWS = 200  # of each recording
SETUP = Setup(attackers=("ridge", "random_forest"), pools=(1, 4))


@pytest.fixture(scope="session")
def policy() -> Policy:
    channels = {name: {"unit": "g", "range": [-1.0, 1.0]} for name in ("swing", "rest")}
    return Policy.from_tables(
        {
            "version": 1,
            "stream": {"rate_hz": 10.0, "window": 5, "channels": channels},
            "inferences": {"useful": ["activity"], "sensitive": ["person"]},
            "privacy": {"epsilon": 5.0},
            "training": {"features": 3, "max_epochs": 5},
        }
    )


@pytest.fixture(scope="session")
def table() -> pa.Table:
    rng = np.random.default_rng(0)
    pieces = []
    for person, rest in PEOPLE.items():
        for activity, swing in ACTIVITIES.items():
            time = np.arange(ROWS) / 10
            columns = {
                "recording": np.repeat(f"{person} {activity}", ROWS),
                "time": time,
                "swing": swing * np.sin(8 * time) + rng.normal(0, 0.05, ROWS),
                "rest": rest + rng.normal(0, 0.1, ROWS),
                "activity": np.repeat(activity, ROWS),
                "person": np.repeat(person, ROWS),
            }
            pieces.append(pa.table(columns))
    return pa.concat_tables(pieces)


@pytest.fixture(scope="session")
def windows(table: pa.Table, policy: Policy) -> LabelledWindows:
    return read_windows(table, policy)


def one_fold(windows: LabelledWindows, policy: Policy, setup: Setup) -> Evaluator:
    (fold,) = SplitSpec().make_folds(windows, seed=setup.seed)
    return Evaluator.prepare(windows[fold.train], windows[fold.test], policy, setup=setup)


@pytest.fixture(scope="session")
def evaluator(windows: LabelledWindows, policy: Policy) -> Evaluator:
    return one_fold(windows, policy, SETUP)


@pytest.fixture(scope="module")
def runner(windows: LabelledWindows, policy: Policy) -> Iterator[Runner]:
    """One fold, in this process; the paper's autoencoder takes few steps."""
    with pytest.MonkeyPatch.context() as patch, prepared(windows, policy, split=SplitSpec(), setup=SETUP) as runner:
        patch.setattr(fitted, "STEPS", 50)
        yield runner
