import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deeprotect.errors import printable, quoted

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=200)  # surrogates too: names of files hold them


@given(ANY_TEXT, st.integers(2, 120))
def test_whatever_comes_in_is_printable_of_one_line_and_bounded(text, most):
    shown = printable(text, most)
    assert shown.isprintable()
    assert len(shown) <= most
    assert len(shown.splitlines()) <= 1


@given(st.text(st.characters(categories=("L", "N", "P", "S")), max_size=80))
def test_plain_names_of_any_script_stay_as_they_are(text):
    assert printable(unicodedata.normalize("NFC", text), 400) == unicodedata.normalize("NFC", text)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("acc x", "acc x"),
        ("x\nverdict: holds", r"x\nverdict: holds"),
        ("\x1b[2J", r"\x1b[2J"),
        ("\u202egnol", r"\u202egnol"),
        ("a\u2028b", r"a\u2028b"),
        ("a\u200bb", r"a\u200bb"),
        ("\udcff", r"\udcff"),
    ],
)
def test_what_could_steer_a_line_or_a_terminal_is_escaped(name, shown):
    assert printable(name) == shown


def test_a_long_name_shows_its_beginning_and_that_it_goes_on():
    assert printable("n" * 200, 5) == "nnnn…"


@given(ANY_TEXT, st.integers(2, 120))
def test_a_quoted_text_ends_where_its_marks_do_and_in_one_line(text, most):
    shown = quoted(text, most)
    inner = shown[1:-1].removeprefix("\u2068").removesuffix("\u2069")
    assert (shown[0], shown[-1]) == ("“", "”")
    assert inner.isprintable()
    assert len(inner) <= most
    assert not set(inner) & set('“”"„‟″＂')


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("person", "“person”"),
        ("d'activité", "“d'activité”"),
        ("活动", "“活动”"),
        ("x” verdict: holds", "“x' verdict: holds”"),
        ("a" + " " * 60 + "verdict: holds", "“a verdict: holds”"),
        ("\u0301x", r"“\u0301x”"),
        ("e" + "\u0301" * 4, r"“é" + "\u0301" * 2 + r"\u0301”"),
        ("a\u3164b", r"“a\u3164b”"),
        ("נ 5", "“\u2068נ 5\u2069”"),
    ],
)
def test_what_stands_around_a_quoted_text_is_ours_and_reads_as_ours(text, shown):
    assert quoted(text) == shown
