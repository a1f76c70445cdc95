"""Drawings that can stand together in one page."""

import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from deeprotect.evaluation.report import figures
from deeprotect.evaluation.report.figures import COLOURS, INK, MARKERS, Drawing
from deeprotect.evaluation.results import Row, Sensitive, Useful
from deeprotect.policy.sections import GUARANTEES
from deeprotect.signals import Channel

CHANNEL = Channel("$acc_x$", "g", -4.0, 4.0)


def _row(mechanism: str, guarantee: str, epsilon: float) -> Row:
    useful = Useful(0.9, 0.5, (0.4, 0.6), 0.6, None, 0.2)
    sensitive = Sensitive(0.8, 0.2, 0.3, (0.2, 0.4), "ridge", {16: 0.4}, 0.1, 0.1, None)
    return Row(mechanism, guarantee, epsilon, "default", {"do <b>": useful}, {"who": sensitive}, "")


def _signal(name: str = "laplace") -> Drawing:
    wave = np.sin(np.arange(50) / 5)
    return figures.signal(name, wave, wave / 2, rate_hz=10.0, channel=CHANNEL, caption="a wave")


@pytest.fixture
def drawings() -> list[Drawing]:
    rows = [_row("laplace", "ldp", 1.0), _row("paper", "ldp", 1.0), _row("paper", "rldp", 5.0)]
    return [
        _signal(),
        figures.useful_against_epsilon(rows, "do <b>", caption="useful"),
        figures.sensitive_against_epsilon(rows, "who", caption="sensitive"),
    ]


def test_every_mechanism_has_a_colour_and_a_marker_of_its_own() -> None:
    keys = {
        figures.key(_row(mechanism, guarantee, 1.0))
        for mechanism, kept in GUARANTEES.items()
        for guarantee in kept
        # A channel asked for rldp gives ldp, and its row says so.
        if mechanism != "auto" and (mechanism, guarantee) != ("channel", "rldp")
    }
    assert keys <= set(COLOURS)
    assert keys <= set(MARKERS)
    assert len({COLOURS[key] for key in keys}) == len({MARKERS[key] for key in keys}) == len(keys)


def test_an_inline_drawing_takes_the_width_and_the_text_colour_of_the_page(drawings: list[Drawing]) -> None:
    for drawing in drawings:
        element = drawing.svg()
        root = ElementTree.fromstring(element)
        assert "width" not in root.attrib
        assert "viewBox" in root.attrib
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


def test_names_of_columns_are_drawn_as_they_are_and_make_safe_file_names(drawings: list[Drawing]) -> None:
    assert "$acc_x$ (g)" in drawings[0].svg()
    assert [Path(drawing.name).name for drawing in drawings] == [drawing.name for drawing in drawings]
    assert drawings[1].name == "useful-do-b-"


def test_one_epsilon_alone_can_be_drawn() -> None:
    row = replace(_row("baseline", "ldp", 5.0))
    assert figures.sensitive_against_epsilon([row], "who", caption="").png()
