"""The repository of inferences: what each sensor reveals, and the publications that showed it."""

import tomllib
from collections.abc import Iterable, Mapping
from importlib import resources
from os import PathLike
from typing import Annotated, Any, Self

from pydantic import Field, ValidationError, model_validator

from deeprotect.errors import PolicyError
from deeprotect.policy.mistakes import nearest, one_line, read_toml, toml_tables
from deeprotect.policy.sections import Name, Names, Note, Section

Tables = dict[str, Any]


class Reference(Section):
    """A published work, with as much of its citation as is known."""

    author: Name | None = None
    year: int | None = None
    topic: Name | None = None
    title: Note | None = None
    address: Note | None = None


class Cell(Section):
    """The works behind one inference from one sensor; `corrected_sensor` is the sensor they meant, if it differs."""

    references: Annotated[Names, Field(min_length=1)]
    corrected_sensor: Name | None = None
    note: Note | None = None


class Inference(Section):
    """An inference that sensors allow: a title, the attribute it yields, and a cell for each sensor."""

    title: Note
    attribute: Note
    sensors: Annotated[dict[Name, Cell], Field(min_length=1)]
    aliases: Names = ()
    also_cited: Names = ()
    note: Note | None = None

    @property
    def revealing_sensors(self) -> tuple[str, ...]:
        """The sensors after corrections, each once."""
        meant = (cell.corrected_sensor or printed for printed, cell in self.sensors.items())
        return tuple(dict.fromkeys(meant))

    @property
    def cited(self) -> tuple[str, ...]:
        keys = [key for cell in self.sensors.values() for key in cell.references]
        return tuple(dict.fromkeys([*keys, *self.also_cited]))


class Repository(Section):
    """Inferences by name; `Repository.load()` reads the paper's table and merges the user's own files into it."""

    version: Annotated[int, Field(ge=1, le=1)]
    sensors: Names
    inferences: dict[Name, Inference]
    references: dict[Name, Reference]

    @classmethod
    def load(cls, *extra_paths: str | PathLike[str]) -> Self:
        """Load the built-in table, then each file in turn: new entries are added, existing keys replaced."""
        built_in = resources.files("deeprotect.policy").joinpath("inferences.toml").read_text(encoding="utf-8")
        tables = tomllib.loads(built_in)
        repository = cls._checked(tables, "inferences.toml")
        for path in extra_paths:
            own = read_toml(
                path,
                absent="no such file of inferences; check the path",
                unreadable="cannot be read ({}); give a TOML file of inferences",
            )
            tables = _laid_over(tables, toml_tables(own, str(path)))
            repository = cls._checked(tables, str(path))
        return repository

    def inference(self, name: str) -> Inference:
        return self.inferences[self.name_of(name)]

    def name_of(self, name: str) -> str:
        """The repository's name for an inference, given its name, title or alias."""
        return _found("inference", name, self._all_names(), known=self.inferences)

    def knows(self, name: str) -> bool:
        return _plain(name) in self._all_names()

    def reveals(self, sensors: Iterable[str]) -> list[Inference]:
        """The inferences that the sensors allow, in the repository's order; corrected cells count for the corrected
        sensor."""
        chosen = {self._sensor(sensor) for sensor in sensors}
        return [found for found in self.inferences.values() if chosen.intersection(found.revealing_sensors)]

    def _sensor(self, name: str) -> str:
        return _found("sensor", name, {_plain(sensor): sensor for sensor in self.sensors}, known=self.sensors)

    def _all_names(self) -> dict[str, str]:
        """Every normalised name of every inference; a name takes precedence over a title, a title over an alias."""
        names = {_plain(alias): name for name, found in self.inferences.items() for alias in found.aliases}
        names |= {_plain(found.title): name for name, found in self.inferences.items()}
        return names | {_plain(name): name for name in self.inferences}

    @classmethod
    def _checked(cls, tables: Tables, where: str) -> Self:
        try:
            return cls.model_validate(tables)
        except ValidationError as error:
            raise PolicyError(f"{where}: {one_line(error, cls)}") from None

    @model_validator(mode="after")
    def _cells_point_somewhere(self) -> Self:
        for name, inference in self.inferences.items():
            for sensor in (*inference.sensors, *inference.revealing_sensors):
                _demand("sensor", sensor, known=self.sensors, where=f"inferences.{name}.sensors")
            for key in inference.cited:
                _demand("reference", key, known=tuple(self.references), where=f"inferences.{name}")
        return self


def _found(kind: str, name: str, names: Mapping[str, str], *, known: Iterable[str]) -> str:
    """Look up a normalised name."""
    if _plain(name) not in names:
        meant = nearest(_plain(name), list(names))
        fix = f"did you mean '{names[meant]}'?" if meant else f"known: {', '.join(known)}"
        raise PolicyError(f"{kind} '{name}' is not in the repository; {fix}")
    return names[_plain(name)]


def _demand(kind: str, name: str, *, known: tuple[str, ...], where: str) -> None:
    if name in known:
        return
    meant = nearest(name, list(known))
    add = f'add "{name}" to sensors' if kind == "sensor" else f"add [references.{name}]"
    fix = f"did you mean {meant}? or {add}" if meant else add
    raise ValueError(f"{where}: {kind} '{name}' is not known; {fix}")


def _laid_over(base: Any, extra: Any) -> Any:
    """Merge recursively: tables merge, lists unite in order, anything else is replaced."""
    if isinstance(base, dict) and isinstance(extra, dict):
        return base | {key: _laid_over(base[key], extra[key]) if key in base else extra[key] for key in extra}
    if isinstance(base, list) and isinstance(extra, list):
        return [*base, *(item for item in extra if item not in base)]
    return extra


def _plain(name: str) -> str:
    return "_".join(name.lower().replace("-", " ").replace("_", " ").split())
