"""Files that appear whole or not at all."""

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from jinja2 import UndefinedError
from tests.evaluation import made_results

from deeprotect.evaluation.report import layout
from deeprotect.evaluation.report import report_files as files
from deeprotect.evaluation.report.page import Page
from deeprotect.evaluation.results import Results
from deeprotect.tables.atomic import files_into

RESULTS = Results([made_results.row("laplace", "ldp", 5.0, app=0.7, attack=0.2)])


@pytest.fixture(scope="module")
def page() -> Page:
    return layout.lay_out(RESULTS, made_results.policy(), title="title", lead="lead", excerpt=None, epsilon=5.0)


def test_page_results_tables_and_figures_are_written_and_nothing_else_is_left(tmp_path: Path, page: Page) -> None:
    out = tmp_path / "new" / "out"
    files.write(out, RESULTS, page)
    assert sorted(path.name for path in out.iterdir()) == ["figures", "report.html", "results.json", "tables"]
    assert json.loads((out / "results.json").read_text()) == RESULTS.to_json()
    drawn = {drawing.name for group in page.groups for drawing in group.drawings}
    assert {path.name for path in (out / "figures").iterdir()} == {
        f"{name}.{kind}" for name in drawn for kind in ("svg", "png")
    }
    assert ElementTree.parse(out / "figures" / "useful-exercise.svg").getroot().tag.endswith("svg")
    tables = ["attackers.csv", "confusion.csv", "pooled.csv", "results.csv", "signal.csv"]
    assert sorted(path.name for path in (out / "tables").iterdir()) == tables


def test_a_page_that_fails_leaves_the_earlier_one_as_it_was(tmp_path: Path, page: Page) -> None:
    page = replace(page, groups=[])
    files.write(tmp_path, RESULTS, page)
    before = (tmp_path / "report.html").read_bytes()
    other = replace(page.best, useful={"no such inference": page.best.useful["exercise"]})
    with pytest.raises(UndefinedError):
        files.write(tmp_path, RESULTS, replace(page, best=other))
    assert (tmp_path / "report.html").read_bytes() == before
    assert not list(tmp_path.rglob(".*"))


def test_a_table_of_an_earlier_run_does_not_stay_beside_newer_results(tmp_path: Path, page: Page) -> None:
    page = replace(page, groups=[])
    files.write(tmp_path, replace(RESULTS, form=made_results.results().form), page)
    assert (tmp_path / "tables" / "form.csv").exists()
    files.write(tmp_path, replace(RESULTS, form=()), page)
    assert not (tmp_path / "tables" / "form.csv").exists()


def test_work_that_stops_half_way_leaves_no_folder(tmp_path: Path) -> None:
    def stop_half_way() -> None:
        with files_into(tmp_path / "new" / "out") as folder:
            (folder / "report.html").write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stop_half_way()
    assert not list((tmp_path / "new").iterdir())


def test_what_else_is_in_the_folder_stays(tmp_path: Path, page: Page) -> None:
    (tmp_path / "figures").mkdir()
    for name in ("mine.txt", "figures/mine.svg"):
        (tmp_path / name).write_text("mine")
    files.write(tmp_path, RESULTS, page)
    assert (tmp_path / "mine.txt").read_text() == (tmp_path / "figures" / "mine.svg").read_text() == "mine"
    assert (tmp_path / "figures" / "useful-exercise.svg").exists()
