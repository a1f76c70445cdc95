"""Protectors that come with the package, by name: found here for everything that takes the place of a bundle."""

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
    """One of them: the digest that its manifest must have, and what was read of people whom it never met.

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
    """By name; the list is written beside the bundles when they are made."""
    text = (FOLDER / INDEX).read_text(encoding="utf-8") if (FOLDER / INDEX).exists() else ""
    return TypeAdapter(dict[str, Entry]).validate_python(tomllib.loads(text))


def place_of(path: Path) -> Path:
    """Where the bundle is: what lies at that path, or else the protector of that name."""
    if str(path) not in entries():
        return path
    if not path.exists():
        return FOLDER / f"{path}.zip"
    warnings.warn(
        f"'{path}' is read from this folder; the ready protector of that name is not used", ShadowedWarning, 2
    )
    return path


def digest_of(path: Path) -> str | None:
    """The digest that the manifest at this place must have; None where it may have any."""
    return entries()[path.stem].digest if path.parent == FOLDER else None


def comes_with_package(digest: str) -> bool:
    """Whether a bundle is one of them, wherever it was loaded from."""
    return any(each.digest == digest for each in entries().values())
