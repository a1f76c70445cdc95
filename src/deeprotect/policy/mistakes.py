"""Error messages for policies, one line each with the fix; and comments on keys, from their sections' descriptions."""

import json
import tomllib
from difflib import get_close_matches
from os import PathLike
from pathlib import Path
from typing import Any, Literal, cast, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from deeprotect.errors import PolicyError, printable

Location = tuple[int | str, ...]

_LONGEST = 600  # characters of a line; quoted parts are cut much shorter
_COST = "0: costs nothing, 1: as much as any misclassification; divide all costs by the largest"
_ANY_TEXT = '"name"'
_KIND = {
    "float_type": "a number",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "string_too_short": "text that is not empty",
    "tuple_type": "a list in [ ]",
    "dict_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
    "finite_number": "a finite number",
}


def read_toml(path: str | PathLike[str], *, absent: str, unreadable: str) -> str:
    """Read a file that the user named; `absent` and `unreadable` are the messages for its failures."""
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise PolicyError(f"{path}: {absent}") from None
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise PolicyError(f"{path}: {unreadable.format(reason)}") from None


def toml_tables(text: str, where: str) -> dict[str, Any]:
    """Parse a TOML text."""
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # a number of thousands of digits is a plain ValueError
        raise PolicyError(f"{where}: not valid TOML: {printable(' '.join(str(error).split()), 300)}") from None


def nearest(word: str, known: list[str]) -> str | None:
    """The known word that was probably meant."""
    by_case = {name.lower(): name for name in known}
    found = get_close_matches(word.lower(), by_case, n=1, cutoff=0.6)
    return by_case[found[0]] if found else None


def meant_or(word: str, known: list[str], others: str = "known") -> str:
    """Advice for an unknown word: the nearest known one, or a list."""
    meant = nearest(word, known)
    return f"did you mean {meant}?" if meant else f"{others}: {', '.join(known)}"


def one_line(error: ValidationError, model: type[BaseModel]) -> str:
    """Report the mistake that explains the others: a misspelt key before the key that it leaves missing."""
    mistakes = sorted(error.errors(include_url=False), key=lambda found: found["type"] != "extra_forbidden")
    return printable(" ".join(_sentence(mistakes[0], model).split()), _LONGEST)


RENAMED = {"cost": "loss", "costs": "cost_matrix", "minimiser": "feature_extractor"}  # keys of earlier versions
_WRITE_LDP = 'write guarantee = "ldp", whose epsilon holds for every inference, named or not'
_RETIRED = {
    "given": f"remove it; {_WRITE_LDP}",
    "confidence": f"remove it; {_WRITE_LDP}",
    "ldp_ceiling": f"{_WRITE_LDP}, and make it the epsilon",
}


def _sentence(mistake: ErrorDetails, model: type[BaseModel]) -> str:
    kind, where = mistake["type"], mistake["loc"]
    if kind == "extra_forbidden":
        return _unknown(where, model)
    if kind == "missing":
        return _missing(where, model)
    if kind == "value_error":
        return _refused(mistake)
    demand = _demand(mistake, _field_at(where, model))
    return f"{key(where)} = {_shown(mistake['input'])} {demand}{_meaning(where, model)}"


def _unknown(where: Location, model: type[BaseModel]) -> str:
    if where[0] == "privacy" and where[-1] in _RETIRED:
        return f"{key(where)} is no longer a key; {_RETIRED[str(where[-1])]}"
    known = list(_model_at(where[:-1], model).model_fields)
    meant = RENAMED.get(str(where[-1])) or nearest(str(where[-1]), known)
    fix = f"did you mean {meant}?" if meant else f"known: {', '.join(known)}"
    return f"{key(where)} is not a known key; {fix}"


def _missing(where: Location, model: type[BaseModel]) -> str:
    name, table = str(where[-1]), key(where[:-1])
    if isinstance(where[-1], int):
        return f"{table} is too short; write all {where[-1] + 1} values{_meaning(where, model)}"
    if _is_table(_model_at(where[:-1], model).model_fields[name].annotation):
        return f"[{key(where)}] is missing; add that table"
    example = _example(_field_at(where, model))
    add = f"{name} = {example}" if example else name
    return f"{key(where)} is missing; add {add} under [{table}]{_meaning(where, model)}"


