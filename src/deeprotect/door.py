"""The way in from Python: options are what they say they are, and errors name them as Python writes them.

Messages are written once, in the words of the command line (`--force`, `--map time=Timestamp`). Errors that leave
through this door say `force=True` and `map={"time": "Timestamp"}` instead, and keep what a terminal is shown.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from inspect import Parameter, signature
from numbers import Integral, Real
from os import PathLike
from typing import Any, NamedTuple, TypeVar, cast

from deeprotect.errors import DeeprotectError, InputError, printable
from deeprotect.policy import Policy

F = TypeVar("F", bound=Callable[..., Any])


def door(function: F) -> F:
    """A function for Python: what its options are given is checked, and what it refuses is said in Python's words."""
    form = signature(function)

    @wraps(function)
    def entered(*args: Any, **options: Any) -> Any:
        given = form.bind(*args, **options).arguments
        try:
            for name, value in given.items():
                _check(form.parameters[name], value, FORMS.get(f"{function.__name__} {name}") or FORMS.get(name))
            return function(*args, **options)
        except DeeprotectError as error:
            if error.typed is None:
                error.typed = str(error)
                error.args = (in_python(error.typed),)
            raise

    return cast(F, entered)


class Form(NamedTuple):
    """What an option takes: a value of these kinds, several such values, or a dictionary of names."""

    takes: str
    one: tuple[type, ...] = ()
    several: tuple[type, ...] = ()
    is_mapping: bool = False
    least: int | None = None

    def fits(self, value: Any) -> bool:
        if self.is_mapping:
            return isinstance(value, Mapping) and all(_is(each, (str,)) for pair in value.items() for each in pair)
        if self.several and isinstance(value, Sequence) and not isinstance(value, str | bytes):
            return all(_is(each, self.several) for each in value)
        return _is(value, self.one) and (self.least is None or value >= self.least)


def _is(value: Any, kinds: tuple[type, ...]) -> bool:
    """A truth value is no number, though Python counts with it; numpy's numbers are numbers."""
    return bool in kinds if isinstance(value, bool) else isinstance(value, kinds)


_FLAG, _TEXT, _PATH = Form("True or False", (bool,)), Form("text", (str,)), Form("a path", (str, PathLike))
_WHOLE, _NUMBER = Form("a whole number", (Integral,)), Form("a number", (Real,))
_NAMES = Form("a name, or a list of names", (str,), several=(str,))
_OWN = Form('a dictionary such as {"mine": estimator}, or MODULE:OBJECT', (str, Mapping), several=(str,))
FORMS: dict[str, Form] = {
    "policy": Form("a policy, its path or a dictionary", (Policy, str, PathLike, Mapping)),
    "map": Form('a dictionary such as {"time": "Timestamp"}', is_mapping=True),
    "columns": Form('a list of names such as ["time", "acc_x"]', several=(str,)),
    "unit": Form('a list such as ["acc=m/s2:g"]', several=(str,)),
    "bundle": Form("the path of a saved bundle (Protector.save writes one)", (str, PathLike)),
    "epsilon": Form("a number, or a list of numbers", (Real,), several=(Real,)),
    "init epsilon": _NUMBER,
    "workers": Form("a whole number above 0", (Integral,), least=1),
    "progress": Form("a function of the share that is done", (Callable,)),  # type: ignore[arg-type]
    **dict.fromkeys(
        (
            "allow_without_ldp",
            "dry_run",
            "force",
            "html",
            "keep_names",
            "labels",
            "quick",
            "relative_time",
            "show_names",
            "show_raw",
        ),
        _FLAG,
    ),
    **dict.fromkeys(("folds", "jobs", "listen", "repeats", "runs", "seed", "window"), _WHOLE),
    **dict.fromkeys(("accuracy", "epsilon_per_hour", "max_dropped", "rate_hz"), _NUMBER),
    **dict.fromkeys(("mechanism", "sensitive", "useful"), _NAMES),
    **dict.fromkeys(("address", "key", "out", "sign"), _PATH),
    **dict.fromkeys(("app", "every", "group", "listen_to", "name", "person", "scheduler", "sensor", "slots"), _TEXT),
    **dict.fromkeys(("strangers", "stream"), _TEXT),
    **dict.fromkeys(("apps", "attackers", "methods"), _OWN),
    "split": Form("a kind, a column with its values, or the windows to train on and to test on", (Iterable,)),
}
"""By the name of the option, whichever function has it, or by both names. Tables and ledgers say themselves what they
cannot be, and so do most numbers that are too small or too large."""


def _check(parameter: Parameter, value: Any, form: Form | None) -> None:
    if form is None or (value is None and parameter.default is None) or form.fits(value):
        return
    shown = printable(repr(value)) if isinstance(value, str | int | float) else type(value).__name__
    raise InputError(f"--{parameter.name.replace('_', '-')}: give {form.takes}, not {shown}")


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
        >>> in_python("confirm with --map time='Timestamp', or --map time= if there is none")
        'confirm with map={"time": "Timestamp"}, or map={"time": ""} if there is none'
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
