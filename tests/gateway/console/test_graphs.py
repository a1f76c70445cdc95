"""Graphs of the last hour and day: what they show, where they have gaps, and that nothing but numbers is in them."""

import re
from datetime import UTC, datetime, timedelta
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import insert

from deeprotect.gateway.console.graphs import HEIGHT, WIDTH, last_day, last_hour, round_up
from deeprotect.gateway.operation import history
from deeprotect.gateway.operation.history import Minute
from deeprotect.release.ledger.ledger import microseconds, utc_now

NOW = datetime(2026, 1, 1, 12, 7, 30, tzinfo=UTC)
MINUTE = int(NOW.timestamp()) // 60


def minute(ago, windows=0, refused=0, delay=0.0, epsilon=0.0):
    return Minute(MINUTE - ago, windows, refused, delay, epsilon)


def heights(graph):
    """Of each step, in shares of the graph's; None at the beginning of each run."""
    found = []
    for word in re.findall(r"M|V[\d.]+", graph.path):
        found.append(None if word == "M" else round(1 - float(word[1:]) / HEIGHT, 3))
    return found


def test_the_last_hour_has_a_step_for_each_minute_and_a_gap_where_nothing_ran():
    found = [minute(60, 50), minute(59, 100), minute(3, 25), minute(61, 999), minute(0, 999)]
    windows = last_hour(found, NOW).graphs[0]
    assert (windows.top, windows.summary) == ("100", "175 released")
    assert heights(windows) == [None, 0.5, 1.0, None, 0.25]
    starts = [float(x) for x in re.findall(r"M([\d.]+)", windows.path)]
    assert starts == [0.0, 57 * WIDTH / 60]
    assert last_hour(found, NOW).ticks == ("11:07", "11:22", "11:37", "11:52", "12:07")


def test_the_last_day_has_means_of_quarters_and_the_longest_delay_in_each():
    found = [minute(k, windows=10 * (k % 2), refused=k % 2, delay=k / 10, epsilon=4.0) for k in range(8, 20)]
    span = last_day(found, NOW)
    windows, delay, epsilon, refused = span.graphs
    assert span.ticks[0] == span.ticks[-1] == "12:15"
    assert (windows.top, heights(windows)) == ("5", [None, 1.0])
    assert (delay.top, heights(delay), delay.summary) == ("2 s", [None, 0.95], "up to 1.9 s")
    assert (epsilon.top, epsilon.summary, heights(epsilon)) == ("5", "48.0 in all", [None, 0.8])
    assert (refused.top, refused.summary) == ("0.5", "6 in all")


def test_where_nothing_left_there_is_no_delay_and_all_the_rest():
    span = last_hour([minute(9, 1, delay=1.0), minute(8, refused=3), minute(7, 1, delay=2.0)], NOW)
    assert heights(span.graphs[0]) == [None, 1.0, 0.0, 1.0]
    assert heights(span.graphs[1]) == [None, 0.5, None, 1.0]


def test_without_any_minutes_there_is_no_line():
    for span in (last_hour([], NOW), last_day([], NOW)):
        assert {(graph.path, graph.area) for graph in span.graphs} == {("", "")}


@given(st.floats(1e-6, 1e12))
def test_an_edge_is_above_and_not_far_above(value):
    assert value <= round_up(value) * (1 + 1e-9) <= 2.6 * value


@given(st.lists(st.tuples(st.integers(-5, 1600), st.integers(0, 10**9), st.floats(0, 1e6)), max_size=200))
def test_lines_stay_inside_whatever_happened(found):
    every = sorted(
        (minute(ago, windows, windows, delay, delay) for ago, windows, delay in found), key=lambda m: m.number
    )
    for span in (last_hour(every, NOW), last_day(every, NOW)):
        for graph in span.graphs:
            assert all(0 <= float(y) <= HEIGHT for y in re.findall(r"V([\d.]+)", graph.path))
            moves = re.findall(r"M([\d.]+)|h([\d.]+)", graph.path)
            place = 0.0
            for start, step in moves:
                place = float(start) if start else place + float(step)
                assert 0 <= place <= WIDTH + 0.01


@pytest.fixture
def busy(gateway):
    now = microseconds(utc_now()) // history.MINUTE
    with gateway.database.writing("test") as connection:
        for ago in range(1, 1400):
            row = {"minute": now - ago, "place": 0, "windows": 1000 + ago % 7, "refused": ago % 3, "delay": 0.1}
            connection.execute(insert(history.minutes).values(**row))
            connection.execute(insert(history.spent).values(minute=now - ago, epsilon=5.0 * ago))
    return gateway


def test_the_page_is_small_drawn_without_a_script_and_within_its_policy(busy, admin):
    answer = admin.get("/console/history")
    assert answer.status_code == 200
    assert len(answer.content) < 60_000
    pictures = re.findall(r"<svg.*?</svg>", answer.text, re.DOTALL)
    assert len(pictures) == 8
    for picture in pictures:
        svg = ElementTree.fromstring(picture)
        assert svg.get("role") == "img"
        assert svg.get("aria-label")
        assert all(path.get("d") for path in svg)
    assert "<script" not in answer.text
    assert " style=" not in answer.text
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert answer.headers["cache-control"] == "no-store"


def test_the_page_names_no_stream_person_or_app(busy, admin):
    text = admin.get("/console/history").text
    assert "watch" not in text
    assert "fit" not in text
    assert "alert(" not in text


def test_an_hour_ago_is_on_the_left():
    late = last_hour([minute(60, 1)], NOW + timedelta(seconds=20)).graphs[0]
    assert late.path.startswith("M0 ")
