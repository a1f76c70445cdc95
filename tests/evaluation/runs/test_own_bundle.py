"""What is shipped is what is measured: the bundle's own networks and mechanism, on windows it did not learn from."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from deeprotect.bundle import Bundle
from deeprotect.errors import InputError
from deeprotect.evaluation.runs.own_table import EvaluateRequest, evaluate, evaluate_bundle
from deeprotect.policy import Policy
from deeprotect.training.fitting import fit as fitting
from deeprotect.training.fitting.fit import export, learn
from deeprotect.training.fitting.fitted_models import FittedModels
from deeprotect.training.labelled_windows import read_windows

REQUEST = EvaluateRequest(quick=True)


@pytest.fixture(scope="module")
def shipped(table: pa.Table, policy: Policy) -> Bundle:
    wanted = policy.vary(
        privacy={"mechanism": "laplace", "guarantee": "ldp", "epsilon": 20.0}, training={"feature_extractor": "pca"}
    )
    windows = read_windows(table, wanted)
    return export(learn(FittedModels(windows), wanted), wanted, windows=windows, results=[])


@pytest.fixture(scope="module")
def other(table: pa.Table) -> pa.Table:
    noise = np.random.default_rng(1).normal(0, 0.02, table.num_rows)
    return table.set_column(table.column_names.index("rest"), "rest", pa.array(table["rest"].to_numpy() + noise))


@pytest.mark.long
def test_the_row_is_the_bundles_own(shipped: Bundle, other: pa.Table, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(fitting, "learn", lambda *_: pytest.fail("a protector was learnt"))
    results = evaluate_bundle(shipped, other, tmp_path / "out", request=REQUEST)
    (row,) = results.rows
    assert (row.mechanism, row.guarantee, row.epsilon, row.feature_extractor) == ("laplace", "ldp", 20.0, "PCA")
    assert row.useful["activity"].app > row.useful["activity"].chance + 0.2
    assert set(row.sensitive["person"].attackers) == {"ridge", "extra_trees"}
    assert all(check.holds for check in results.form)
    page = (tmp_path / "out" / "report.html").read_text()
    assert "a bundle as it is shipped" in page
    assert shipped.manifest.training.fingerprint[:16] in page
    assert "would not be noticed" in page
    assert json.loads((tmp_path / "out" / "results.json").read_text())["run"]["quick"] is True


def test_the_windows_that_it_was_trained_on_are_refused(shipped: Bundle, table: pa.Table, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="held back from training"):
        evaluate_bundle(shipped, table, tmp_path / "out", request=REQUEST)
    assert not (tmp_path / "out").exists()


@pytest.mark.long
@pytest.mark.parametrize("show_raw", [False, True])
def test_the_page_says_whether_it_holds_raw_samples(
    table: pa.Table, policy: Policy, tmp_path: Path, show_raw: bool
) -> None:
    request = EvaluateRequest(mechanisms=("baseline",), epsilons=(5.0,), quick=True, show_raw=show_raw)
    results = evaluate(policy, table, tmp_path, request=request)
    page = (tmp_path / "report.html").read_text()
    assert ("Raw samples of one recording of the table" in page) == show_raw
    assert ("No raw sample: the signals drawn are the mean of 9 recordings" in page) == (not show_raw)
    assert results.run["drawn"] == ("one recording of the table" if show_raw else "the mean of 9 recordings")
    assert "This was a quick run (--quick)" in page
    assert "quick run</p>" in page


@pytest.mark.parametrize(
    "wrong", [{"epsilons": (float("nan"),)}, {"epsilons": (float("inf"),)}, {"epsilons": (1e9,)}, {"seed": -1}]
)
def test_nonsense_is_refused_before_the_work(wrong: dict) -> None:
    with pytest.raises(InputError):
        EvaluateRequest(**wrong)