def _refused(mistake: ErrorDetails) -> str:
    """Messages of our own validators: they follow the key that they are about, or stand alone."""
    where, sentence = mistake["loc"], str(mistake["ctx"]["error"])
    if not where or sentence.startswith("."):
        return f"{key(where)}{sentence}"
    said = isinstance(mistake["input"], dict | BaseModel) or where[-1] == "[key]"
    shown = "" if said else f" = {_shown(mistake['input'])}"
    return f"{key(where)}{shown} {sentence}"


def _demand(mistake: ErrorDetails, field: FieldInfo | None) -> str:
    kind, given = mistake["type"], mistake.get("ctx", {})
    match kind:
        case "literal_error" if mistake["loc"] == ("privacy", "guarantee") and mistake["input"] == "named":
            return f"is no longer offered; {_WRITE_LDP}"
        case "literal_error" if mistake["loc"] == ("privacy", "mechanism") and mistake["input"] == "subspace":
            return 'is no longer offered; write guarantee = "rldp", which erases the sensitive directions'
        case "literal_error":
            return _choose(mistake["input"], given["expected"])
        case "greater_than":
            return f"must be greater than {given['gt']:g}"
        case "greater_than_equal":
            return f"must be at least {given['ge']:g}"
        case "less_than":
            return f"must be less than {given['lt']:.12g}"
        case "less_than_equal":
            return f"must be at most {given['le']:g}"
        case "too_short":
            return "must not be empty"
        case "too_long":
            return f"must have {given['max_length']} values"
    if kind == "string_type":
        one_of_a_list = isinstance(mistake["loc"][-1], int)
        return "must be text in quotes" + ("" if one_of_a_list else f", such as {_example(field) or _ANY_TEXT}")
    return f"must be {_KIND[kind]}" if kind in _KIND else f"is wrong: {mistake['msg']}"


def _choose(given: Any, expected: str) -> str:
    known = expected.replace("'", "").replace(" or ", ", ").split(", ")
    meant = nearest(given, known) if isinstance(given, str) else None
    guess = f'did you mean "{meant}"? ' if meant else ""
    return f"is not known; {guess}choose one of {', '.join(known)}"


def _meaning(where: Location, model: type[BaseModel]) -> str:
    named = [part for part in where if isinstance(part, str)]
    if named[:2] == ["training", "cost_matrix"]:  # below are the user's names, not keys
        return f" ({_COST})" if len(named) == 5 else " (for example walk = { stairs = 0.2 })"
    field = _field_at(where, model)
    return f" ({field.description})" if field is not None and field.description else ""


def comment(field: FieldInfo) -> str:
    """The comment beside a key in a policy file: its choices and meaning."""
    choices = [part for each in (field.annotation, *get_args(field.annotation)) for part in _choices(each)]
    return ": ".join(part for part in (" | ".join(choices), field.description) if part)


def _choices(annotation: Any) -> tuple[str, ...]:
    return get_args(annotation) if get_origin(annotation) is Literal else ()


def _example(field: FieldInfo | None) -> str:
    return str(field.examples[0]) if field is not None and field.examples else ""


def _field_at(where: Location, model: type[BaseModel]) -> FieldInfo | None:
    """The field at a location, or the one that contains it; None for the user's names."""
    at: Any = model
    field = None
    for part in (each for each in where if isinstance(each, str)):
        in_dict = get_origin(at) is dict
        field = None if in_dict else getattr(at, "model_fields", {}).get(part)
        at = get_args(at)[1] if in_dict else getattr(field, "annotation", None)
    return field


def key(where: Location) -> str:
    """A location in TOML notation: `stream.channels.acc_x.range[0]`."""
    written = "".join(f"[{part}]" if isinstance(part, int) else f".{printable(part)}" for part in where)
    return written.removeprefix(".").removesuffix(".[key]")


def _shown(value: Any) -> str:
    shown = repr(value) if isinstance(value, float) else json.dumps(value, default=str, ensure_ascii=False)
    return printable(shown, 60)


def _model_at(where: Location, model: type[BaseModel]) -> type[BaseModel]:
    """The section that a location points into; a channel's name passes through its table."""
    at: Any = model
    for part in where:
        at = at.model_fields[part].annotation if get_origin(at) is not dict else get_args(at)[1]
    return cast("type[BaseModel]", at)


def _is_table(annotation: Any) -> bool:
    return get_origin(annotation) is dict or (isinstance(annotation, type) and issubclass(annotation, BaseModel))
