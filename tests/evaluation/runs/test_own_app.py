"""An app, an attacker, a method and a split of one's own, beside the built-in ones."""

import csv

import numpy as np
import pyarrow as pa
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GroupKFold

import deeprotect
from deeprotect.attack.split_spec import split_of_column, split_of_masks
from deeprotect.cli.printing import results_table
from deeprotect.errors import InputError
from deeprotect.evaluation.runs.own_table import EvaluateRequest
from deeprotect.policy import Policy
from deeprotect.training.labelled_windows import ALL, NONE, SOME, read_windows


class Flattens(TransformerMixin, BaseEstimator):
    """Releases the mean of the second channel alone."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        samples = X.reshape(len(X), -1, 2).copy()
        samples[:, :, 0] = 0
        return samples.reshape(X.shape)


@pytest.fixture(scope="module")
def evaluated(table: pa.Table, policy: Policy, tmp_path_factory: pytest.TempPathFactory):
    out = tmp_path_factory.mktemp("own") / "out"
    results = deeprotect.evaluate(
        policy,
        table,
        out=out,
        apps={"mine": ExtraTreesClassifier(20, random_state=0)},
        attackers={"linear": RidgeClassifier(alpha=10)},
        methods={"flat": Flattens()},
        mechanism="baseline",
        epsilon=50.0,
        quick=True,
        jobs=1,
    )
    return results, out


def test_an_app_stands_beside_ours_on_raw_released_and_retrained(evaluated):
    results, out = evaluated
    baseline, flat = results.rows
    mine = baseline.useful["activity"].apps["mine"]
    assert mine.clean > 0.9
    assert mine.app_ci[0] <= mine.app <= mine.app_ci[1]
    assert flat.useful["activity"].apps["mine"].app < 0.7, "the swing is gone"
    lines = list(csv.DictReader((out / "tables/apps.csv").read_text().splitlines()))
    assert [(line["mechanism"], line["app"]) for line in lines] == [("baseline", "mine"), ("flat", "mine")]
    assert float(lines[0]["clean"]) == pytest.approx(mine.clean, abs=1e-4)
    assert "Your app “mine”" in (out / "report.html").read_text()


def test_an_attacker_counts_like_ours(evaluated):
    results, _ = evaluated
    for row in results.rows:
        assert set(row.sensitive["person"].attackers) == {"ridge", "extra_trees", "linear"}


def test_a_method_has_a_row_that_promises_nothing(evaluated):
    results, _ = evaluated
    row = results.rows[-1]
    assert (row.mechanism, row.guarantee, row.epsilon) == ("flat", "none", None)
    assert row.sensitive["person"].adaptive > 0.9, "people are told apart by what it leaves"
    assert results.run["app"] == "extra_trees, mine"


def test_whole_recordings_stand_beside_single_windows(evaluated, capsys):
    results, out = evaluated
    one = results.rows[0].sensitive["person"]
    assert one.whole.recordings == 9
    assert one.whole.released_ci[0] <= one.whole.released <= one.whole.released_ci[1]
    assert one.whole.raw >= one.raw
    results_table(results.to_json())
    shown = " ".join(capsys.readouterr().out.split())
    assert f"from all tested windows of a recording (9 of them): released {one.whole.released:.3f}" in shown
    assert "your app “mine” on “activity”, baseline, ε = 50: raw" in shown
    assert "From all tested windows of a recording together (9 of them)" in (out / "report.html").read_text()
    line = next(csv.DictReader((out / "tables/results.csv").read_text().splitlines()[:1] + _second(out)))
    assert float(line["recording"]) == pytest.approx(one.whole.released, abs=1e-4)


def _second(out):
    return (out / "tables/results.csv").read_text().splitlines()[2:]


def test_results_are_a_frame_and_short_in_a_notebook(evaluated):
    results, out = evaluated
    frame = results.frame()
    assert list(frame[["mechanism", "role", "inference"]].itertuples(index=False, name=None)) == [
        ("baseline", "useful", "activity"),
        ("baseline", "sensitive", "person"),
        ("flat", "useful", "activity"),
        ("flat", "sensitive", "person"),
    ]
    assert list(frame.columns) == next(csv.reader((out / "tables/results.csv").read_text().splitlines()))
    assert repr(results).startswith("<2 rows; baseline ε = 50: activity 0.")
    assert len(repr(results)) < 200


def test_windows_are_those_that_evaluate_takes(table: pa.Table, policy: Policy):
    labelled, taken = deeprotect.windows(policy, table), read_windows(table, policy)
    assert labelled.X.shape == (len(taken), 10)
    assert labelled.y.tolist() == taken.labels["activity"].tolist()
    assert labelled.groups.tolist() == taken.recording.tolist()
    assert set(labelled.labels) == {"activity", "person"}
    np.testing.assert_allclose(labelled.X[0].reshape(5, 2)[:, 0], table["swing"].to_numpy()[:5])
    assert repr(labelled) == f"<{len(taken)} windows of 10 values; labels: activity, person>"


def test_splits_of_scikit_learn_are_taken(windows, table: pa.Table, policy: Policy):
    labelled = deeprotect.windows(policy, table)
    pairs = list(GroupKFold(3).split(labelled.X, labelled.y, labelled.groups))
    folds = split_of_masks(windows, pairs).make_folds(windows, seed=0)
    assert [(fold.train.tolist(), fold.test.tolist()) for fold in folds] == [
        (train.tolist(), test.tolist()) for train, test in pairs
    ]
    first = np.arange(len(windows)) < 100
    (fold,) = split_of_masks(windows, (first, ~first)).make_folds(windows, seed=0)
    assert (fold.train.max(), fold.test.min()) == (99, 100)


@pytest.mark.parametrize(
    "split",
    [
        5 * [0],
        [],
        [np.zeros(3, dtype=bool), np.ones(3, dtype=bool)],
        (np.array([0, 1]), np.array([1, 2])),
        (np.array([0]), np.array([], dtype=np.int64)),
        (np.array([0]), np.array([10_000])),
        (np.array([0.5]), np.array([1.5])),
        ([0], [1], [2]),
    ],
)
def test_windows_that_are_no_split_are_refused(windows, split):
    with pytest.raises(InputError, match="`split`: "):
        split_of_masks(windows, split)


def test_a_column_says_what_is_tested(table: pa.Table, policy: Policy):
    rows = table.num_rows
    sides = pa.array([None if row < 100 else "b" if row < 202 else "c" for row in range(rows)])
    marked = table.append_column("side", sides)
    windows = read_windows(marked, policy, tested=("side", ["b"]))
    assert windows.tested[:20].tolist() == 20 * [NONE]
    assert windows.tested[20:40].tolist() == 20 * [ALL]
    assert windows.tested[40] == SOME
    assert windows.fingerprint == read_windows(table, policy).fingerprint
    (fold,) = split_of_column(windows, "side", ["b"]).make_folds(windows, seed=0)
    assert fold.test.tolist() == list(range(20, 40))
    assert fold.train.tolist() == [*range(19), *range(41, len(windows))], "neighbours and what is mixed are left out"
    with pytest.raises(InputError, match=r'split=\{"side": "d"\}: no whole window has that'):
        split_of_column(read_windows(marked, policy, tested=("side", ["d"])), "side", ["d"])


@pytest.mark.parametrize("wrong", [{"split": "side="}, {"split": "=b"}, {"split": {"a": 1, "b": 2}}, {"split": {}}])
def test_a_column_without_a_value_is_refused(wrong):
    with pytest.raises(InputError, match="`split`: "):
        EvaluateRequest(**wrong)


def test_folds_are_ours_alone():
    with pytest.raises(InputError, match="`folds` is for the splits that we make"):
        EvaluateRequest(split="side=b", folds=3)


@pytest.mark.parametrize("kind", ["attackers", "methods"])
def test_names_that_are_taken_are_refused(kind):
    with pytest.raises(InputError, match="there already"):
        EvaluateRequest(**{kind: {"ridge" if kind == "attackers" else "channel": object()}})
