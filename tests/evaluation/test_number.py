"""Measurements of a numeric useful inference: errors in its unit, in every form of the results."""

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from tests.strides import RULES, strides

from deeprotect.attack.attackers import LabelledRows
from deeprotect.attack.models import TrainedModel
from deeprotect.attack.predictions import Predictions, clustered_mean
from deeprotect.cli.printing import results_table
from deeprotect.evaluation.results import Apps, Results, Row
from deeprotect.evaluation.runs.own_table import EvaluateRequest, evaluate
from deeprotect.policy.policy import quick

NUMBER = RULES.inferences.numeric["cadence"]
REQUEST = EvaluateRequest(mechanisms=("channel", "baseline"), epsilons=(4.0,), quick=True)


class Evaluated(NamedTuple):
    out: Path
    results: Results

    def of(self, mechanism: str) -> Row:
        (row,) = (row for row in self.results.rows if row.mechanism == mechanism)
        return row


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> Evaluated:
    out = tmp_path_factory.mktemp("evaluated") / "out"
    return Evaluated(out, evaluate(quick(RULES), strides(), out, request=REQUEST))


def test_errors_stand_in_their_order_from_the_coder_to_the_median(evaluated: Evaluated) -> None:
    own = evaluated.of("channel").useful["cadence"]
    assert own.unit == "1/min"
    assert own.mae_coder is not None
    assert own.mae_ci is not None
    assert 0 < own.mae_coder < own.mae < 0.5 * own.mae_median
    assert own.mae_limit < own.mae
    assert own.mae_clean < own.mae
    assert own.mae_ci[0] < own.mae < own.mae_ci[1]
    assert evaluated.of("baseline").useful["cadence"].mae_coder is None
    assert not own.recall


def test_results_and_tables_and_page_say_the_errors_in_the_unit(evaluated: Evaluated, capsys: Any) -> None:
    written = json.loads((evaluated.out / "results.json").read_text())
    (own,) = (row["useful"]["cadence"] for row in written["results"] if row["mechanism"] == "channel")
    assert own["unit"] == "1/min"
    assert {"mae", "mae_clean", "mae_median", "mae_coder", "mae_limit"} <= own.keys()
    tables = (evaluated.out / "tables" / "results.csv").read_text()
    assert any(line["mae"] == f"{own['mae']}" for line in csv.DictReader(tables.splitlines()))
    page = (evaluated.out / "report.html").read_text()
    assert f"with a mean error of {own['mae']:.3g} 1/min ({own['mae_clean']:.3g} raw" in page
    assert f"ε allows no less than {own['mae_limit']:.3g}" in page
    assert (evaluated.out / "figures" / "error-cadence.svg").exists()
    results_table(written)
    printed = " ".join(capsys.readouterr().out.split())
    assert f"guessing the median {own['mae_median']:.3g}, at best, by ε {own['mae_limit']:.3g}" in printed


def test_an_error_that_epsilon_rules_out_is_named(evaluated: Evaluated) -> None:
    row = replace(evaluated.of("channel"), own=True)
    assert not Results([row]).broken
    near = replace(row.useful["cadence"], mae_ci=(0.1, 0.2))
    (line,) = Results([replace(row, useful={"cadence": near})]).broken
    assert "cadence is read with an error of 0.2 1/min or less; ε allows no less than" in line


def test_an_app_says_the_median_of_a_number_and_the_likeliest_of_classes() -> None:
    classes = np.array(["100", "20", "60"])  # as names sort
    model = TrainedModel("", classes, None, np.zeros(3))
    scores = np.log([[0.38, 0.4, 0.22]])
    assert model.choose(scores).tolist() == ["20"]
    assert replace(model, values=classes.astype(float)).choose(scores).tolist() == ["60"]


def test_errors_are_of_what_is_tested() -> None:
    truth = np.array(["70", "90", "90", "170"], dtype=object)
    rows = LabelledRows(np.zeros((4, 1)), truth, np.zeros(4, dtype=np.int64), numeric=True)
    clean, app = (rows.predictions(np.array(guess)) for guess in (["70", "90", "90", "150"], ["70", "70", "110", "90"]))
    found = Apps(clean, app, None).sum_up(0.0, NUMBER)
    assert (found.mae_clean, found.mae, found.mae_median) == (5.0, 30.0, 25.0)
    assert found.mae_limit == pytest.approx(25.0)
    assert found.saved is not None
    assert found.saved[0] == pytest.approx(-0.2)
    assert Apps(clean, app, None).sum_up(None, NUMBER).mae_limit is None
    assert Apps(clean, app, None).sum_up(1.0).unit is None


def test_the_interval_of_a_mean_grows_where_errors_go_together() -> None:
    values = np.repeat(np.arange(10.0), 30)
    together, alone = (clustered_mean(values, each) for each in (np.repeat(np.arange(10), 30), np.arange(300)))
    assert together[0] < alone[0] < 4.5 < alone[1] < together[1]
    assert clustered_mean(values, np.zeros(300, dtype=np.int64)) == alone


def test_predictions_know_how_far_they_are_off() -> None:
    texts = [np.array(each, dtype=object) for each in (["70", "130"], ["90", "70"])]
    assert Predictions.of(*texts, np.arange(2)).distances.tolist() == [20.0, 60.0]
