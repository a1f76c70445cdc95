"""The page."""

import re
from html.parser import HTMLParser

import numpy as np

from deeprotect.evaluation.report import figures
from deeprotect.evaluation.report.page import Group, Page
from deeprotect.evaluation.results import Reference, Results, Row, Sensitive, Useful
from deeprotect.signals import Channel

HOSTILE = "<script>alert(1)</script>"


def _useful(app: float) -> dict[str, Useful]:
    return {HOSTILE: Useful(0.9, app, (app - 0.01, app + 0.01), 0.6, 0.97, 0.2)}


def _sensitive(adaptive: float, limit: float | None) -> dict[str, Sensitive]:
    return {"who": Sensitive(0.8, 0.2, adaptive, (0.2, 0.4), "ridge", {16: 0.43}, 0.1, 0.1, limit)}


ROWS = [
    Row("laplace", "ldp", 1.0, "default", _useful(0.31), _sensitive(0.12, 0.3), "weak"),
    Row("laplace", "ldp", 20.0, "default", _useful(0.77), _sensitive(0.13, 1.0), "weaker"),
    Row("subspace", "rldp", 1.0, "default", _useful(0.88), _sensitive(0.11, None), "linear"),
]


def _html() -> str:
    wave = np.zeros(10)
    channel = Channel("x", "g", -1.0, 1.0)
    drawing = figures.signal("laplace", wave, wave, rate_hz=10.0, channel=channel, caption=HOSTILE)
    page = Page("A title", "A story", HOSTILE, "who", [Group("Signals", "text", [drawing])], ["read this"])
    run = {"command": "deeprotect demo", "seed": 0, "versions": {"numpy": "2.4"}}
    references = [Reference("3 features, no noise", _useful(0.85), _sensitive(0.21, None))]
    return page.render(Results(ROWS, references=references, run=run))


class _Balance(HTMLParser):
    """Counts open elements; the page must close what it opens."""

    void = frozenset({"meta", "br", "img", "link", "use", "path"})

    def __init__(self) -> None:
        super().__init__()
        self.stack: list[str] = []
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href", "xlink:href")]
        if tag not in self.void:
            self.stack.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.void:
            assert self.stack.pop() == tag


def test_the_page_is_whole_and_needs_no_network() -> None:
    html = _html()
    parser = _Balance()
    parser.feed(html)
    assert parser.stack == []
    assert all(address.startswith("#") for address in parser.addresses)
    assert not re.search(r"@import|url\(['\"]?(https?:)?//", html)


def test_names_from_the_users_table_are_text_and_never_markup() -> None:
    html = _html()
    assert HOSTILE not in html
    assert "&lt;script&gt;" in html


def test_every_row_is_shown_with_what_was_measured() -> None:
    text = re.sub(r"<[^>]+>", " ", _html())
    for shown in ("31 %", "77 %", "88 %", "12 %", "13 %", "43 %", "30–32", "3 features, no noise", "85 %", "21 %"):
        assert shown in text


def test_the_page_leads_with_the_most_useful_row_of_the_strong_promise() -> None:
    summary = re.sub(r"<[^>]+>", " ", _html().split("What is promised")[0].split("</header>")[1])
    assert "ε = 20" in summary
    assert "is measured, not promised" in summary


def test_the_page_says_what_rldp_does_not_promise_and_how_to_run_again() -> None:
    html = _html()
    assert "a nonlinear attacker is not bound" in html
    assert "<code>deeprotect demo</code>" in html
    assert "numpy 2.4" in html
