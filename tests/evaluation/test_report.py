"""Files that appear whole or not at all."""

import json
from pathlib import Path

import pytest

from deeprotect.errors import InputError
from deeprotect.evaluation.report import files
from deeprotect.evaluation.report.page import Page
from deeprotect.evaluation.results import Results, Row, Sensitive, Useful

USEFUL = {"what": Useful(0.9, 0.5, (0.4, 0.6), 0.6, None, 0.2)}
SENSITIVE = {"who": Sensitive(0.8, 0.2, 0.3, (0.2, 0.4), "ridge", {16: 0.4}, 0.1, 0.1, None)}
RESULTS = Results([Row("laplace", "ldp", 1.0, "default", USEFUL, SENSITIVE, "")])
PAGE = Page("title", "lead", "what", "who", [], [])


def test_results_and_page_are_written_and_nothing_else_is_left(tmp_path: Path) -> None:
    files.make_folder(tmp_path / "new" / "out")
    files.write(tmp_path / "new" / "out", RESULTS, PAGE)
    names = sorted(path.name for path in (tmp_path / "new" / "out").iterdir())
    assert names == ["figures", "report.html", "results.json"]
    assert json.loads((tmp_path / "new/out/results.json").read_text()) == RESULTS.to_json()


def test_a_page_that_fails_leaves_the_earlier_one_as_it_was(tmp_path: Path) -> None:
    files.make_folder(tmp_path)
    files.write(tmp_path, RESULTS, PAGE)
    before = (tmp_path / "report.html").read_bytes()
    broken = Page("title", "lead", "no such inference", "who", [], [])
    with pytest.raises(KeyError):
        files.write(tmp_path, RESULTS, broken)
    assert (tmp_path / "report.html").read_bytes() == before
    assert not list(tmp_path.glob(".*"))


def test_a_file_in_the_way_is_refused_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine")
    with pytest.raises(InputError, match="--out"):
        files.make_folder(tmp_path / "out")
    assert (tmp_path / "out").read_text() == "mine"
