"""Drawings that can stand together in one page."""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.evaluation import made_results

from deeprotect.evaluation.methods import MAIN_METHODS, line_name
from deeprotect.evaluation.report import figures
from deeprotect.evaluation.report.drawing import INK, LOOKS, Drawing, Series, apart, file_name, lines, looks
from deeprotect.evaluation.report.figures import curves
from deeprotect.evaluation.results import Confusion
from deeprotect.policy.sections import GUARANTEES
from deeprotect.signals import Channel
from studies.reproduction.case_figures import bars

CHANNEL = Channel("$acc_x$", "g", -4.0, 4.0)


def _signal(name: str = "laplace") -> Drawing:
    wave = np.sin(np.arange(50) / 5)
    return figures.signal(name, wave, wave / 2, rate_hz=10.0, channel=CHANNEL, caption="a <wave>")


@pytest.fixture(scope="module")
def drawings() -> list[Drawing]:
    rows = made_results.rows()
    matrix = made_results.confusion(("up", "down"), 0.8)
    return [
        _signal(),
        figures.against_epsilon(rows, "useful", "exercise", caption="useful"),
        figures.against_epsilon(rows, "sensitive", "person", caption="sensitive"),
        figures.useful_against_sensitive(rows, "exercise", "person", caption="both"),
        figures.pooled(rows[:4], "person", caption="pooled"),
        figures.confusion("app", "do <b>", matrix, caption="confusion"),
        bars("bars", [Series("pca", [1, 2], [0.1, 0.2]), Series("own", [2], [0.3])], **_labels(), caption="bars"),
    ]


def _labels() -> dict[str, str]:
    return {"xlabel": "feature", "ylabel": "informativeness"}


def _texts(drawing: Drawing) -> set[str]:
    return set("\n".join(ElementTree.fromstring(drawing.svg()).itertext()).split("\n"))


def test_mode_two_without_noise_is_a_level_across_all_epsilons() -> None:
    rows = made_results.rows()
    erased = replace(rows[0], mechanism="erased", guarantee="none", epsilon=None)
    found = figures.against_epsilon([*rows, erased], "useful", "exercise", caption="useful")
    assert f"erased {100 * erased.useful['exercise'].app:.0f} %" in _texts(found)
    assert not any("erased" in text for text in _texts(figures.against_epsilon(rows, "useful", "exercise", caption="")))


def test_every_mechanism_has_a_colour_and_a_marker_of_its_own() -> None:
    shown = {
        line_name(mechanism, guarantee)
        for mechanism, kept in GUARANTEES.items()
        for guarantee in kept
        if mechanism != "auto"
    }
    assert shown == {method.line for method in MAIN_METHODS}
    assert len({LOOKS[line].colour for line in shown}) == len({LOOKS[line].marker for line in shown}) == len(shown)


def test_a_name_nobody_knows_takes_a_look_that_no_known_line_of_the_drawing_has() -> None:
    found = looks(["laplace", "mine", "baseline", "yours"])
    assert len({look.colour for look in found.values()}) == 4
    assert found["laplace"].colour == LOOKS["laplace"].colour
    assert len(looks([str(number) for number in range(30)])) == 30


def test_an_inline_drawing_takes_the_width_and_the_text_colour_of_the_page(drawings: list[Drawing]) -> None:
    for drawing in drawings:
        element = drawing.svg()
        root = ElementTree.fromstring(element)
        assert "width" not in root.attrib
        assert "viewBox" in root.attrib
        assert root.attrib["aria-label"] == drawing.caption
        assert INK not in element
        assert "currentColor" in element
        assert "#000000" not in element


def test_drawings_on_one_page_share_no_element_names(drawings: list[Drawing]) -> None:
    names = [name for drawing in drawings for name in re.findall(r' id="([^"]+)"', drawing.svg())]
    assert len(names) == len(set(names)) > 10


def test_references_inside_a_drawing_still_meet(drawings: list[Drawing]) -> None:
    for drawing in drawings:
        element = drawing.svg()
        names = set(re.findall(r' id="([^"]+)"', element))
        assert set(re.findall(r'url\(#([^)]+)\)|href="#([^"]+)"', element))
        for pair in re.findall(r'url\(#([^)]+)\)|href="#([^"]+)"', element):
            assert "".join(pair) in names


def test_the_same_numbers_draw_the_same_files() -> None:
    assert _signal().svg_file() == _signal().svg_file()
    assert _signal().png() == _signal().png()


