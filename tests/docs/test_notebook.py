"""The five-minute notebook runs from its first cell to its last, and says what its stored outputs say."""

import json
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).parents[2] / "docs" / "five-minutes.ipynb"
pytest.importorskip("seglearn", reason="the notebook's data comes with the evaluate extra")


@pytest.fixture(scope="module")
def outputs():
    """The output of each cell, executed again in a new kernel."""
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(notebook, timeout=280, kernel_name="python3").execute()
    return [_text(cell) for cell in notebook.cells if cell["cell_type"] == "code"]


def _text(cell) -> str:
    said = [each.get("text") or each.get("data", {}).get("text/plain", "") for each in cell["outputs"]]
    return "".join("".join(each) for each in said)


@pytest.mark.long
def test_the_notebook_runs_and_its_promise_holds(outputs):
    assert outputs[-1].rstrip().endswith("verdict: holds")
    assert "nothing wrong was found" in outputs[1]


def test_the_stored_outputs_are_those_of_today(outputs):
    """Where nothing is drawn: what the table is, what is promised, what a release costs."""
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    stored = [_text(cell) for cell in cells if cell["cell_type"] == "code"]
    for number in (0, 1, 2, 3):
        assert stored[number] == outputs[number]
    drawn = 2  # the line that says what an app reads
    before, now = (each[4].splitlines()[:5] for each in (stored, outputs))
    assert "unchanged app" in now.pop(drawn)
    assert before.pop(drawn)
    assert before == now
    assert stored[5].splitlines()[:2] == outputs[5].splitlines()[:2]
