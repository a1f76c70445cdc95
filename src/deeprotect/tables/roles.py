"""What each column of a table is for, before or without a policy: time, recording, person, channels."""

from dataclasses import dataclass

from deeprotect.errors import TableError, printable
from deeprotect.policy import Policy
from deeprotect.policy.known_sensors import recognise
from deeprotect.policy.usual_names import PERSON, RECORDING, TIME, FoundColumns
from deeprotect.tables.column_map import ColumnMap
from deeprotect.tables.columns import missing_column


@dataclass(frozen=True)
class Roles:
    """Columns by their use; `unclear` says where several columns may be meant."""

    time: str | None
    recording: str | None
    person: str | None
    channels: tuple[str, ...]
    unclear: tuple[str, ...] = ()

    @property
    def columns(self) -> dict[str, str]:
        """The columns of time, recording and person, as far as there are any."""
        named = {TIME: self.time, RECORDING: self.recording, PERSON: self.person}
        return {name: column for name, column in named.items() if column}

    def settled(self, where: str) -> "Roles":
        """For verbs that must not guess."""
        if self.unclear:
            raise TableError(f"{where}: {self.unclear[0]}")
        return self


def roles_of(names: list[str], mapping: ColumnMap, *, policy: Policy | None = None, where: str) -> Roles:
    """By what was said, else by the usual names; channels are the policy's, or the columns named like sensors."""
    for name in mapping.demanded:
        if mapping[name] and mapping[name] not in names:
            raise TableError(missing_column(mapping[name], names, where))
    wanted = [mapping.get(name, name) for name in policy.stream.channels] if policy else []
    found = FoundColumns.among(names, but={*wanted, *mapping.labels, *mapping.values()})
    unclear: list[str] = []
    time = _one(TIME, found.time, names, mapping, unclear)
    recording = _one(RECORDING, found.recording, names, mapping, unclear)
    people = (policy.training.people if policy else None) or next(iter(_among(names, found, mapping)), None)
    taken = {time, recording, people, *mapping.labels}
    channels = wanted if policy else [name for name in names if name not in taken and recognise(name)]
    return Roles(time, recording, people, tuple(name for name in channels if name in names), tuple(unclear))


def _among(names: list[str], found: FoundColumns, mapping: ColumnMap) -> tuple[str, ...]:
    """The person's column, which may well be a label."""
    said = mapping.get(PERSON)
    if said is not None:
        return (said,) if said else ()
    return found.person or FoundColumns.among(name for name in names if name in mapping.labels).person


def _one(
    name: str, candidates: tuple[str, ...], names: list[str], mapping: ColumnMap, unclear: list[str]
) -> str | None:
    said = mapping.get(name)
    if said is not None and (said in names or name in mapping.demanded):
        return said or None
    if len(candidates) > 1:
        many = ", ".join(f"'{printable(each)}'" for each in candidates[:4])
        unclear.append(f"several columns may be the {name}: {many}; say which with --map {name}=COLUMN")
        return None
    return candidates[0] if candidates else None
