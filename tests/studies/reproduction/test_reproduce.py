"""A whole reproduction on made-up data: the same twice, what is missing said, files complete and sounds valid."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.studies.reproduction.conftest import CHEAP, SMALL

from deeprotect.attack.split_spec import SplitSpec
from deeprotect.errors import DatasetError, InputError
from deeprotect.policy import Policy
from deeprotect.training.labelled_windows import LabelledWindows
from studies.features.classical import KINDS
from studies.reproduction.case import Case, CaseExperiment
from studies.reproduction.reproduce import ReproduceRequest, reproduce


@pytest.fixture(scope="module")
def experiment() -> CaseExperiment:
    """The activity shows in the first channel, the person in the second."""
    rng = np.random.default_rng(0)
    recording = np.repeat(np.arange(6), 50)
    doing, who = recording % 2, recording // 2
    samples = 0.5 + rng.normal(0, 0.03, (300, 4, 2))
    samples[:, :, 0] += 0.2 * (doing[:, None] - 0.5)
    samples[:, :, 1] += 0.1 * (who[:, None] - 1)
    labels = {
        "mode": np.array(["walk" if each else "still" for each in doing], dtype=object),
        "person": np.array(["ann", "bob", "eve"], dtype=object)[who],
    }
    windows = LabelledWindows(np.clip(samples, 0, 1), labels, recording, 1200, "made up", who, np.arange(300))
    policy = Policy.from_tables(
        {
            "version": 1,
            "stream": {
                "rate_hz": 10.0,
                "window": 4,
                "channels": {name: {"unit": "g", "range": [-1.0, 1.0]} for name in ("swing", "rest")},
            },
            "inferences": {"useful": ["mode"], "sensitive": ["person"]},
            "privacy": {"epsilon": 5.0},
            "training": {"max_epochs": 2},
        }
    )
    return CaseExperiment(
        "1x", "mode against person", windows, policy, SplitSpec(folds=2, most=300), CHEAP, ["made up"], curves=2
    )


def case(number: int, experiments) -> Case:
    return Case(number, f"case {number}", "a purpose", ("watch",), lambda *_: experiments())


@pytest.fixture(scope="module")
def cases(experiment: CaseExperiment) -> list[Case]:
    def missing():
        raise DatasetError("data set 'moon' is not here; run: deeprotect datasets fetch moon")

    return [case(1, lambda: [experiment]), case(2, missing)]


@pytest.fixture(scope="module")
def folder(cases, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("reproduced")
    reproduce(out, ReproduceRequest(size=SMALL, cases=cases))
    return out


@pytest.fixture(scope="module")
def written(folder: Path) -> dict:
    return json.loads((folder / "results.json").read_text())


@pytest.mark.long
def test_what_is_missing_is_said_and_the_rest_runs(folder, written):
    assert [each["case"] for each in written["cases"]] == ["1x"]
    assert written["missing"] == ["case study 2: data set 'moon' is not here; run: deeprotect datasets fetch moon"]
    assert "datasets fetch moon" in (folder / "report.html").read_text()


def test_where_nothing_can_run_the_message_says_how_to_get_the_data(cases, tmp_path):
    with pytest.raises(DatasetError, match="datasets fetch moon"):
        reproduce(tmp_path, ReproduceRequest([2], size=SMALL, cases=cases))
    assert not (tmp_path / "report.html").exists()


def test_an_unknown_case_is_wrong_input_before_any_work(cases, tmp_path):
    with pytest.raises(InputError, match="case study 7 is unknown; use 1, 2"):
        reproduce(tmp_path / "new", ReproduceRequest([7], size=SMALL, cases=cases))
    assert not (tmp_path / "new").exists()


@pytest.mark.long
def test_the_same_seed_gives_the_same_results(written, cases, tmp_path):
    reproduce(tmp_path, ReproduceRequest([1], size=SMALL, cases=cases))
    again = json.loads((tmp_path / "results.json").read_text())
    assert again["cases"] == written["cases"]
    assert again["paper"] == written["paper"]


def test_rows_features_and_papers_numbers_are_all_there(written):
    (found,) = written["cases"]
    assert {row["mechanism"] for row in found["results"]} == {"baseline", "laplace", "channel"}
    kinds = {(point["feature_extractor"], point["features"]) for point in found["features"]}
    assert kinds == {(name, count) for name in KINDS for count in (1, 7)} | {("raw", 8)}
    assert all(len(point["informativeness"]) == 7 for point in found["features"] if point["features"] == 7)
    assert len(written["paper"]) == 4  # two on features, one on mechanisms, one trade-off


def test_figures_and_tables_stand_beside_a_page_that_needs_no_network(folder):
    page = (folder / "report.html").read_text()
    assert not re.search(r'(src|href)="(https?:|//)', page)
    for name in ("features-1x", "informativeness-1x", "mechanisms-1x", "trade-1x"):
        assert (folder / "figures" / f"{name}.svg").stat().st_size > 1000
        assert (folder / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    tables = {path.name for path in (folder / "tables").iterdir()}
    assert {"1-paper.csv", "1x-results.csv", "1x-features.csv"} <= tables


def test_progress_grows_to_one(experiment, tmp_path):
    shares: list[float] = []
    short = case(1, lambda: [replace(experiment, methods=CHEAP[:1], split=SplitSpec())])
    reproduce(
        tmp_path, ReproduceRequest([1], size=replace(SMALL, features=(1,)), cases=[short]), progress=shares.append
    )
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
