"""The page."""

import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser

import pytest
from tests.evaluation import made_results

from deeprotect.evaluation.report import layout
from deeprotect.evaluation.report.page import accuracy, interval, sections
from deeprotect.evaluation.results import Results, Row

HOSTILE = "<script>alert(1)</script>"


def _html(results: Results) -> str:
    page = layout.lay_out(
        results, made_results.policy(), title="A title", lead="A lead", excerpt=None, epsilon=made_results.EPSILON
    )
    return page.render(results)


@pytest.fixture(scope="module")
def html() -> str:
    results = made_results.results()
    page = layout.lay_out(
        results, made_results.policy(), title="A title", lead="A lead", excerpt=made_results.excerpt(), epsilon=5.0
    )
    return page.render(results)


def _text(html: str) -> str:
    without_drawings = re.sub(r"<svg.*?</svg>|<style>.*?</style>", " ", html, flags=re.DOTALL)
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", without_drawings)))


def _section(html: str, anchor: str) -> str:
    """Its text."""
    return _text(html.split(f'<section id="{anchor}">')[1].split("</section>")[0])


def _small(rows: list[Row]) -> Results:
    return Results(rows, run={"command": "deeprotect evaluate"})


class _Balance(HTMLParser):
    """Counts open elements; the page must close what it opens."""

    void = frozenset({"meta", "br", "img", "link", "use", "path", "image"})

    def __init__(self) -> None:
        super().__init__()
        self.stack: list[str] = []
        self.addresses: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href", "xlink:href")]
        self.anchors |= {f"#{value}" for name, value in attrs if name == "id"}
        if tag not in self.void:
            self.stack.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.void:
            assert self.stack.pop() == tag


def _check_whole(html: str) -> None:
    parser = _Balance()
    parser.feed(html)
    assert parser.stack == []
    inside = [address for address in parser.addresses if not address.startswith("data:image/png;")]
    assert set(inside) <= parser.anchors
    assert not re.search(r"@import|url\(['\"]?(https?:)?//|<script|<link", html)


def test_the_page_is_whole_and_needs_no_network(html: str) -> None:
    _check_whole(html)


def test_names_from_the_users_table_are_text_and_never_markup() -> None:
    row = made_results.row("laplace", "ldp", 5.0, app=0.7, attack=0.2)
    confusion = made_results.confusion((HOSTILE, "b"), 0.7)
    useful = {HOSTILE: replace(row.useful["exercise"], confusion=confusion)}
    hostile = replace(row, useful=useful, sensitive={HOSTILE: row.sensitive["person"]}, signal={HOSTILE: 1.0})
    html = _html(replace(_small([hostile]), left_out=[HOSTILE], run={HOSTILE: {HOSTILE: HOSTILE}}))
    assert "<script" not in html
    assert html.count("&lt;script&gt;") > 10


def test_every_row_is_shown_with_what_was_measured(html: str) -> None:
    results, text = made_results.results(), _text(html)
    for row in results.rows:
        assert row.line in text
        for name, useful in row.useful.items():
            assert name in text
            numbers = (useful.app, useful.retrained, useful.clean, useful.limit, useful.chance)
            assert all(accuracy(value) in text for value in numbers)
            assert interval(useful.app_ci) in text
        for name, attack in row.sensitive.items():
            assert name in text
            numbers = (attack.static, attack.adaptive, attack.raw, attack.from_useful, attack.limit, attack.chance)
            assert all(
                accuracy(value) in text for value in (*numbers, *attack.pooled.values(), *attack.attackers.values())
            )
            assert interval(attack.adaptive_ci) in text


def test_each_row_stands_in_exactly_one_section_of_the_table() -> None:
    rows = made_results.rows()
    shown = [row for section in sections(rows) for block in section.blocks for row in block.rows]
    assert sorted(map(id, shown)) == sorted(map(id, rows))
    titles = {block.name: section.title for section in sections(rows) for block in section.blocks}
    assert titles["channel ldp"] == "Mechanisms"
    assert titles["features"] == "References"


def test_every_inference_has_four_bars_of_the_leading_row_and_one_for_what_is_read_at_most(html: str) -> None:
    summary = html.split('<section id="promised">')[0]
    assert summary.count('class="card useful"') == summary.count('class="card sensitive"') == 2
    assert [summary.count(f'class="fill {kind}"') for kind in ("raw", "released", "limit", "chance")] == [4, 4, 5, 4]
    assert summary.count('class="whisker"') == 4


