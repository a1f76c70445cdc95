"""Agreement between the sections of a policy: defaults that depend on other sections, and contradictions."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from pydantic import BaseModel

from deeprotect.policy.mistakes import meant_or
from deeprotect.policy.sections import Inferences, Privacy, Stream, Training, duration, seconds
from deeprotect.privacy.size_limits import MOST_SLOTS

MOST_HELD_VALUES = 1 << 23
"""Largest number of values in an episode's windows, which are all in memory at a time."""
MOST_HELD_WINDOWS = 86_400
"""A day of windows of one second: each live stream keeps the codes of all of them."""


def settle_defaults(data: Any) -> Any:
    """Fill in defaults that depend on other keys; the sections refuse anything malformed."""
    if not isinstance(data, dict):
        return data
    tables = {name: _as_table(section) for name, section in data.items()}
    privacy, training = tables.get("privacy"), tables.setdefault("training", {})
    if isinstance(privacy, dict):
        privacy.setdefault("guarantee", "ldp")
    if isinstance(training, dict):
        paper = _get(tables, "privacy", "mechanism") == "paper"
        training.setdefault("feature_extractor", "paper" if paper else "default")
        training.setdefault("features", _default_features(tables))
    return tables


def check_agreement(stream: Stream, inferences: Inferences, privacy: Privacy, training: Training) -> None:
    """Raise a ValueError that names the keys and the fix if sections contradict each other."""
    _check_inferences(stream, inferences, privacy)
    _check_hold(stream, privacy)
    _check_training(stream, privacy, training)
    _check_costs(inferences, training)


def check_budget(privacy: Privacy) -> None:
    """Check the limits of a policy as written; variants with another ε may have limits that allow no draw."""
    for name, limit in privacy.budget.limits.items():
        if limit < privacy.epsilon:
            raise ValueError(
                f"privacy.budget.{name} = {limit:g} is less than one draw costs, ε = {privacy.epsilon:g}; raise it"
            )


def _check_inferences(stream: Stream, inferences: Inferences, privacy: Privacy) -> None:
    guarantee, every = privacy.guarantee, (*inferences.useful, *inferences.sensitive)
    if guarantee != "ldp" and not inferences.sensitive:
        raise ValueError(
            f'privacy.guarantee = "{guarantee}" needs inferences.sensitive; name the inferences to hide, or use "ldp"'
        )
    columns = [stream.column(name) for name in stream.channels]
    channels = [name for name in every if name in columns]
    if channels:
        raise ValueError(f"'{channels[0]}' is both a channel and an inference; rename the label column")
    passing = [name for name in every if name in stream.columns.values()]
    if passing:
        raise ValueError(
            f"stream.columns reads time or recording from '{passing[0]}', an inference; both are released unchanged, "
            "so copy that column under another name"
        )


def _check_hold(stream: Stream, privacy: Privacy) -> None:
    if privacy.every is None:
        for key in ("listen", "slots"):
            if getattr(privacy, key) is not None:
                raise ValueError(f'privacy.{key} needs privacy.every, how long a draw is held; add every = "10 min"')
        if privacy.changes is not None:
            raise ValueError("privacy.changes needs a script; add every and slots, or remove it")
        return
    windows = _whole("every", privacy.every, stream.window_seconds, "windows")
    most = min(MOST_HELD_WINDOWS, MOST_HELD_VALUES // stream.dim)
    if windows > most:
        longest = duration(most * stream.window_seconds)
        raise ValueError(f'privacy.every = "{privacy.every}" is too long; use at most "{longest}"')
    if privacy.listen is not None and privacy.listen > windows:
        raise ValueError(f"privacy.listen = {privacy.listen} is more than the {windows} windows of an episode")
    _check_slots(stream, privacy)


def _check_slots(stream: Stream, privacy: Privacy) -> None:
    if privacy.slots is None or privacy.every is None:
        if privacy.changes is not None:
            raise ValueError('privacy.changes needs privacy.slots, the steps of a script; add slots = "30 s"')
        return
    _whole("slots", privacy.slots, stream.window_seconds, "windows")
    slots = _whole("every", privacy.every, seconds(privacy.slots), "slots")
    if not 2 <= slots <= MOST_SLOTS:
        raise ValueError(
            f'privacy.every = "{privacy.every}" has {slots} slots of "{privacy.slots}"; use 2 to {MOST_SLOTS}'
        )
    if privacy.changes is not None and privacy.changes >= slots:
        raise ValueError(f"privacy.changes = {privacy.changes} is too many for {slots} slots; use fewer")
    if privacy.listen is not None:
        raise ValueError("privacy.listen cannot be combined with privacy.slots: a script uses every window; remove it")
    if privacy.mechanism not in ("auto", "channel"):
        raise ValueError(
            f'privacy.mechanism = "{privacy.mechanism}" cannot release scripts; use "channel", or remove slots'
        )


def _whole(key: str, length: str, unit: Fraction, units: str) -> int:
    """Number of units in a length; must be a whole number."""
    count = seconds(length) / unit
    if count.denominator == 1:
        return count.numerator
    below, above = (duration(number * unit) for number in (max(1, int(count)), int(count) + 1))
    fix = f'use "{below}" or "{above}"' if count > 1 else f'use "{duration(unit)}" or more'
    raise ValueError(f'privacy.{key} = "{length}" is no whole number of {units}; {fix}')


def _check_training(stream: Stream, privacy: Privacy, training: Training) -> None:
    features, dim = training.features, stream.dim
    if features > dim:
        raise ValueError(f"training.features = {features} exceeds the {dim} values of a window; use at most {dim}")
    if privacy.mechanism == "paper" and training.feature_extractor != "paper":
        raise ValueError(
            f'training.feature_extractor = "{training.feature_extractor}" does not fit privacy.mechanism = "paper"; '
            'use feature_extractor = "paper"'
        )


def _check_costs(inferences: Inferences, training: Training) -> None:
    strangers = [name for name in training.cost_matrix if name not in inferences.useful]
    if strangers:
        fix = meant_or(strangers[0], list(inferences.useful), "useful")
        raise ValueError(f"training.cost_matrix.{strangers[0]} is not in inferences.useful; {fix}")
    numbers = [name for name in training.cost_matrix if name in inferences.numeric]
    if numbers:
        raise ValueError(f"training.cost_matrix.{numbers[0]} is for a number, whose cost is the distance; remove one")


def _default_features(tables: dict[str, Any]) -> int:
    """The paper's 7, or the window's length if that is smaller."""
    window, channels = _get(tables, "stream", "window"), _get(tables, "stream", "channels")
    whole = isinstance(window, int) and isinstance(channels, dict) and window * len(channels)
    return min(7, whole) if whole and whole > 0 else 7


def _get(tables: dict[str, Any], section: str, key: str) -> Any:
    table = tables.get(section)
    return table.get(key) if isinstance(table, dict) else None


def _as_table(section: Any) -> Any:
    """A copy for filling in defaults; sections built in Python keep only the keys that were set."""
    if isinstance(section, BaseModel):
        return section.model_dump(exclude_unset=True)
    return dict(section) if isinstance(section, Mapping) else section
