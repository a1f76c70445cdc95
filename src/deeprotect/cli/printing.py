"""Output of commands: help, JSON, progress, and tables for people; rich is imported when it prints."""

import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from inspect import cleandoc
from typing import TYPE_CHECKING, Any

from deeprotect.errors import quoted

if TYPE_CHECKING:
    from rich.console import Console

    from deeprotect.datasets.registry import DatasetEntry
    from deeprotect.policy.repository import Inference, Repository

Verb = Callable[..., Any]
_AS_IT_STANDS = "\b\n"  # before a paragraph that must not be rewrapped


def with_examples(verb: Verb) -> str:
    """The docstring, with its example ready to copy."""
    text = cleandoc(verb.__doc__ or "")
    return text.replace("\n\nExample: ", f"\n\n{_AS_IT_STANDS}Example:\n  ")


def json_text(content: Any, *, indent: int | None = 1) -> str:
    return json.dumps(_plain(content), indent=indent, ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


@contextmanager
def bar(title: str, console: "Console | None" = None) -> Iterator[Callable[[float], None]]:
    """A progress bar on a terminal, with elapsed and remaining time; silent when piped. Returns a function of the
    share."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TimeElapsedColumn

    console = console or Console(stderr=True)
    shown = Progress(
        SpinnerColumn(),
        *Progress.get_default_columns(),
        "left,",
        TimeElapsedColumn(),
        "so far",
        console=console,
        transient=True,
        disable=not console.is_terminal,
        speed_estimate_period=math.inf,  # steps can take minutes: estimate from the whole run so far
    )
    with shown as progress:
        task = progress.add_task(title, total=1.0)
        yield lambda share: progress.update(task, completed=share)


def inferences_table(inferences: "Sequence[Inference]", repository: "Repository") -> None:
    """One row per inference: its name, what it reveals, and the sensors that reveal it."""
    from rich.console import Console
    from rich.table import Table

    table = Table("name", "what it reveals", "sensors that reveal it", "works")
    for name, each in repository.inferences.items():
        if each in inferences:
            sensors = ", ".join(sensor.replace("_", " ") for sensor in each.revealing_sensors)
            table.add_row(name, f"{each.title}: {each.attribute}", sensors, str(len(each.cited)))
    Console().print(table)


def inference_card(inference: "Inference", repository: "Repository") -> None:
    """One inference, with the publications for each sensor."""
    from rich.console import Console

    console = Console()
    console.print(f"{inference.title}: {inference.attribute}", style="bold", highlight=False)
    for sensor, cell in inference.sensors.items():
        meant = f" (meant: {cell.corrected_sensor})" if cell.corrected_sensor else ""
        console.print(f"  {sensor.replace('_', ' ')}{meant}", highlight=False)
        for key in cell.references:
            console.print(f"    {_citation(key, repository)}", highlight=False, markup=False)


def _citation(key: str, repository: "Repository") -> str:
    work = repository.references[key]
    parts = [str(part) for part in (work.author, work.year, work.title or work.topic) if part]
    return f"{', '.join(parts)} [{key}]"


def datasets_table(entries: "Sequence[DatasetEntry]") -> None:
    """Name, content, labels, licence; below, splits that publications use, as `evaluate` takes them."""
    from rich.console import Console
    from rich.table import Table

    table = Table("name", "what it is", "labels", "publisher", "licence")
    for entry in entries:
        table.add_row(entry.name, entry.title, ", ".join(entry.labels), entry.publisher, entry.licence)
    console = Console()
    console.print(table)
    for entry in entries:
        for name, tested in entry.splits.items():
            chosen = " ".join(f"--split {column}={','.join(values)}" for column, values in tested.items())
            line = f"{entry.name}, the {name}'s split: deeprotect evaluate {chosen}"
            console.print(line, highlight=False, soft_wrap=True)


def protector_lines(facts: dict[str, Any]) -> Iterator[str]:
    """A ready protector's purpose, input, and accuracy on unseen people."""
    useful, found = ", ".join(facts["useful"]), facts["new_people"]
    yield f"{facts['name']}: an app may infer {useful}; {facts['promise']} ({facts['seconds_per_draw']:g} s)"
    units: dict[str, list[str]] = {}
    for channel, unit in facts["channels"].items():
        units.setdefault(unit, []).append(channel)
    listed = "; ".join(f"{', '.join(names)} in {unit}" for unit, names in units.items())
    yield f"  reads, at {facts['rate_hz']:g} Hz: {listed}"
    for name in (each for each in found if f"{each}_raw" in found):
        read = "an app trained on raw data" if name in facts["useful"] else "an attacker trained on their releases"
        numbers = f"{found[name]:.3f}, raw {found[f'{name}_raw']:.3f}, guessing {found[f'{name}_guessing']:.3f}"
        yield f"  - {name} of people in no training table, read by {read}: {numbers}"
    for line in facts["measured"]:
        yield f"  - {line}"
    yield f"  - licence of the recordings that it was learnt from: {facts['licence']}"


def results_table(results: dict[str, Any]) -> None:
    """Mechanisms × ε, one per line: accuracy of apps and attackers; raw windows and chance are above."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    rows = results["results"]
    console, useful, sensitive = Console(), rows[0]["useful"], rows[0]["sensitive"]
    for name, one in useful.items():
        line = f"useful: {quoted(name)}; app on raw windows {one['clean']:.3f}, chance {one['chance']:.3f}"
        console.print(line, markup=False)
    for name, one in sensitive.items():
        line = f"sensitive: {quoted(name)}; attacker on raw windows {one['raw']:.3f}, chance {one['chance']:.3f}"
        console.print(line, markup=False)
    table = Table("mechanism", "promise", "ε", box=None, pad_edge=False)
    numbers = [name for name, one in useful.items() if one.get("unit") is not None]
    for title in (
        *(f"app: {quoted(name)}" for name in useful),
        "limit",
        *(title for name in numbers for title in (f"error: {quoted(name)}", "limit")),
        *(f"attacker: {quoted(name)}" for name in sensitive),
    ):
        table.add_column(Text(title), justify="right")
    for row in rows:
        limit = next(iter(row["useful"].values()))["limit"]
        apps = [number(one["app"]) for one in row["useful"].values()]
        attackers = [number(one["adaptive"]) for one in row["sensitive"].values()]
        epsilon = "–" if row["epsilon"] is None else f"{row['epsilon']:g}"
        own = " (the policy's own)" if row.get("own") else ""
        errors = [shown(row["useful"][name][key]) for name in numbers for key in ("mae", "mae_limit")]
        table.add_row(f"{row['mechanism']}{own}", row["guarantee"], epsilon, *apps, number(limit), *errors, *attackers)
    console.print(table)
    row = shown_row(rows)
    for line in (*error_lines(row), *own_lines(rows), *recall_lines(row), *whole_lines(row)):
        console.print(line, markup=False)
    for line in new_people_lines(results.get("strangers") or {}):
        console.print(line, markup=False)
    for row in rows:
        if row.get("note"):
            console.print(f"{row['mechanism']}, ε = {row['epsilon']:g}: {row['note']}", markup=False)


def shown_row(rows: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The policy's own row, or else the row with an ε on which apps are most accurate."""
    own = [row for row in rows if row.get("own")]
    with_epsilon = [row for row in rows if row["epsilon"] is not None]
    return (
        own[0]
        if own
        else max(with_epsilon or rows, key=lambda row: sum(each["app"] for each in row["useful"].values()))
    )


def named(row: Mapping[str, Any]) -> str:
    return str(row["mechanism"]) if row["epsilon"] is None else f"{row['mechanism']}, ε = {row['epsilon']:g}"


def own_lines(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Accuracy of the user's own apps on each row."""
    for row in rows:
        for name, one in row["useful"].items():
            for app, read in one["apps"].items():
                retrained = f", retrained {read['retrained']:.3f}" if read["retrained"] is not None else ""
                numbers = f"raw {read['clean']:.3f}, released {read['app']:.3f}{retrained}"
                yield f"your app {quoted(app)} on {quoted(name)}, {named(row)}: {numbers}"


def whole_lines(row: Mapping[str, Any]) -> Iterator[str]:
    """For one row, accuracy of attackers with a whole recording, compared with a single window."""
    for name, one in row["sensitive"].items():
        whole = one.get("whole")
        if whole is not None:
            most = "" if whole["at_most"] is None else f", at most {whole['at_most']:.3f}"
            guess, count = max(whole["from_useful"], whole["chance"]), whole["recordings"]
            yield (
                f"{named(row)}: {quoted(name)} from one window: released {one['adaptive']:.3f}, raw {one['raw']:.3f}; "
                f"from all tested windows of a recording ({count} of them): released {whole['released']:.3f}{most}, "
                f"raw {whole['raw']:.3f}, the useful labels alone {guess:.3f}"
            )


def new_people_lines(people: Mapping[str, Any]) -> Iterator[str]:
    """Accuracy on people unknown to the protector and on known people; attackers know both."""
    if not people:
        return
    met, new = people["met"], people["strangers"]
    for name, one in new["useful"].items():
        known = met["useful"][name]
        yield (
            f"{quoted(name)} of new people: app {one['app']:.3f} (raw "
            f"{one['clean']:.3f}); of known people {known['app']:.3f} (raw {known['clean']:.3f})"
        )
    for name, one in new["sensitive"].items():
        known = met["sensitive"][name]
        yield (
            f"{quoted(name)} of new people: attacker {one['adaptive']:.3f}{_whole(one)}; of known people "
            f"{known['adaptive']:.3f}{_whole(known)}"
        )


def _whole(one: Mapping[str, Any]) -> str:
    return "" if one.get("whole") is None else f", from a whole recording {one['whole']['released']:.3f}"


MOST_CLASSES = 12


def recall_lines(row: Mapping[str, Any]) -> Iterator[str]:
    """Recall of each class in one row; with many classes, the worst ones."""
    for name, one in row["useful"].items():
        if not (recall := one["recall"]):
            continue
        clean, app = (sum(each[key] for each in recall) / len(recall) for key in ("clean", "app"))
        yield f"{named(row)}: {quoted(name)}, each class counting the same: released {app:.3f}, raw windows {clean:.3f}"
        worst = sorted(recall, key=lambda each: float(each["app"]))[:MOST_CLASSES]
        for each in (each for each in recall if each in worst):
            share = f"right in {each['app']:.3f} of {each['windows']} windows (raw {each['clean']:.3f})"
            yield f"  {quoted(each['name'])}: {share}"


def error_lines(row: Mapping[str, Any]) -> Iterator[str]:
    """Errors of a row's useful inferences that are numbers, in their units."""
    said = {"mae_clean": "app on raw windows", "mae": "released", "mae_coder": "coder before any noise"}
    said |= {"mae_median": "guessing the median", "mae_limit": "at best, by ε"}
    for name, one in row["useful"].items():
        if one.get("unit") is not None:
            errors = ", ".join(f"{words} {shown(one[key])}" for key, words in said.items() if one[key] is not None)
            yield f"{named(row)}: {quoted(name)}, mean absolute error in {quoted(one['unit'])}: {errors}"


def shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"


def number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def print_seconds(seconds: Mapping[str, float]) -> None:
    """Print to standard error, longest first, because standard output holds only reproducible results."""
    parts = [f"{stage} {spent:.0f} s" for stage, spent in sorted(seconds.items(), key=lambda part: -part[1])]
    print(f"time, over all processes: {', '.join(parts)}", file=sys.stderr)
