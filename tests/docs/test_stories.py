"""The examples are complete stories: each goes from a table to a release, and shows what was printed."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
STORIES = sorted((DOCS / "examples").glob("*.md"))
VERBS = ("init", "train", "verify", "protect", "evaluate")


def test_there_are_three():
    assert [story.stem for story in STORIES] == ["authentication", "fitness", "voice"]


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.stem)
def test_a_story_goes_from_a_policy_to_a_release_and_its_measurement(story):
    text = story.read_text(encoding="utf-8")
    places = [text.find(f"\n$ deeprotect {verb} ") for verb in VERBS]
    assert -1 not in places
    assert places == sorted(places)
    assert re.search(r"released [\d,]+ rows; ldp: ε = ", text)
    assert "verdict: holds" in text


@pytest.mark.parametrize("page", [*STORIES, DOCS / "first-hour.md"], ids=lambda page: page.stem)
def test_no_output_tells_whose_machine_it_was_or_a_fault(page):
    text = page.read_text(encoding="utf-8")
    assert not re.search(r"(?<![\w.~])/(tmp|work|root|home|Users)/", text)
    assert "Traceback" not in text
    assert "please report this line" not in text


def test_the_first_hour_makes_four_visits_with_times():
    text = (DOCS / "first-hour.md").read_text(encoding="utf-8")
    assert len(re.findall(r"^## [1-4]\. ", text, re.MULTILINE)) == 4
    assert len(re.findall(r"^\| [1-4] \|.* s \|$", text, re.MULTILINE)) == 4
