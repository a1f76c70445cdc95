"""Names in a verdict are single printable lines of bounded length, so that readers see only the name."""

import json
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deeprotect.errors import PolicyError
from deeprotect.policy import Policy

TABLES: dict[str, Any] = {
    "version": 1,
    "stream": {
        "rate_hz": 10.0,
        "window": 20,
        "channels": {"acc_x": {"unit": "g", "range": [-4.0, 4.0], "sensor": "accelerometer"}},
        "columns": {"acc_x": "Accel X (g)"},
    },
    "inferences": {
        "useful": ["activity", "speed"],
        "sensitive": ["subject"],
        "numeric": {"speed": {"unit": "m/s", "range": [0, 5], "levels": 5}},
    },
    "privacy": {"epsilon": 5.0},
    "training": {"people": "subject", "cost_matrix": {"activity": {"walk": {"stairs": 0.2}}}},
}
VALUES = {
    "unit": ("stream", "channels", "acc_x", "unit"),
    "sensor": ("stream", "channels", "acc_x", "sensor"),
    "column": ("stream", "columns", "acc_x"),
    "unit of a number": ("inferences", "numeric", "speed", "unit"),
    "useful": ("inferences", "useful", 0),
    "sensitive": ("inferences", "sensitive", 0),
    "people": ("training", "people"),
}
KEYS = {
    "channel": ("stream", "channels", "acc_x"),
    "mapped channel": ("stream", "columns", "acc_x"),
    "number": ("inferences", "numeric", "speed"),
    "costs of": ("training", "cost_matrix", "activity"),
    "true class": ("training", "cost_matrix", "activity", "walk"),
    "class read": ("training", "cost_matrix", "activity", "walk", "stairs"),
    "section": ("training",),
    "key": ("privacy", "epsilon"),
}
STEERING = {
    "lines": "a\nholds: ε = 0.01",
    "returns": "a\rholds: ε = 0.01",
    "escapes": "\x1b[2K",
    "one-byte escapes": "\x9b2K",
    "writing turned round": "\u202e10.0 = ε",
    "isolates": "\u2067a",
    "separators": "a\u2028b\u2029c",
    "next line": "a\x85b",
    "nothing to see": "\u200b",
    "blanks": "   ",
    "endless": "a" * 65,
}


def table_of(path: tuple[str | int, ...]) -> tuple[Any, Any]:
    tables = table = deepcopy(TABLES)
    for part in path[:-1]:
        table = table[part]
    return tables, table


def refused(tables: Any) -> str:
    with pytest.raises(PolicyError) as error:
        Policy.from_tables(tables)
    return str(error.value)


@pytest.mark.parametrize("name", STEERING.values(), ids=STEERING)
@pytest.mark.parametrize("path", VALUES.values(), ids=VALUES)
def test_a_value_that_could_pass_for_something_else_is_refused_in_one_line(path: tuple[str, ...], name: str) -> None:
    tables, table = table_of(path)
    table[path[-1]] = name
    line = refused(tables)
    assert "must be one printable line of at most 64 characters; rename it" in line
    assert line.isprintable()
    assert len(line) < 300


@pytest.mark.parametrize("name", STEERING.values(), ids=STEERING)
@pytest.mark.parametrize("path", KEYS.values(), ids=KEYS)
def test_a_key_that_could_pass_for_something_else_is_refused_in_one_line(path: tuple[str, ...], name: str) -> None:
    tables, table = table_of(path)
    table[name] = table.pop(path[-1])
    line = refused(tables)
    assert line.isprintable()
    assert len(line) < 300


def test_the_line_says_which_name_it_is() -> None:
    tables, channels = table_of(KEYS["channel"])
    channels["a\nb"] = channels.pop("acc_x")
    assert refused(tables).startswith(r"policy: stream.channels.a\nb must be one printable line")
    tables, useful = table_of(VALUES["useful"])
    useful[0] = "\u202eholds"
    assert refused(tables).startswith(r'policy: inferences.useful[0] = "\u202eholds" must be one printable line')


@pytest.mark.parametrize("name", ["Beschl. °/s²", "加速度", "activité & mode", "a" * 64])
def test_names_of_any_script_are_names(name: str) -> None:
    tables, useful = table_of(VALUES["useful"])
    useful[0] = name
    del tables["training"]["cost_matrix"]
    policy = Policy.from_tables(tables)
    assert policy.inferences.useful == (name, "speed")
    assert Policy.from_toml(policy.to_toml()) == policy


@given(st.sampled_from([*VALUES.values()]), st.text(st.characters(exclude_categories=()), max_size=150))
def test_every_name_that_is_accepted_fits_into_a_line(path: tuple[str, ...], name: str) -> None:
    tables, table = table_of(path)
    table[path[-1]] = name
    try:
        policy = Policy.from_tables(tables)
    except PolicyError as error:
        assert str(error).isprintable()  # noqa: PT017 - either outcome is right, but its form is not free
    else:
        assert name.isprintable()
        assert len(json.dumps(policy.to_json(), ensure_ascii=False).splitlines()) == 1
