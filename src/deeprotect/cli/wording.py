"""An error as shown on a terminal: with options to type instead of Python arguments."""

from collections.abc import Mapping, Sequence
from typing import Any

from deeprotect.errors import Argument, ArgumentError, DeeprotectError, Placeholder, printable

_OPTIONS = {"table": "--data", "apps": "--app", "attackers": "--attacker", "methods": "--method"}
"""Arguments whose option has another name; all others use theirs, with hyphens."""


def wording(error: DeeprotectError) -> str:
    """The message, with an option for each argument that it mentions."""
    given = isinstance(error, ArgumentError)  # repeat a typed value without quotes
    return "".join(_typed(each, quotes=not given) if isinstance(each, Argument) else str(each) for each in error.parts)


def _typed(argument: Argument, *, quotes: bool) -> str:
    option = _OPTIONS.get(argument.name, f"--{argument.name.replace('_', '-')}")
    value = argument.value
    if value is None or value is True:
        return option
    if isinstance(value, Mapping):
        return " ".join(f"{option} {printable(name)}={_value(each, quotes=quotes)}" for name, each in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"{option} {','.join(map(str, value))}"
    return f"{option} {_value(value, quotes=quotes)}"


def _value(value: Any, *, quotes: bool) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    text = printable(str(value))
    return f"'{text}'" if quotes and text and isinstance(value, str) and not isinstance(value, Placeholder) else text
