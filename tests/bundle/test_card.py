import pytest

from deeprotect.bundle.card import LIMITS, PROMISES, card


def test_the_card_says_what_is_promised_and_what_is_not(bundle):
    text = card(bundle)
    assert "ε = 5 ldp per window" in text
    assert PROMISES["ldp"] in text
    assert "T·ε" in text


@pytest.mark.parametrize("guarantee", ["ldp", "named", "rldp"])
def test_every_guarantee_has_words_for_both(guarantee):
    assert PROMISES[guarantee]
    assert LIMITS[guarantee]
