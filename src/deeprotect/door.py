"""The way in from Python: options are what they say they are, and errors name them as Python writes them.

Messages are written once, in the words of the command line (`--force`, `--map time=Timestamp`). Errors that leave
through this door say `force=True` and `map={"time": "Timestamp"}` instead, and keep what a terminal is shown.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from inspect import Parameter, signature
from numbers import Integral, Real
from os import PathLike
from typing import Any, TypeVar, cast

from deeprotect.errors import DeeprotectError, InputError, printable

F = TypeVar("F", bound=Callable[..., Any])


def door(function: F) -> F:
    """A function for Python: what its options are given is checked, and what it refuses is said in Python's words."""
    form = signature(function)

    @wraps(function)
    def entered(*args: Any, **options: Any) -> Any:
        given = form.bind(*args, **options).arguments
        try:
            for name, value in given.items():
                _check(form.parameters[name], value)
            return function(*args, **options)
        except DeeprotectError as error:
            if error.typed is None:
                error.typed = str(error)
                error.args = (in_python(error.typed),)
            raise

    return cast(F, entered)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_path(value: Any) -> bool:
    return isinstance(value, str | PathLike)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return _is_whole(value) and value > 0


def _is_names(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str) and all(map(_is_text, value))


def _is_map(value: Any) -> bool:
    return isinstance(value, Mapping) and all(map(_is_text, (*value.keys(), *value.values())))


def _is_numbers(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str) and all(map(_is_number, value))


Form = tuple[Callable[[Any], bool], str]
_FLAG: Form = (_is_flag, "True or False")
_TEXT: Form = (_is_text, "text")
_PATH: Form = (_is_path, "a path")
_WHOLE: Form = (_is_whole, "a whole number")
_NUMBER: Form = (_is_number, "a number")
_NAMES: Form = (lambda value: _is_text(value) or _is_names(value), "a name, or a list of names")
FORMS: dict[str, Form] = {
    "map": (_is_map, 'a dictionary such as {"time": "Timestamp"}'),
    "columns": (_is_names, 'a list of names such as ["time", "acc_x"]'),
    "unit": (_is_names, 'a list such as ["acc=m/s2:g"]'),
    "bundle": (_is_path, "the path of a saved bundle (Protector.save writes one)"),
    "epsilon": (lambda value: _is_number(value) or _is_numbers(value), "a number, or a list of numbers"),
    "workers": (_is_count, "a whole number above 0"),
    "progress": (callable, "a function of the share that is done"),
    **dict.fromkeys(("force", "keep_names", "quick", "relative_time", "show_raw", "html"), _FLAG),
    **dict.fromkeys(("folds", "jobs", "listen", "repeats", "runs", "seed", "window"), _WHOLE),
    **dict.fromkeys(("accuracy", "epsilon_per_hour", "max_dropped", "rate_hz"), _NUMBER),
    **dict.fromkeys(("mechanism", "sensitive", "useful"), _NAMES),
    **dict.fromkeys(("address", "key", "out", "sign"), _PATH),
    **dict.fromkeys(("app", "every", "group", "listen_to", "name", "person", "scheduler", "sensor", "slots"), _TEXT),
    **dict.fromkeys(("split", "strangers", "stream"), _TEXT),
}
"""What an option of this name takes, whichever function has it. Tables, policies and ledgers say themselves what they
cannot be, and so do numbers that are too small or too large."""


def _check(parameter: Parameter, value: Any) -> None:
    form = FORMS.get(parameter.name)
    if form is None or (value is None and parameter.default is None):
        return
    fits, takes = form
    if not fits(value):
        shown = printable(repr(value)) if isinstance(value, str | int | float) else type(value).__name__
        raise InputError(f"--{parameter.name.replace('_', '-')}: give {takes}, not {shown}")


_FLAGS = tuple(name for name, form in FORMS.items() if form is _FLAG)
_PAIR = r"--map ([^\s=,;:]+)=('[^']*'|[^'\s,;:)]*(?: (?!if |when |and |--)[^'\s,;:)]+)*)"
_SAID = re.compile(
    r"`[^`]*`"  # a command to type, which is one in Python, too
    rf"|(?P<map>{_PAIR}(?: {_PAIR})*)"
    r"|--columns (?P<columns>\w+(?:,\w+)+)"
    r"|--(?P<option>[a-z]+(?:-[a-z]+)*)(?:(?P<space> )(?P<value>-?[\d.][\w.+-]*|nan|-?inf|'[^']*'|[A-Z]{2,}[\w.]*))?"
)


def in_python(line: str) -> str:
    """A line that names options of the command line, with the keywords that are meant.

    Examples:
        >>> from deeprotect.door import in_python
        >>> in_python("is 'Timestamp' the time? Say so with --map time='Timestamp', or --map time= if there is none")
        'is \\'Timestamp\\' the time? Say so with map={"time": "Timestamp"}, or map={"time": ""} if there is none'
        >>> in_python("--rate-hz 50 is not what its time shows; leave it out, or overwrite it with --force")
        'rate_hz=50 is not what its time shows; leave it out, or overwrite it with force=True'
    """
    return _SAID.sub(_keyword, line)


def _keyword(said: re.Match[str]) -> str:
    if said["map"]:
        pairs = (f'"{name}": "{column.strip(chr(39))}"' for name, column in re.findall(_PAIR, said["map"]))
        return f"map={{{', '.join(pairs)}}}"
    if said["columns"]:
        return "columns=[" + ", ".join(f'"{each}"' for each in said["columns"].split(",")) + "]"
    if not said["option"]:
        return said[0]
    name = said["option"].replace("-", "_")
    is_subject = said.string.startswith(":", said.end())  # of a line about it, not what to type
    if name in _FLAGS and not is_subject:
        return f"{name}=True{said['space'] or ''}{said['value'] or ''}"
    return f"{name}={said['value']}" if said["value"] else f"`{name}`"
