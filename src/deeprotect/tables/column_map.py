"""Which column of a table is meant by a channel's name, by `time` and by `recording`; said, not guessed."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Self

from deeprotect.errors import ArgumentError, printable
from deeprotect.policy import Policy
from deeprotect.policy.known_sensors import recognise
from deeprotect.policy.mistakes import nearest
from deeprotect.policy.usual_names import PERSON, RECORDING, TIME


@dataclass(frozen=True)
class ColumnMap(Mapping[str, str]):
    """A policy's names → a table's columns. A plain mapping does as well, where no labels are known.

    `labels` are columns that are never taken for time or recording, whatever they are called. `demanded` are the names
    mapped for the table at hand: it must have their columns. An empty column says that the table has none.
    `guesses` says whether a column that is only called like the time may be taken for it. `renamed` are columns that
    are read under the name of a channel, where there is no policy yet that says so. `people` are columns that may tell
    people apart: they are asked about, never taken.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    labels: frozenset[str] = frozenset()
    demanded: frozenset[str] = frozenset()
    guesses: bool = True
    renamed: Mapping[str, str] = field(default_factory=dict)
    people: tuple[str, ...] = ()

    @classmethod
    def of(cls, policy: Policy, here: Mapping[str, str] | None = None) -> Self:
        """As the policy says, and `here`, for the table at hand: `{"time": "Timestamp", "recording": ""}`."""
        columns = _checked(here or {}, known=(*policy.stream.channels, TIME, RECORDING, PERSON))
        _check_uses(columns, policy)
        people = {PERSON: policy.training.people} if policy.training.people else {}
        labels = frozenset([*policy.inferences.useful, *policy.inferences.sensitive, *people.values()])
        return cls({**people, **policy.stream.columns, **columns}, labels, frozenset(columns))

    @classmethod
    def of_release(cls, policy: Policy, here: Mapping[str, str] | None = None) -> Self:
        """Channels as the bundle's policy says; time, recording and person as `here` does, or under these very names.

        They leave, or are charged: whoever made the bundle could otherwise choose which column of another's table is.
        What it says about people makes us ask: in one account, the draws of ten people would count as one's.
        """
        said, uses = cls.of(policy, here), (TIME, RECORDING, PERSON)
        columns = {name: column for name, column in said.items() if name not in uses or name in said.demanded}
        trained = [policy.training.people] if policy.training.people else []
        people = tuple(dict.fromkeys([*trained, *policy.inferences.sensitive]))
        return replace(said, columns=columns, guesses=False, people=people)

    @classmethod
    def without_policy(cls, here: Mapping[str, str] | None = None, labels: Iterable[str] = ()) -> Self:
        """Only what is said for the table at hand; what is called like a sensor is a channel."""
        sensors = tuple(name for name in here or {} if recognise(name))
        columns = _checked(here or {}, known=(TIME, RECORDING, PERSON, *sensors))
        channels = {columns.pop(name): name for name in sensors}
        return cls(columns, frozenset(labels), frozenset(columns), renamed=channels)

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, str]) -> "ColumnMap":
        return mapping if isinstance(mapping, ColumnMap) else cls(mapping)

    def column_of(self, channel: str, names: Collection[str]) -> str:
        """The column of a channel in a table with these names: as mapped, or of its own name where that one is gone.

        A policy written for a raw table so fits what `prepare` made of it, too.
        """
        column = self.get(channel, channel)
        own = column not in names and channel in names and channel not in self.demanded
        return channel if own else column

    def __getitem__(self, name: str) -> str:
        return self.columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)


def _check_uses(here: Mapping[str, str], policy: Policy) -> None:
    """No column is read as two things, and none that is to be inferred leaves as a time or a recording."""
    inferences = (*policy.inferences.useful, *policy.inferences.sensitive)
    whole = {name: policy.stream.column(name) for name in policy.stream.channels} | dict(here)
    for name, column in here.items():
        other = next((each for each, taken in whole.items() if column and taken == column and each != name), None)
        if other is not None:
            raise _wrong(name, column, f"that column is read as '{printable(other)}'; map each column once")
        if name in (TIME, RECORDING) and column in inferences:
            raise _wrong(name, column, f"that is an inference, and {name} leaves as it is; copy it under another name")


def _checked(here: Mapping[str, str], *, known: tuple[str, ...]) -> dict[str, str]:
    for name, column in here.items():
        if name not in known:
            meant = nearest(name, list(known))
            fix = f"did you mean '{printable(meant)}'?" if meant else f"use one of: {printable(', '.join(known), 300)}"
            raise _wrong(name, column, f"'{printable(name)}' cannot be mapped; {fix}")
        if not column and name not in (TIME, RECORDING, PERSON):
            raise _wrong(name, column, "a channel needs a column; name one")
    return dict(here)


def _wrong(name: str, column: str, reason: str) -> ArgumentError:
    return ArgumentError("map", reason, {name: column})