def test_where_epsilon_sets_no_limit_the_page_says_none() -> None:
    html = _html(_small([made_results.row("paper", "rldp", 5.0, app=0.7, attack=0.2)]))
    card = html.split('class="card sensitive"')[1].split("</div>")[0]
    assert re.search(r"most ε allows.*none", card)


def test_the_page_says_what_each_promise_means_and_does_not(html: str) -> None:
    text = _text(html)
    assert "differ only along the directions that linear classifiers of “person”" in text
    assert "several windows together unless the directions are erased, anything but “person”" in text
    assert text.count("Against whom") == text.count("What it does not") == 3


def test_the_page_says_what_was_left_out_what_was_not_tested_and_how_to_run_again(html: str) -> None:
    text = _text(html)
    assert "laplace at ε = 1: fewer features" in text
    assert "row counts, gaps, time stamps and, if kept, names of recordings may reveal" in text
    assert "More than 64 windows" in text
    assert "<code>deeprotect evaluate policy.toml --data table.csv --out out</code>" in html
    assert "numpy 2.4.0" in text
    assert "0123456789abcdef" in text


def test_form_and_signal_are_shown_where_they_were_measured(html: str) -> None:
    text = _text(html)
    for shown in ("✓ yes", "✗ no", "off the sensor's grid", "acc_x g"):
        assert shown in text
    bare = _text(_html(_small([replace(made_results.rows()[0], signal={})])))
    assert not [word for word in ("The released signal", "left out") if word in bare]


def test_a_policy_that_names_nothing_sensitive_has_a_page_without_attackers() -> None:
    rows = [replace(row, sensitive={}) for row in made_results.rows() if row.guarantee == "ldp"]
    html = _html(_small(rows))
    _check_whole(html)
    text = _text(html)
    assert "No inference is named sensitive" in text
    assert "Any attacker: the policy names no sensitive inference" in text
    assert 'class="card sensitive"' not in html
    assert not [
        word for word in ("from useful labels", "Usefulness against disclosure", "Many windows") if word in text
    ]


def test_rows_without_pools_matrices_or_promise_still_make_a_page() -> None:
    row = made_results.row("features", "none", None, app=0.7, attack=0.2)
    attack = replace(row.sensitive["person"], pooled={}, pooled_raw={}, attackers={}, confusion=None)
    useful = {"what": replace(row.useful["exercise"], confusion=None)}
    html = _html(_small([replace(row, useful=useful, sensitive={"who": attack}, signal={})]))
    _check_whole(html)
    assert "without a promise" in html
    assert "every accuracy here is for one window" in html
    assert "Which classes" not in html


def test_the_headline_says_how_far_the_attacker_is_above_what_cannot_be_hidden() -> None:
    sentences = _text(_html(_small([made_results.row("laplace", "ldp", 5.0, app=0.7, attack=0.2)])))
    assert "“exercise” right in 70 % of windows (91 % raw)" in sentences
    assert (
        "from 80 % on raw windows to 20 %: 15 points more than guessing from the useful labels alone (5 %)" in sentences
    )
    hidden = _text(_html(_small([made_results.row("laplace", "ldp", 5.0, app=0.7, attack=0.01)])))
    assert "no better than guessing from the useful labels alone" in hidden


@pytest.mark.parametrize(
    ("split", "said"),
    [
        ("time", "same recordings"),
        ("recording", "same person may be"),
        ("subject", "split by subject"),
        ("", "People"),
    ],
)
def test_what_was_not_tested_depends_on_the_split(split: str, said: str) -> None:
    results = replace(made_results.results(), run={"split": split})
    assert said in _section(_html(results), "untested")


def test_attackers_and_epsilons_that_were_tried_are_named(html: str) -> None:
    lines = _section(html, "untested")
    assert "Other attackers than ridge, kernel ridge, random forest, gradient boosting, cnn, code table" in lines
    assert "Other ε than 1, 2, 5, 10." in lines


def test_reading_without_attackers_does_not_speak_of_them() -> None:
    rows = [replace(each, sensitive={}) for each in made_results.rows() if each.guarantee == "ldp"]
    lines = _section(_html(Results(rows)), "reading")
    assert "retrained one" not in lines
    assert "rldp" not in lines
