"""The mapping from a channel, `time`, `recording` or person to a table's column, stated by users."""

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
    """A policy's names → a table's columns. A plain mapping also works if no labels are known.

    `labels` are columns never used as time or recording, whatever their names. `demanded` are the names mapped for this
    table, which must have their columns. An empty column states that the table has none. `guesses` allows a column with
    a name like time to be used as time. `renamed` are columns to read under the name of a channel before there is a
    policy. `people` are columns that may identify people: users are asked about them, and they are never used unasked.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    labels: frozenset[str] = frozenset()
    demanded: frozenset[str] = frozenset()
    guesses: bool = True
    renamed: Mapping[str, str] = field(default_factory=dict)
    people: tuple[str, ...] = ()

    @classmethod
    def of(cls, policy: Policy, here: Mapping[str, str] | None = None) -> Self:
        """The policy's mapping, with `here` for this table: `{"time": "Timestamp", "recording": ""}`."""
        columns = _checked(here or {}, known=(*policy.stream.channels, TIME, RECORDING, PERSON))
        _check_uses(columns, policy)
        people = {PERSON: policy.training.people} if policy.training.people else {}
        labels = frozenset([*policy.inferences.useful, *policy.inferences.sensitive, *people.values()])
        return cls({**people, **policy.stream.columns, **columns}, labels, frozenset(columns))

    @classmethod
    def of_release(cls, policy: Policy, here: Mapping[str, str] | None = None) -> Self:
        """Channels as in the bundle's policy; time, recording and person as in `here`, or columns with these names.

        Those are released, or decide who is charged: otherwise a bundle's author could choose columns of other people's
        tables. If the policy names a column of people, users are asked: in one account, the draws of ten people would
        count as one's.
        """
        said, uses = cls.of(policy, here), (TIME, RECORDING, PERSON)
        columns = {name: column for name, column in said.items() if name not in uses or name in said.demanded}
        trained = [policy.training.people] if policy.training.people else []
        people = tuple(dict.fromkeys([*trained, *policy.inferences.sensitive]))
        return replace(said, columns=columns, guesses=False, people=people)

    @classmethod
    def without_policy(cls, here: Mapping[str, str] | None = None, labels: Iterable[str] = ()) -> Self:
        """Only the mapping for this table; columns named like sensors are channels."""
        sensors = tuple(name for name in here or {} if recognise(name))
        columns = _checked(here or {}, known=(TIME, RECORDING, PERSON, *sensors))
        channels = {columns.pop(name): name for name in sensors}
        return cls(columns, frozenset(labels), frozenset(columns), renamed=channels)

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, str]) -> "ColumnMap":
        return mapping if isinstance(mapping, ColumnMap) else cls(mapping)

    def column_of(self, channel: str, names: Collection[str]) -> str:
        """The column of a channel in a table with these names: the mapped one, or the one with its own name if that is
        missing.

        So a policy written for a raw table also fits the output of `prepare`.
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
    """Refuse a column used twice, and an inference released as time or recording."""
    inferences = (*policy.inferences.useful, *policy.inferences.sensitive)
    whole = {name: policy.stream.column(name) for name in policy.stream.channels} | dict(here)
    for name, column in here.items():
        other = next((each for each, taken in whole.items() if column and taken == column and each != name), None)
        if other is not None:
            raise _wrong(name, column, f"that column is read as '{printable(other)}'; map each column once")
        if name in (TIME, RECORDING) and column in inferences:
            raise _wrong(
                name, column, f"that is an inference, and {name} is released unchanged; copy it under another name"
            )


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
