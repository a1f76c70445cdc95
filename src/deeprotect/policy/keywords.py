"""Keys of a policy as keywords, without the sections that they stand in."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from deeprotect.errors import PolicyError, printable
from deeprotect.policy.mistakes import nearest
from deeprotect.policy.sections import Inferences, Privacy, Training
from deeprotect.policy.stream_section import Stream

SECTIONS: dict[str, type[BaseModel]] = {
    "stream": Stream,
    "inferences": Inferences,
    "privacy": Privacy,
    "training": Training,
}
_HOMES = {key: section for section, model in SECTIONS.items() for key in model.model_fields}
Tables = dict[str, dict[str, Any]]


def by_section(keys: Mapping[str, Any]) -> Tables:
    """Each key under its section; no name stands in two."""
    sections: Tables = {}
    for key, value in keys.items():
        if key not in _HOMES:
            meant = nearest(key, list(_HOMES))
            fix = f"did you mean {meant}?" if meant else f"known: {', '.join(_HOMES)}"
            raise PolicyError(f"policy: {printable(key)} is no key of a policy; {fix}")
        sections.setdefault(_HOMES[key], {})[key] = value
    return sections


def merged(tables: Mapping[str, Any], sections: Tables) -> dict[str, Any]:
    """Tables as TOML gives them, with keys added or changed; what is no table is left for the policy to refuse."""
    changed = dict(tables)
    for name, keys in sections.items():
        before = tables.get(name, {})
        changed[name] = {**before, **keys} if isinstance(before, Mapping) else before
    return changed
