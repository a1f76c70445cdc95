"""Usual column names for time, recording and person: Timestamp, Subject ID, trial.

The words are in names.toml.
"""

import re
import tomllib
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from importlib import resources
from typing import Self

from deeprotect.policy.known_sensors import bare
from deeprotect.policy.sections import Section

TIME, RECORDING, PERSON = "time", "recording", "person"


class _Names(Section):
    sure_time: str
    likely_time: str
    recording: str
    person: str
    telling: str

    def words(self, kind: str) -> frozenset[str]:
        return frozenset(getattr(self, kind).split())


_NAMES = _Names.model_validate(
    tomllib.loads(resources.files("deeprotect.policy").joinpath("names.toml").read_text(encoding="utf-8"))
)
_SURE_TIME, _LIKELY_TIME, _RECORDING, _PERSON, _TELLING = map(_NAMES.words, _Names.model_fields)
_SEPARATORS = re.compile(r"[\W_]+")
_UNIT_AT_END = re.compile(
    r"(?:^|[\s_.\-(\[]|(?<=[a-z])(?=[A-Z]))"  # at the start, after a separator, or at a camel-case word
    r"((?i:s|secs?|seconds|ms|millis|milliseconds|[uµμ]s|microseconds|ns|nanos|nanoseconds))[\])]?\s*$"
)
_PER_SECOND = {"s": 1, "m": 10**3, "u": 10**6, "µ": 10**6, "μ": 10**6, "n": 10**9}


@dataclass(frozen=True)
class FoundColumns:
    """Columns that may be the time, the recording or the person, by their names alone."""

    time: tuple[str, ...]
    recording: tuple[str, ...]
    person: tuple[str, ...]

    @classmethod
    def among(cls, names: Iterable[str], *, but: Collection[str] = ()) -> Self:
        """Search names; `but` lists columns that are known to be something else. A column with the plain name wins."""
        free = [name for name in names if name not in but]
        sure = _named(free, _SURE_TIME)
        time = sure or _named([name for name in free if name], _LIKELY_TIME)
        recording, person = _named(free, _RECORDING), _named(free, _PERSON)
        return cls(_plain(TIME, time), _plain(RECORDING, recording), tuple(person))


def is_telling(name: str) -> bool:
    """Whether a column's name suggests that it identifies people directly."""
    return _word(name) in _TELLING


def is_person(name: str) -> bool:
    """Whether a column's name suggests that it says which person was recorded."""
    return _word(name) in _PERSON | _TELLING


def ticks_per_second(name: str) -> int | None:
    """The unit in a time column's name, in ticks per second: `Time (ms)`, `t_us`, `timestampNs`."""
    found = _UNIT_AT_END.search(name)
    if found is None:
        return None
    unit = found[1].lower()
    return _PER_SECOND["u" if unit.startswith("micro") else unit[0]]


def _named(names: Iterable[str], words: Collection[str]) -> list[str]:
    return [name for name in names if _word(name) in words or _word(_UNIT_AT_END.sub("", name)) in words]


def _word(name: str) -> str:
    return _SEPARATORS.sub("", bare(name)).lower()


def _plain(word: str, names: list[str]) -> tuple[str, ...]:
    return (word,) if word in names else tuple(names)
