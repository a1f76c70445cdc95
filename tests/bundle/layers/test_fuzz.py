"""No network made up at random leaves its bounds, differs from exact whole numbers, or tells blocks apart."""

import pytest
from tests.bundle.layers.fuzz import NETWORKS, look


def test_networks_keep_what_their_layers_state():
    assert not look(NETWORKS).wrong


@pytest.mark.long
def test_many_networks_keep_what_their_layers_state():
    assert not look(3000, first=1 << 20).wrong
