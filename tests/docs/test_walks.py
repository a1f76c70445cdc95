"""Architecture as it is: quoted lines are lines of the source, and each walk is one that real calls take."""

import re
import tomllib
from itertools import pairwise
from pathlib import Path
from textwrap import dedent, indent

import pytest
from tests.docs.walks import PACKAGE, WALKS, traced

MOST_FILES = {"file": 40, "live": 15, "gateway": 41, "evaluation": 23}
"""That a reader opens to follow a walk, as it is today; a walk that needs more has been cut too finely."""
TEXT = (Path(__file__).parents[2] / "docs" / "architecture.md").read_text(encoding="utf-8")


def steps(name: str) -> list[str]:
    """The functions that a walk's picture names, in order."""
    picture = re.search(rf"^### {name}\n.*?```text\n(.*?)```", TEXT, re.DOTALL | re.MULTILINE | re.IGNORECASE)
    assert picture, f"no picture of the walk '{name}'"
    return re.findall(r"[\w/]+\.py::[\w.]+", picture[1])


def test_quoted_lines_are_those_of_the_source():
    quoted = re.findall(r"\]\(\.\./src/deeprotect/([\w/]+\.py)\)[^`]*```python\n(.*?)```", TEXT, re.DOTALL)
    assert "release/engine.py" in [path for path, _ in quoted]
    for path, lines in quoted:
        source = (PACKAGE / path).read_text(encoding="utf-8")
        assert any(indent(dedent(lines), " " * depth) in source for depth in (0, 4, 8)), lines


def test_every_python_block_is_quoted():
    assert TEXT.count("```python") == len(re.findall(r"\]\(\.\./src/deeprotect/[\w/]+\.py\)[^`]*```python", TEXT))


@pytest.mark.parametrize("name", WALKS)
def test_a_walk_is_the_one_that_is_drawn(name, tmp_path):
    walk, drawn = WALKS[name](tmp_path), steps(name)
    with traced() as first:
        walk()
    order = {step: place for place, step in enumerate(first)}
    assert len(drawn) > 6
    assert not [step for step in drawn if step not in order]
    backwards = [(one, other) for one, other in pairwise(drawn) if order[one] > order[other]]
    assert not backwards
    assert len({step.partition("::")[0] for step in first}) <= MOST_FILES[name]


@pytest.mark.parametrize("name", WALKS)
def test_every_walk_goes_through_the_engine_in_its_order(name):
    engine = ("encode", "charge", "_privatise", "record", "_decode")
    found = [step.rpartition("::")[2].rpartition(".")[2] for step in steps(name)]
    assert [each for each in found if each in engine] == list(engine)


def test_the_import_rule_that_is_drawn_is_the_one_that_is_checked():
    drawn = re.search(r"^```\n(cli → .*?)```", TEXT, re.DOTALL | re.MULTILINE)
    assert drawn, "no import rule"
    layers = [{name.strip() for name in each.split("|")} for each in " ".join(drawn[1].split()).split("→")]
    project = tomllib.loads((PACKAGE.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    (house,) = (
        each for each in project["tool"]["importlinter"]["contracts"] if each.get("containers") == ["deeprotect"]
    )
    checked = [{name.strip() for name in each.split("|")} for each in house["layers"]]
    assert layers == [each for each in checked if each != {"__main__"}]
