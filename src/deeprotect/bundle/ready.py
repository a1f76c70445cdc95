"""Protectors that come with the package: their names are accepted wherever the path of a bundle is."""

import tomllib
import warnings
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from deeprotect.bundle.manifest import Measured
from deeprotect.errors import ShadowedWarning

INDEX = "protectors.toml"
FOLDER = Path(__file__).parents[1] / "protectors"


class Entry(BaseModel):
    """A ready protector: the digest that its manifest must have, and accuracies for people it has not learnt from.

    `figures` are accuracies of an inference after release, on `_raw` windows, and of `_guessing`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    digest: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    licence: str
    figures: dict[str, float]


def figures_on_new_people(entry: Entry, results: Sequence[Measured]) -> dict[str, float]:
    """Figures of the index, from cross-validation over all people; without any, those of the people kept aside."""
    found = dict(entry.figures)
    for unseen in (each.unseen for each in results if each.unseen is not None and not entry.figures):
        for name, useful in unseen.useful.items():
            found |= {f"{name}_raw": useful["clean"], name: useful["app"], f"{name}_guessing": useful["chance"]}
        for name, hidden in unseen.sensitive.items():
            found |= {f"{name}_raw": hidden["raw"], name: hidden["adaptive"], f"{name}_guessing": hidden["chance"]}
    return found


@cache
def entries() -> dict[str, Entry]:
    """Ready protectors by name; the list is written next to the bundles when they are made."""
    text = (FOLDER / INDEX).read_text(encoding="utf-8") if (FOLDER / INDEX).exists() else ""
    return TypeAdapter(dict[str, Entry]).validate_python(tomllib.loads(text))


def place_of(path: Path) -> Path:
    """The path of a bundle: the path itself if it exists, else the ready protector of that name."""
    if str(path) not in entries():
        return path
    if not path.exists():
        return FOLDER / f"{path}.zip"
    warnings.warn(
        f"'{path}' is read from this folder; the ready protector of that name is not used", ShadowedWarning, 2
    )
    return path


def digest_of(path: Path) -> str | None:
    """The digest that the manifest at this path must have; None if any is allowed."""
    return entries()[path.stem].digest if path.parent == FOLDER else None


def comes_with_package(digest: str) -> bool:
    """Whether a bundle is a ready protector, wherever it was loaded from."""
    return any(each.digest == digest for each in entries().values())
