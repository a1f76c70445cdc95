"""The measured bundle is the shipped one: its own networks and mechanism, on windows it did not learn from."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import deeprotect
from deeprotect.bundle import Bundle
from deeprotect.errors import InputError
from deeprotect.evaluation.runs.own_table import EvaluateRequest, _as_kept, evaluate, evaluate_bundle
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
    assert "the shipped bundle releases windows" in page
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


def test_new_people_are_read_by_an_app_that_has_not_met_them_either(
    table: pa.Table, policy: Policy, tmp_path: Path
) -> None:
    """Labels that the bundle does not name are attacked on request."""
    wanted = policy.vary(
        inferences={"sensitive": []},
        privacy={"mechanism": "laplace", "guarantee": "ldp", "epsilon": 20.0},
        training={"feature_extractor": "pca"},
    )
    windows = read_windows(table, wanted)
    bundle = export(learn(FittedModels(windows), wanted), wanted, windows=windows, results=[])
    twice = pa.concat_tables([table, _others(table)])
    request = EvaluateRequest(quick=True, sensitive=("person",))
    results = evaluate_bundle(bundle, twice, None, request=request)
    (row,) = results.rows
    assert set(row.sensitive) == {"person"}
    assert results.run["split"].startswith("group: each is whole on one side; attackers learn from the tested groups'")
    assert row.sensitive["person"].raw > 0.9, "attackers have seen the tested people before"
    assert len(row.useful["activity"].by_person) == 2
    few = evaluate_bundle(bundle, _of_two(twice), None, request=request)
    assert few.run["split"].startswith("time inside each recording"), "two people cannot be set apart from others"


def _others(table: pa.Table) -> pa.Table:
    for name in ("person", "recording"):
        renamed = pa.array([f"{each} too" for each in table[name].to_pylist()])
        table = table.set_column(table.column_names.index(name), name, renamed)
    shifted = pa.array(np.clip(table["rest"].to_numpy() + 0.25, -1, 1))
    return table.set_column(table.column_names.index("rest"), "rest", shifted)


def _of_two(table: pa.Table) -> pa.Table:
    return table.filter(pc.is_in(table["person"], pa.array(["ann", "bob"])))


def test_a_promise_about_named_labels_is_not_stretched_to_others(policy: Policy) -> None:
    erased = policy.vary(privacy={"guarantee": "rldp", "mechanism": "channel"})
    event = SimpleNamespace(policy_guarantee="rldp", epsilon=5.0)
    bundle = SimpleNamespace(policy=erased, mechanism=SimpleNamespace(name="channel", event=event))
    assert _as_kept(bundle, ["person"]) == erased
    with pytest.raises(InputError, match="`sensitive`: the bundle erases directions of “person”"):
        _as_kept(bundle, ["place"])


def test_sensitive_labels_of_a_policy_are_its_own(policy: Policy, table: pa.Table) -> None:
    with pytest.raises(InputError, match="`sensitive` is for `bundle`"):
        deeprotect.evaluate(policy, table, sensitive="person")
