"""What the sections of a policy say about each other: defaults that depend on another one, and whether all agree."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from deeprotect.policy.durations import duration, seconds
from deeprotect.policy.mistakes import nearest
from deeprotect.policy.sections import Inferences, Privacy, Training
from deeprotect.policy.stream_section import Stream

MOST_HELD_VALUES = 1 << 23
"""Of the windows of an episode, which are all in memory at a time."""
MOST_HELD_WINDOWS = 86_400
"""A day of windows of one second: what each of them shows is kept, live for every stream by itself."""


def settle_defaults(data: Any) -> Any:
    """Tables with what follows from others filled in; the sections refuse whatever is malformed."""
    if not isinstance(data, dict):
        return data
    tables = {name: _as_table(section) for name, section in data.items()}
    privacy, training = tables.get("privacy"), tables.setdefault("training", {})
    if isinstance(privacy, dict):
        privacy.setdefault("guarantee", "named" if _get(tables, "inferences", "sensitive") else "ldp")
    if isinstance(training, dict):
        paper = _get(tables, "privacy", "mechanism") == "paper"
        training.setdefault("minimiser", "paper" if paper else "default")
        training.setdefault("features", _default_features(tables))
    return tables


def check_agreement(stream: Stream, inferences: Inferences, privacy: Privacy, training: Training) -> None:
    """A ValueError that names the keys and the fix."""
    _check_inferences(stream, inferences, privacy)
    _check_hold(stream, privacy)
    _check_training(stream, privacy, training)
    _check_costs(inferences, training)


def check_budget(privacy: Privacy) -> None:
    """Of a policy as somebody wrote it: where it is varied, to try another ε, its limits may be of no use."""
    least = min(privacy.epsilon, privacy.ldp_ceiling or privacy.epsilon)
    for name, limit in privacy.budget.limits.items():
        if limit < least:
            raise ValueError(f"privacy.budget.{name} = {limit:g} covers not a single draw of ε = {least:g}; raise it")


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
            f"stream.columns reads time or recording from '{passing[0]}', an inference; those leave as they are, "
            "so copy that column under another name"
        )


def _check_hold(stream: Stream, privacy: Privacy) -> None:
    if privacy.every is None:
        if privacy.listen is not None:
            raise ValueError('privacy.listen needs privacy.every, how long a draw is held; add every = "30 s"')
        return
    window = stream.window_seconds
    windows = seconds(privacy.every) / window
    if windows.denominator != 1:
        below, above = (duration(number * window) for number in (max(1, int(windows)), int(windows) + 1))
        fix = f'use "{below}" or "{above}"' if windows > 1 else f'use "{duration(window)}" or more'
        raise ValueError(f'privacy.every = "{privacy.every}" is no whole number of windows; {fix}')
    most = min(MOST_HELD_WINDOWS, MOST_HELD_VALUES // stream.dim)
    if windows > most:
        raise ValueError(f'privacy.every = "{privacy.every}" is too long; use at most "{duration(most * window)}"')
    if privacy.listen is not None and privacy.listen > windows:
        raise ValueError(f"privacy.listen = {privacy.listen} is more than the {windows} windows of an episode")


def _check_training(stream: Stream, privacy: Privacy, training: Training) -> None:
    features, dim = training.features, stream.dim
    if features > dim:
        raise ValueError(f"training.features = {features} exceeds the {dim} values of a window; use at most {dim}")
    if privacy.mechanism == "paper" and training.minimiser != "paper":
        raise ValueError(
            f'training.minimiser = "{training.minimiser}" does not fit privacy.mechanism = "paper"; '
            'use minimiser = "paper"'
        )


def _check_costs(inferences: Inferences, training: Training) -> None:
    strangers = [name for name in training.cost_matrix if name not in inferences.useful]
    if strangers:
        meant = nearest(strangers[0], list(inferences.useful))
        fix = f"did you mean {meant}?" if meant else f"useful: {', '.join(inferences.useful)}"
        raise ValueError(f"training.cost_matrix.{strangers[0]} is not in inferences.useful; {fix}")


def _default_features(tables: dict[str, Any]) -> int:
    """The paper's 7, or the whole window where it is smaller."""
    window, channels = _get(tables, "stream", "window"), _get(tables, "stream", "channels")
    whole = isinstance(window, int) and isinstance(channels, dict) and window * len(channels)
    return min(7, whole) if whole and whole > 0 else 7


def _get(tables: dict[str, Any], section: str, key: str) -> Any:
    table = tables.get(section)
    return table.get(key) if isinstance(table, dict) else None


def _as_table(section: Any) -> Any:
    """A copy that may be filled in; sections built in Python keep only what was set."""
    if isinstance(section, BaseModel):
        return section.model_dump(exclude_unset=True)
    return dict(section) if isinstance(section, Mapping) else section