def test_a_file_is_a_whole_svg_or_png(drawings: list[Drawing]) -> None:
    for drawing in drawings:
        ElementTree.fromstring(drawing.svg_file())
        assert drawing.png().startswith(b"\x89PNG")


def test_names_of_columns_are_drawn_as_they_are(drawings: list[Drawing]) -> None:
    assert "$acc_x$ (g)" in drawings[0].svg()


@given(st.lists(st.text(min_size=1, max_size=80), min_size=2, max_size=5, unique=True))
def test_different_columns_have_different_and_safe_file_names(columns: list[str]) -> None:
    names = [file_name("useful", column) for column in columns]
    assert len({name.lower() for name in names}) == len(columns)
    for name in names:
        assert Path(name).name == name
        assert re.fullmatch(r"[a-z0-9_-]{1,80}", name)


def test_a_pair_of_columns_has_a_name_of_its_own() -> None:
    pairs = [("a b", "c"), ("a", "b c"), ("a--b", "c"), ("a", "b--c"), ("a b c", "")]
    assert len({file_name("against", *pair) for pair in pairs}) == len(pairs)
    assert file_name("against", "left handed", "person") == "against-left-handed--person"


def test_an_unsafe_name_is_refused_before_it_becomes_a_file() -> None:
    with pytest.raises(ValueError, match="file_name"):
        Drawing("../up", "", _signal().figure)


def test_curves_leave_references_to_the_table(drawings: list[Drawing]) -> None:
    rows = made_results.rows()
    assert {row.line for row in curves(rows)} == {method.line for method in MAIN_METHODS}
    assert "features" not in _texts(drawings[1])
    elsewhere = [made_results.row("elsewhere", "ldp", 5.0, app=0.5, attack=0.1)]
    assert curves(elsewhere) == elsewhere


def test_the_picture_of_the_trade_has_a_point_for_every_line_and_marks_the_good_corner(drawings: list[Drawing]) -> None:
    texts = _texts(drawings[3])
    assert {row.line for row in made_results.rows()} <= texts
    assert {"ideal", "raw"} <= texts


def test_pooled_curves_begin_with_raw_windows_and_one_window(drawings: list[Drawing]) -> None:
    assert {"raw", "baseline", "1", "64", "guessing 3 %"} <= _texts(drawings[4])


@pytest.mark.parametrize(("size", "numbered"), [(12, True), (13, False), (60, False)])
def test_matrices_hold_numbers_as_long_as_they_can_be_read(size: int, *, numbered: bool) -> None:
    matrix = made_results.confusion([f"class {number}" for number in range(size)], 1.0)
    texts = _texts(figures.confusion("attacker", "who", matrix, caption=""))
    assert ("100" in texts) == numbered


def test_a_class_that_was_never_tested_can_be_drawn() -> None:
    matrix = Confusion(["a", "b"], [[0, 0], [1, 2]])
    assert {"0", "67"} <= _texts(figures.confusion("app", "what", matrix, caption=""))


def test_intervals_are_drawn_even_where_rounding_puts_the_value_outside() -> None:
    series = Series("laplace", [1.0], [0.5], [0.5000001], [0.6])
    assert np.all(np.asarray(series.errors) >= 0)
    assert lines("one", [series], xlabel="ε", levels={}, caption="").png()


@pytest.mark.parametrize("series", [[], [Series("x", [], [])]])
def test_nothing_to_draw_is_an_empty_drawing_and_no_failure(series: Sequence[Series]) -> None:
    assert lines("none", series, xlabel="x", levels={"guessing": 0.5}, caption="").svg()
    assert bars("none", series, **_labels(), caption="").svg()


@given(st.lists(st.floats(0, 1), min_size=1, max_size=4))
def test_labels_of_levels_never_cover_each_other(levels: list[float]) -> None:
    heights = apart(sorted(levels))
    assert all(second - first > 0.06 for first, second in pairwise(heights))
    assert all(height >= level for height, level in zip(heights, sorted(levels), strict=True))


def test_long_names_are_shortened_in_the_drawing_and_whole_in_the_caption() -> None:
    name = "a column whose name never seems to come to an end"
    row = made_results.row("laplace", "ldp", 5.0, app=0.7, attack=0.2)
    row = replace(row, useful={name: row.useful["exercise"]})
    drawing = figures.useful_against_sensitive([row], name, "person", caption=name)
    assert "app on a column whose name never s…" in _texts(drawing)
    assert name in drawing.svg()
