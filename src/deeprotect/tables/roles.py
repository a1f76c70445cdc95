"""The use of each column of a table: time, recording, person, channels; determined here for every verb."""

from collections.abc import Sequence
from dataclasses import dataclass

from deeprotect.errors import AmbiguousColumnError, MissingColumnError
from deeprotect.policy.known_sensors import recognise
from deeprotect.policy.usual_names import PERSON, RECORDING, TIME, FoundColumns
from deeprotect.tables.column_map import ColumnMap


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
