"""The use of each column of a table: which one is a channel, time, recording or person, mapped or found by its name."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

from deeprotect.errors import AmbiguousColumnError, ArgumentError, MissingColumnError, printable
from deeprotect.policy import Policy
from deeprotect.policy.known_sensors import PERSON, RECORDING, TIME, FoundColumns, recognise
from deeprotect.policy.mistakes import nearest


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


@dataclass(frozen=True)
class Roles:
    """Columns by their use. `guessed` maps uses determined by name alone to the candidates."""

    time: str | None
    recording: str | None
    person: str | None
    channels: tuple[str, ...]
    guessed: dict[str, tuple[str, ...]]
    no_time: tuple[str, ...] = ()  # columns called time, although the user says there is none

    @property
    def columns(self) -> dict[str, str]:
        """The columns of time, recording and person, if known."""
        named = {TIME: self.time, RECORDING: self.recording, PERSON: self.person}
        return {name: column for name, column in named.items() if column}

    @property
    def unclear(self) -> tuple[str, ...]:
        """The uses with several candidates; for people, the first is used."""
        return tuple(name for name in (TIME, RECORDING) if len(self.guessed.get(name, ())) > 1)

    def settled(self, where: str, *, said: Sequence[str] = ()) -> "Roles":
        """For verbs that must not guess: refuse several candidates, and any guess for the uses in `said`."""
        asked = [name for name in said if name in self.guessed]
        for role in (*asked, *self.unclear):
            raise AmbiguousColumnError(where, role, self.guessed[role])
        return self


def roles_of(names: list[str], mapping: ColumnMap, *, channels: Sequence[str] | None = None, where: str) -> Roles:
    """Determine uses from the mapping, else from usual names; without `channels`, columns named like sensors are
    channels."""
    for name in mapping.demanded:
        if mapping[name] and mapping[name] not in names:
            raise MissingColumnError(where, mapping[name], names)
    free = {*(channels or ()), *mapping.labels, *mapping.values()}
    found, labels = FoundColumns.among(names, but=free), FoundColumns.among(n for n in names if n in mapping.labels)
    people = found.person or labels.person or tuple(name for name in mapping.people if name in names)
    candidates = {TIME: found.time, RECORDING: found.recording, PERSON: people}
    uses = {name: _said(name, names, mapping) for name in candidates}
    guessed = {name: those for name, those in candidates.items() if uses[name] is None and those}
    for name, those in guessed.items():
        uses[name] = those[0] if len(those) == 1 or name == PERSON else None
    taken = {*uses.values(), *mapping.labels}
    wanted = [name for name in names if name not in taken and recognise(name)] if channels is None else channels
    known = tuple(name for name in wanted if name in names)
    no_time = found.time if uses[TIME] == "" else ()
    return Roles(uses[TIME] or None, uses[RECORDING] or None, uses[PERSON] or None, known, guessed, no_time)


def _said(name: str, names: list[str], mapping: ColumnMap) -> str | None:
    """The mapped column, or the one with that name; "" if the user says there is none, None if unknown."""
    column = mapping.get(name)
    if column is not None and name in mapping.demanded:
        return column
    return next((each for each in (column, name) if each in names), None)
