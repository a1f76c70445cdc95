"""Any policy survives files and manifests, and invalid ones get one line."""

import json
import math

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.policy.test_policy import COSTS

from deeprotect.errors import PolicyError
from deeprotect.policy import Policy

letters = st.characters(categories=("L", "M", "N", "P", "S"), include_characters=" ")  # whatever prints
names = st.text(letters, min_size=1, max_size=12).filter(
    lambda name: name.strip() and name not in ("time", "recording")
)
numbers = st.floats(-1e9, 1e9)
rows_of_costs = st.dictionaries(names, st.dictionaries(names, st.floats(0, 1), min_size=1, max_size=3), max_size=3).map(
    lambda rows: {true: {**row, true: 0.0} for true, row in rows.items()}
)


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    drawn = draw(st.lists(names, min_size=3, max_size=8, unique=True))
    useful, sensitive, *channels = drawn
    ranges = [sorted(draw(st.tuples(numbers, numbers).filter(lambda pair: pair[0] != pair[1]))) for _ in channels]
    limits = st.tuples(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6)).map(lambda pair: [pair[0], pair[0] + pair[1]])
    number = st.fixed_dictionaries({"unit": names, "range": limits, "levels": st.integers(2, 64)})
    numeric = draw(st.lists(st.tuples(st.just(useful), number), max_size=1))
    tables = {
        "version": 1,
        "stream": {
            "rate_hz": draw(st.floats(1e-3, 1e5)),
            "window": draw(st.integers(1, 10_000)),
            "channels": {
                name: {"unit": draw(names), "range": limits} for name, limits in zip(channels, ranges, strict=True)
            },
        },
        "inferences": {
            "useful": [useful],
            "sensitive": draw(st.sampled_from([[], [sensitive]])),
            "numeric": dict(numeric),
        },
        "privacy": {"epsilon": draw(st.floats(1e-6, 1e3))},
        "training": {"cost_matrix": {useful: costs} if not numeric and (costs := draw(rows_of_costs)) else {}},
    }
    return Policy.from_tables(tables)


@settings(deadline=None)
@given(policies())
def test_a_policy_survives_toml_unchanged(policy: Policy) -> None:
    returned = Policy.from_toml(policy.to_toml())
    assert returned == policy
    assert list(returned.stream.channels) == list(policy.stream.channels)


@settings(deadline=None)
@given(policies())
def test_a_manifest_keeps_the_channels_in_order_even_when_its_keys_are_sorted(policy: Policy) -> None:
    manifest = json.dumps(policy.to_json(), sort_keys=True)
    returned = Policy.from_json(json.loads(manifest))
    assert returned == policy
    assert returned.schema().names == policy.schema().names


toml_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.dates(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
KEYS = [
    ("version",), ("stream",), ("inferences",), ("privacy",), ("training",),
    ("stream", "channels"), ("stream", "columns"), ("stream", "window"), ("stream", "rate_hz"),
    ("stream", "channels", "acc_x"), ("stream", "channels", "acc_x", "range"),
    ("stream", "channels", "acc_x", "resolution"), ("inferences", "useful"), ("inferences", "sensitive"),
    ("inferences", "numeric"), ("inferences", "numeric", "activity"),
    ("privacy", "epsilon"), ("privacy", "guarantee"), ("privacy", "mechanism"), ("privacy", "every"),
    ("training", "features"), ("training", "seed"), ("training", "feature_extractor"), ("strange",),
    ("stream", "strange"),
    ("training", "cost_matrix"), ("training", "cost_matrix", "activity"),
    ("training", "cost_matrix", "activity", "walk"), ("training", "cost_matrix", "activity", "walk", "stairs"),
]  # fmt: skip


@settings(deadline=None)
@given(st.sampled_from(KEYS), toml_values)
def test_whatever_stands_under_a_key_is_read_or_refused_in_one_line(path: tuple[str, ...], value: object) -> None:
    tables = json.loads(json.dumps(Policy.from_toml(COSTS).model_dump(exclude_none=True)))
    table = tables
    for part in path[:-1]:
        table = table[part]
    table[path[-1]] = value
    try:
        policy = Policy.from_tables(tables)
    except PolicyError as refused:
        assert str(refused).isprintable()  # noqa: PT017 - either outcome is right, but its form is not free
    else:
        assert policy.privacy.epsilon > 0
        assert math.isfinite(policy.privacy.epsilon)
