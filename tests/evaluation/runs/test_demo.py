"""The demo on real data, in small."""

import json
from pathlib import Path

import pytest

from deeprotect.errors import DatasetError, InputError
from deeprotect.evaluation.methods import Method
from deeprotect.evaluation.runs import demo as running
from deeprotect.evaluation.runs.demo import DemoPlan, demo

SMALL = DemoPlan(
    epsilons=(5.0, 20.0),
    methods=(Method("baseline", "ldp"), Method("laplace", "ldp")),
    holds=("5 s",),
    max_epochs=8,
)


@pytest.fixture(scope="module")
def shares() -> list[float]:
    return []


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory, shares: list[float]) -> Path:
    folder = tmp_path_factory.mktemp("demo")
    try:
        results = demo(folder, progress=shares.append, plan=SMALL)
    except DatasetError as error:
        pytest.skip(str(error))
    assert results == json.loads((folder / "results.json").read_text())
    return folder


@pytest.mark.long
def test_attackers_read_the_raw_stream_and_not_the_released_one(out: Path) -> None:
    rows = json.loads((out / "results.json").read_text())["results"]
    for row in rows:
        person = row["sensitive"]["person"]
        assert person["raw"] > 0.7
        assert person["adaptive_ci"][0] <= max(person["chance"], person["from_useful"]) + 0.05


def test_certified_noise_on_few_features_keeps_more_use_than_noise_on_samples(out: Path) -> None:
    rows = json.loads((out / "results.json").read_text())["results"]
    app = {(row["mechanism"], row["epsilon"]): row["useful"]["exercise"] for row in rows}
    assert app["laplace", 20.0]["app"] > app["baseline", 20.0]["app_ci"][1], "beyond the interval"
    assert app["laplace", 20.0]["app"] > app["laplace", 5.0]["app"]


def test_the_page_its_figures_and_the_way_to_get_them_again_are_there(out: Path) -> None:
    page = (out / "report.html").read_text()
    run = json.loads((out / "results.json").read_text())["run"]
    assert run["fingerprint"] in page
    drawn = {path.stem for path in (out / "figures").glob("*.svg")}
    assert {path.stem for path in (out / "figures").glob("*.png")} == drawn
    assert {"useful-exercise", "sensitive-person", "pooled-person", "signal-baseline", "signal-laplace"} <= drawn
    assert page.count("<svg") == len(drawn)
    assert (out / "tables" / "results.csv").exists()


def test_progress_grows_to_one(out: Path, shares: list[float]) -> None:
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_a_file_in_the_way_is_refused_before_any_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "load", lambda *_, **__: pytest.fail("the work began"))
    (tmp_path / "out").write_text("mine")
    with pytest.raises(InputError, match="another `out`"):
        demo(tmp_path / "out")
