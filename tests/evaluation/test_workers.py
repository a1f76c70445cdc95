"""Cells on a Dask cluster: the same values as here, and one line where there is none."""

import pytest

from deeprotect.attack.split_spec import SplitSpec
from deeprotect.errors import InputError
from deeprotect.evaluation.evaluator import Setup
from deeprotect.evaluation.experiment import Plan, run
from deeprotect.evaluation.methods import Method, grid
from deeprotect.evaluation.workers import workers

distributed = pytest.importorskip("distributed", reason="needs deeprotect[dask]")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")


@pytest.mark.long
def test_a_cluster_measures_what_this_process_does(windows, policy) -> None:
    settings = grid((Method("laplace", "ldp"),), (2.0,))
    setup, split = Setup(attackers=("ridge",), pools=()), SplitSpec(folds=2)
    here = run(windows, policy, Plan(settings, setup, split))
    local = distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None)
    with local as cluster:
        there = run(windows, policy, Plan(settings, setup, split, cluster.scheduler_address))
    assert repr(there.rows) == repr(here.rows)


def test_a_scheduler_that_does_not_answer_is_one_line() -> None:
    with (
        pytest.raises(InputError, match="no Dask scheduler answers at tcp:"),
        workers("tcp://127.0.0.1:9"),
    ):
        pytest.fail("there is none")
