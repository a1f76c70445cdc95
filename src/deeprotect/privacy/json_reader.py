"""Reads a mechanism's fields from a bundle; everything is checked before it is used."""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, Literal, TypeVar, get_origin

import numpy as np
from numpy.typing import NDArray

from deeprotect.errors import BundleError, quoted

Part = TypeVar("Part")
# Length is bounded before the text is parsed: Fraction("1e999999999") would never return.
_FRACTION = re.compile(r"[0-9]{1,16}/[0-9]{1,16}")


@dataclass(frozen=True)
class JsonReader:
    """One JSON object with a name for error messages."""

    fields: Mapping[str, Any]
    name: str = "mechanism"

    def __post_init__(self) -> None:
        if not isinstance(self.fields, Mapping):
            raise BundleError(f"{self.name} must be a JSON object; restore the bundle or train again")

    def text(self, field: str) -> str:
        value = self._get(field)
        return value if isinstance(value, str) else self._refuse(field, "a text")

    def texts(self, field: str) -> tuple[str, ...]:
        values = self._list(field, self._get(field))
        if not all(isinstance(value, str) for value in values):
            self._refuse(field, "a list of texts")
        return tuple(values)

    def number(self, field: str) -> float:
        return self._number(field, self._get(field))

    def integer(self, field: str) -> int:
        value = self._get(field)
        return value if type(value) is int else self._refuse(field, "a whole number")

    def integers(self, field: str) -> tuple[int, ...]:
        values = self._list(field, self._get(field))
        if not all(type(value) is int for value in values):
            self._refuse(field, "a list of whole numbers")
        return tuple(values)

    def floats(self, field: str) -> tuple[float, ...]:
        return tuple(self._number(field, value) for value in self._list(field, self._get(field)))

    def matrix(self, field: str) -> NDArray[np.float64]:
        rows = [self._list(field, row) for row in self._list(field, self._get(field))]
        if not rows or not rows[0] or len({len(row) for row in rows}) != 1:
            self._refuse(field, "a matrix with rows of one length")
        return np.array([[self._number(field, value) for value in row] for row in rows])

    def fractions(self, field: str) -> tuple[Fraction, ...]:
        values = self.texts(field)
        if not all(_FRACTION.fullmatch(value) and int(value.split("/")[1]) for value in values):
            self._refuse(field, 'a list of fractions such as "3/4"')
        return tuple(Fraction(value) for value in values)

    def inner(self, field: str) -> "JsonReader | None":
        value = self._get(field)
        shown = field if field.isascii() and field.isidentifier() else quoted(field)
        return None if value is None else JsonReader(value, f"{self.name}.{shown}")

    def objects(self, field: str) -> list["JsonReader"]:
        values = self._list(field, self._get(field))
        return [JsonReader(value, f"{self.name}.{field}[{place}]") for place, value in enumerate(values)]

    def read(self, field: str, kind: Any) -> Any:
        """Reads a field of any type that the dataclasses of bundles have."""
        return _READERS[str if get_origin(kind) is Literal else kind](self, field)

    def build(self, kind: type[Part]) -> Part:
        """Builds a dataclass field by field; the dataclass itself refuses unknown values."""
        return kind(**{each.name: self.read(each.name, each.type) for each in fields(kind)})  # type: ignore[arg-type]

    def _get(self, field: str) -> Any:
        if field not in self.fields:
            raise BundleError(f"{self.name}: '{field}' is missing; restore the bundle or train again")
        return self.fields[field]

    def _list(self, field: str, value: Any) -> list[Any]:
        return value if isinstance(value, list) else self._refuse(field, "a list")

    def _number(self, field: str, value: Any) -> float:
        if type(value) not in (int, float) or abs(value) > 1e300 or not math.isfinite(value):
            self._refuse(field, "finite numbers")
        return float(value)

    def _refuse(self, field: str, wanted: str) -> Any:
        raise BundleError(f"{self.name}: '{field}' must be {wanted}; restore the bundle or train again")


_READERS: dict[Any, Callable[[JsonReader, str], Any]] = {
    str: JsonReader.text,
    int: JsonReader.integer,
    float: JsonReader.number,
    tuple[str, ...]: JsonReader.texts,
    tuple[int, ...]: JsonReader.integers,
    tuple[float, ...]: JsonReader.floats,
}
