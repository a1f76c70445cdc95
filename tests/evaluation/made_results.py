"""Results made by hand, of the shape a whole evaluation gives: two useful and two sensitive inferences, many rows."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from deeprotect.evaluation.excerpt import Excerpt
from deeprotect.evaluation.methods import line_name
from deeprotect.evaluation.results import (
    Confusion,
    FormCheck,
    Results,
    Row,
    Sensitive,
    Useful,
)
from deeprotect.policy import Policy
from deeprotect.privacy.guarantees import promise
from deeprotect.signals import Channel, Schema

EPSILON = 5.0
POOLS = (1, 2, 4, 8, 16, 32, 64)
EXERCISES = ("press", "curl", "squat", "row", "rest", "walk", "deadlift with bar")
POSES = ("standing", "sitting")
PEOPLE = tuple(f"p{number:02}" for number in range(1, 31))
SCHEMA = Schema(tuple(Channel(f"acc_{axis}", "g", -4.0, 4.0) for axis in "xyz"), rate_hz=10.0, window=10)
_ATTACKERS = ("ridge", "kernel_ridge", "random_forest", "gradient_boosting", "cnn")


def confusion(classes: Sequence[str], right: float) -> Confusion:
    size = len(classes)
    wrong = (1 - right) / max(1, size - 1)
    shares = np.full((size, size), wrong) + (right - wrong) * np.eye(size)
    return Confusion(classes, np.rint(200 * shares).astype(int).tolist())


def useful(app: float, *, clean: float = 0.91, classes: Sequence[str] = EXERCISES) -> Useful:
    chance = 1 / len(classes)
    return Useful(clean, app, (app - 0.02, app + 0.02), min(1.0, app + 0.03), 0.96, chance, confusion(classes, app))


def sensitive(
    adaptive: float, *, raw: float = 0.8, limit: float | None = 0.94, people: Sequence[str] = PEOPLE
) -> Sensitive:
    chance = 1 / len(people)
    pooled = {size: min(1.0, adaptive + 0.02 * math.log2(size)) for size in POOLS}
    pooled_raw = {size: min(1.0, raw + 0.03 * math.log2(size)) for size in POOLS}
    attackers = {name: adaptive - 0.01 * place for place, name in enumerate(_ATTACKERS)}
    return Sensitive(
        raw=raw,
        static=chance + 0.01,
        adaptive=adaptive,
        adaptive_ci=(max(0.0, adaptive - 0.02), adaptive + 0.02),
        best_attacker="ridge",
        pooled=pooled,
        chance=chance,
        from_useful=chance + 0.02,
        limit=limit,
        attackers=attackers,
        pooled_raw=pooled_raw,
        confusion=confusion(people, adaptive),
        pooled_blind=dict.fromkeys(POOLS, chance + 0.02),
    )


def row(
    mechanism: str,
    guarantee: str,
    epsilon: float | None,
    *,
    app: float,
    attack: float,
    feature_extractor: str = "default",
) -> Row:
    limit = None if guarantee in ("rldp", "none") else 0.94
    strength = 1 / (epsilon or 8)
    return Row(
        mechanism,
        guarantee,
        epsilon,
        feature_extractor,
        {"exercise": useful(app), "pose": useful(min(1.0, app + 0.05), clean=0.97, classes=POSES)},
        {
            "person": _told_by_codes(mechanism, sensitive(attack, limit=limit)),
            "left handed": sensitive(0.5 + attack / 2, raw=0.9, limit=limit, people=("no", "yes")),
        },
        promise(guarantee, epsilon, sensitive=["person"]).promised,
        {channel.name: 0.2 + strength + 0.05 * place for place, channel in enumerate(SCHEMA.channels)},
    )


def _told_by_codes(mechanism: str, found: Sensitive) -> Sensitive:
    """Releases of a code book meet one attacker more."""
    if mechanism != "channel":
        return found
    at_most = {size: min(1.0, 0.2 + 0.1 * math.log2(size)) for size in (1, *POOLS)}
    return replace(found, attackers={**found.attackers, "code_table": 0.02}, at_most=at_most)


_MAIN = (
    ("baseline", "ldp", "none", (0.15, 0.16, 0.19, 0.26), 0.05),
    ("paper", "ldp", "paper", (0.14, 0.15, 0.15, 0.16), 0.04),
    ("laplace", "ldp", "default", (0.24, 0.39, 0.66, 0.83), 0.07),
    ("paper", "rldp", "paper", (0.18, 0.2, 0.24, 0.3), 0.09),
    ("channel", "ldp", "code book", (0.32, 0.51, 0.89, 0.91), 0.05),
    ("channel", "rldp", "code book", (0.31, 0.5, 0.88, 0.9), 0.04),
)


def rows() -> list[Row]:
    found = []
    for mechanism, guarantee, feature_extractor, apps, attack in _MAIN:
        for epsilon, app in zip((1.0, 2.0, 5.0, 10.0), apps, strict=True):
            gained = attack * (1 + epsilon / 10)
            found.append(
                row(mechanism, guarantee, epsilon, app=app, attack=gained, feature_extractor=feature_extractor)
            )
    return [*found, row("features", "none", None, app=0.88, attack=0.24)]


def results() -> Results:
    return Results(
        rows(),
        form=[
            FormCheck("rate", True, "10 Hz, as before"),
            FormCheck("range", True, "inside −4 … 4 g on every channel"),
            FormCheck("resolution", False, "values off the sensor's grid of 0.001 g"),
        ],
        left_out=["laplace at ε = 1: fewer features than the policy asks for"],
        run={
            "command": "deeprotect evaluate policy.toml --data table.csv --out out",
            "data": "table.csv, 48,210 rows",
            "fingerprint": "sha256:" + "0123456789abcdef" * 4,
            "split": "time",
            "windows": "3,412 to train on, 1,409 to test on",
            "seed": 0,
            "versions": {"deeprotect": "0.3.0", "Python": "3.11.7", "numpy": "2.4.0"},
        },
    )


def excerpt() -> Excerpt:
    time = np.arange(100) / 10
    waves = np.stack([0.5 + 0.3 * np.sin(2 * time + place) for place in range(3)], axis=1)
    windows = waves.reshape(10, 30)
    noise = np.random.default_rng(0).normal(0, 0.1, windows.shape)
    lines = dict.fromkeys(line_name(mechanism, guarantee) for mechanism, guarantee, *_ in _MAIN)
    released = {line: windows + noise * place for place, line in enumerate(lines, 1)}
    return Excerpt(windows, SCHEMA, 0, EPSILON, "average", "the mean of 8 people", released)


def policy(**privacy: object) -> Policy:
    """Results whose leading row determines the page."""
    channels = {each.name: {"unit": each.unit, "range": [each.low, each.high]} for each in SCHEMA.channels}
    return Policy.from_tables(
        {
            "version": 1,
            "stream": {"rate_hz": SCHEMA.rate_hz, "window": SCHEMA.window, "channels": channels},
            "inferences": {"useful": ["exercise"], "sensitive": ["person"]},
            "privacy": {"epsilon": EPSILON, "guarantee": "ldp", **privacy},
        }
    )
