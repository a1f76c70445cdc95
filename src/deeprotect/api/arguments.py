"""Types of arguments, and a decorator that checks them: a wrong one is a one-line error before any work."""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from inspect import signature
from os import PathLike
from typing import Annotated, Any, TypeVar, cast

import numpy as np
from pydantic import BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from deeprotect.errors import Argument, InputError, printable
from deeprotect.policy import Policy

F = TypeVar("F", bound=Callable[..., Any])
_plain = BeforeValidator(lambda value: value.item() if isinstance(value, np.generic) else value)
Whole = Annotated[int, _plain]
Positive = Annotated[int, Field(ge=1), _plain]
Number = Annotated[float, _plain]
FilePath = str | PathLike[str]
AnyPolicy = Policy | str | PathLike[str] | Mapping[str, Any]
Names = str | Sequence[str]
Progress = Callable[[float], None]
Own = Mapping[str, Any] | str | Sequence[str]
"""The user's own estimators, by name, or MODULE:OBJECT."""


def silent(_: float) -> None:
    """Ignore progress."""


def checked(function: F) -> F:
    """Check arguments against their annotations; nothing is converted, and `Any` accepts anything."""
    form, adapters = signature(function), dict[str, TypeAdapter[Any]]()

    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        for name, value in form.bind(*args, **options).arguments.items():
            if name in function.__annotations__:
                if name not in adapters:
                    adapters[name] = TypeAdapter(function.__annotations__[name], config=_CONFIG)
                _check(adapters[name], name, value)
        return function(*args, **options)

    return cast(F, call)


_CONFIG = ConfigDict(strict=True, arbitrary_types_allowed=True)
_KINDS = {
    "bool_type": "True or False",
    "callable_type": "a function",
    "dict_type": "a dictionary",
    "float_type": "a number",
    "int_type": "a whole number",
    "iterable_type": "a list",
    "model_type": "a policy",
    "sequence_str": "a list",
    "string_type": "text",
}
_CLASSES = {"PathLike": "a path", "Sequence": "a list", "Ledger": "a ledger"}


def _check(adapter: TypeAdapter[Any], name: str, value: Any) -> None:
    try:
        adapter.validate_python(value)
    except ValidationError as error:
        found = error.errors(include_url=False)
    else:
        return
    wrong = found[0]["input"]
    shown = printable(repr(wrong)) if isinstance(wrong, str | int | float) else type(wrong).__name__
    wanted = dict.fromkeys(map(_wanted, found))
    raise InputError(Argument(name), f": give {' or '.join(wanted)}, not {shown}")


def _wanted(error: ErrorDetails) -> str:
    if error["type"] == "is_instance_of":
        known = str(error["ctx"]["class"])
        return _CLASSES.get(known, known)
    if error["type"] == "greater_than_equal":
        return f"a number from {error['ctx']['ge']} up"
    return _KINDS.get(error["type"], error["msg"].removeprefix("Input should be "))
