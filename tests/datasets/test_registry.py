"""The registry is data, and wrong data is refused."""

import pytest

from deeprotect.datasets import registry
from deeprotect.errors import DatasetError

GOOD = """
[x]
title = "t"
contains = "c"
publisher = "p"
homepage = "h"
licence = "l"
citation = "c"
rate_hz = 1.0
window_s = 1.0
labels = ["y"]
useful = ["y"]
sensitive = []
"""


def test_every_data_set_is_known_with_licence_and_citation() -> None:
    assert set(registry.names()) == {"watch", "hapt", "tmd", "taps", "fsdd", "motionsense"}
    for name in registry.names():
        entry = registry.entry(name)
        assert entry.licence
        assert entry.citation
        assert entry.files
        assert (entry.address is None) == (entry.package is not None)


def test_splits_of_publications_test_values_of_labels() -> None:
    for name in registry.names():
        for tested in registry.entry(name).splits.values():
            assert set(tested) <= set(registry.entry(name).labels)
    assert registry.entry("motionsense").splits == {"field": {"trial": ("11", "12", "13", "14", "15", "16")}}


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(DatasetError, match=r"'nope' is unknown; known: watch, hapt"):
        registry.entry("nope")


def test_a_good_registry_is_read() -> None:
    assert registry.parse(GOOD)["x"].labels == ("y",)


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        (GOOD.replace('licence = "l"', ""), "licence"),
        (GOOD + 'archive_sha256 = "123"', "archive_sha256"),
        (GOOD + 'colour = "red"', "colour"),
        (GOOD.replace("rate_hz = 1.0", "rate_hz = 0"), "rate_hz"),
        ("[x", "damaged"),
        ("x = 3", "damaged"),
    ],
)
def test_a_wrong_registry_is_refused_in_one_line(wrong: str, named: str) -> None:
    with pytest.raises(DatasetError, match=named) as caught:
        registry.parse(wrong)
    assert "\n" not in str(caught.value)
